//! The beats: define the child, await its end, go on to the next definition; delete it, or do an
//! action with it.

use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use serde_json::{Value, json};

use super::used::used;
use super::{Parent, See, child_id, command_of, end_of, make, meta, remote, tell};
use crate::actors::project::ProjectCommand;
use crate::actors::resource::Nesting;
use crate::actors::services::Services;
use crate::actors::stack::{ChildEnd, Create, Revise, StackCommand};
use crate::events::resource::Step;
use crate::events::stack::Owner;
use crate::events::vault::VaultError;
use crate::events::{Meta, StreamId};
use crate::model::{Action, Refusal, StackId, Status};
use crate::openstack::Session;
use crate::resource_types::child::{ChildAsk, ChildPlan, ChildStep, Nested, REFERENCE};
use crate::resource_types::declared::in_error;
use crate::resource_types::{Attempt, Beat, Driver, DriverError, Learned, Subject, Work};
use crate::template::StackDefinition;

/// The pause before an engine that is about to stop is asked again.
const SILENCE: Duration = Duration::from_millis(500);

/// A beat to be made.
pub(in crate::actors) struct Beating<'a> {
    pub(in crate::actors) services: &'a Arc<Services>,
    pub(in crate::actors) session: &'a Session,
    pub(in crate::actors) driver: &'a dyn Driver,
    pub(in crate::actors) nested: &'a dyn Nested,
    pub(in crate::actors) work: &'a Work,
    pub(in crate::actors) subject: &'a Subject,
    pub(in crate::actors) step: &'a Step,
    pub(in crate::actors) nesting: &'a Nesting,
    pub(in crate::actors) asked: &'a Meta,
    pub(in crate::actors) user_id: &'a str,
    pub(in crate::actors) attempt: Attempt,
}

/// Makes one beat.
pub(in crate::actors) async fn beat(beating: &Beating<'_>) -> Result<Beat, DriverError> {
    let Beating { services, session, nested, subject, .. } = *beating;
    if let Some(there) = remote::elsewhere(services, session, nested, subject).await? {
        return remote::beat(beating, &there).await;
    }
    match beating.step.name.as_str() {
        "define" => beating.define().await,
        "delete" => beating.delete().await,
        "act" => beating.act().await,
        "pause" => Ok(beating.pause()),
        _ => beating.settle().await,
    }
}

impl Beating<'_> {
    pub(super) fn child(&self) -> StackId {
        child_id(self.subject, self.nesting)
    }

    /// How many definitions were sent before.
    fn round(&self) -> u64 {
        self.step.state["round"].as_u64().unwrap_or(0)
    }

    fn meta(&self, step: &str) -> Arc<Meta> {
        let resource = self.subject.resource_id.unwrap_or_default();
        meta(self.asked, command_of(resource, self.nesting.traversal, step))
    }

    pub(super) async fn tell(
        &self,
        step: &str,
        command: impl Fn() -> StackCommand,
    ) -> Option<Result<(), Refusal>> {
        let told = tell(self.services, self.child(), &self.meta(step), command).await?;
        Some(told.map(|_| ()))
    }

    async fn define(&self) -> Result<Beat, DriverError> {
        let (known, parent) = make::parent(self.services, self.subject, self.nesting).await?;
        let seen = self.services.ask_of(self.child(), || See).await;
        let Some(seen) = seen else { return Ok(silent()) };
        let subject = self.filled();
        let used = used(self.services, self.nested, &subject).await?;
        let mut nesting = self.nesting.clone();
        nesting.secrets.extend(used.iter().flat_map(|used| used.secrets.iter().cloned()));
        let ask = ChildAsk {
            work: self.work,
            subject: &subject,
            definition: &known.definition,
            child: seen.as_ref().map(|seen| &seen.child),
            used: used.as_ref().map(|used| &used.resource),
            timeout: parent.timeout(self.services),
            now: self.services.clock.now(),
            chance: &|bytes| self.services.clock.fill(bytes),
        };
        if self.step.state.is_null()
            && let Some(ChildPlan { memory, data }) = self.nested.plan(&ask)
        {
            let state = json!({ "memory": memory });
            return Ok(Beat::Next {
                learned: Learned { data, ..Learned::default() },
                next: Step { state, ..self.step.clone() },
            });
        }
        let next = self.nested.next(&ask, &self.step.state["memory"])?;
        let Some(ChildStep { wanted, memory, pause_secs }) = next else {
            return Ok(Beat::Done { learned: Learned::default() });
        };
        let parent_of = &known.definition;
        let (of, beside) = ((self.subject, &nesting), self.nested.stands_beside());
        let definition = make::define(self.services, parent_of, of, beside, &wanted, seen.as_ref())
            .map_err(refused)?;
        if beside && let Some(Err(refusal)) = self.take_name(&parent).await {
            return Err(refused(refusal));
        }
        let depth = definition.depth();
        let timeout = wanted.timeout_mins.or(parent.revision.timeout_mins);
        let revise = self.revise(definition, timeout).await?;
        let revise = Revise { observes: nesting.observes, ..revise };
        if !beside {
            make::take_room(self.services, &parent, self.child(), &revise).map_err(refused)?;
        }
        let adopts = match &seen {
            Some(_) => None,
            None => self.adopts(&parent)?,
        };
        let command = || match seen {
            Some(_) => StackCommand::Update(Box::new(revise.clone())),
            None => StackCommand::Create(Box::new(Create {
                id: self.child(),
                name: self.subject.physical_name.clone().into(),
                project_id: parent.identity.project_id.clone(),
                owner_user_name: (self.asked.caller.as_ref())
                    .map(|caller| caller.user_name.clone())
                    .unwrap_or_default(),
                owner: (!beside).then(|| Owner {
                    stack: parent.identity.id,
                    resource: self.subject.resource_id.unwrap_or_default(),
                    name: self.subject.name.clone().unwrap_or_default(),
                    root: parent.owner.as_ref().map_or(parent.identity.id, |owner| owner.root),
                    depth,
                }),
                revise: revise.clone(),
                adopts: adopts.clone(),
            })),
        };
        match self.tell(&format!("define {}", self.round()), command).await {
            None => Ok(silent()),
            Some(Err(refusal)) => Err(refused(refusal)),
            Some(Ok(())) => {
                let state = json!({
                    "round": self.round() + 1, "memory": memory, "pause_secs": pause_secs,
                });
                let physical_id = Some(self.child().to_string());
                Ok(Beat::Next {
                    learned: Learned { physical_id, ..Learned::default() },
                    next: Step { name: "settle".to_owned(), state, ..Step::default() },
                })
            }
        }
    }

    /// A stack that stands by itself has a name in its project.
    async fn take_name(&self, parent: &super::Parent) -> Option<Result<(), Refusal>> {
        let reserve = ProjectCommand::Reserve {
            name: self.subject.physical_name.clone().into(),
            stack_id: self.child(),
            limit: self.services.limits.max_stacks_per_tenant,
        };
        let project = &parent.identity.project_id;
        let taken = self.services.ask_project(project, reserve, self.meta("name")).await;
        Some(taken.map(|_| ()))
    }

    /// Gives back the name of a stack that never came to be.
    async fn give_name_back(&self) {
        let release = ProjectCommand::Release {
            name: self.subject.physical_name.clone().into(),
            stack_id: self.child(),
        };
        let project = self.subject.project_id.clone().unwrap_or_default();
        let released = self.services.ask_project(&project, release, self.meta("name")).await;
        if let Err(refusal) = released {
            tracing::warn!(stack.id = %self.child(), %refusal, "a name could not be given back");
        }
    }

    /// The revision of the child that a definition comes to.
    pub(super) async fn revise(
        &self,
        definition: StackDefinition,
        timeout_mins: Option<u32>,
    ) -> Result<Revise, DriverError> {
        let (services, session, user) = (self.services, self.session, self.user_id);
        let caller = self.asked.caller.as_deref();
        make::revise(services, session, self.child(), definition, timeout_mins, user, caller)
            .await
            .map_err(refused)
    }

    /// What the data that the parent is adopted from say of the child's resources.
    fn adopts(&self, parent: &Parent) -> Result<Option<Value>, DriverError> {
        let Some(sealed) = &parent.revision.adopts else { return Ok(None) };
        let failed = |error: VaultError| DriverError::fatal("Error", error.to_string());
        let (vault, scope) = (&self.services.vault, StreamId::stack(parent.identity.id));
        let data = vault.open(scope.as_str(), sealed).map_err(failed)?;
        let name = self.subject.name.clone().unwrap_or_default();
        let of_child = data[name.as_str()]["resources"].as_object().cloned().unwrap_or_default();
        let scope = StreamId::stack(self.child());
        vault.seal(scope.as_str(), &Value::Object(of_child)).map(Some).map_err(failed)
    }

    /// The subject with the defaults of its properties.
    pub(super) fn filled(&self) -> Subject {
        let properties = self.driver.properties(&self.subject.properties);
        Subject { properties, ..self.subject.clone() }
    }

    /// Awaits the end of what the child is at.
    async fn settle(&self) -> Result<Beat, DriverError> {
        let Some(end) = end_of(self.services, self.child()).await else { return Ok(silent()) };
        let mut learned = Learned::default();
        if matches!(self.work, Work::Create | Work::Update { .. }) {
            let own = end.reference.clone();
            if own.is_some() || self.subject.data.contains_key(REFERENCE) {
                learned.data.insert(REFERENCE.to_owned(), own.unwrap_or_default());
            }
        }
        if end.deleted {
            return match self.work {
                Work::Delete => Ok(Beat::Done { learned }),
                Work::Create | Work::Update { .. } | Work::Act(_) => {
                    let text = format!("The Stack ({}) could not be found.", self.child());
                    Err(DriverError::fatal("EntityNotFound", text))
                }
            };
        }
        if end.status == Status::Failed && self.nested.stands_beside() {
            let state = format!("{}_FAILED", end.action);
            return Err(in_error(&state, &end.reason));
        }
        if end.status == Status::Failed {
            return Err(failure(&end));
        }
        let is_last = self.step.state["memory"].is_null();
        let pause = self.step.state["pause_secs"].as_f64().unwrap_or(0.0);
        match self.work {
            Work::Create | Work::Update { .. } if !is_last => {
                let mut state = self.step.state.clone();
                let mut next = Step { name: "define".into(), commands: true, ..Step::default() };
                if pause > 0.0 {
                    let pause = TimeDelta::milliseconds((pause * 1000.0) as i64);
                    state["until"] = json!(self.services.clock.now() + pause);
                    next = Step { name: "pause".into(), ..Step::default() };
                }
                Ok(Beat::Next { learned: Learned::default(), next: Step { state, ..next } })
            }
            Work::Create | Work::Update { .. } => {
                learned.metadata = self.rested().await;
                Ok(Beat::Done { learned })
            }
            Work::Delete | Work::Act(_) => Ok(Beat::Done { learned }),
        }
    }

    /// The rest between two definitions, by the clock: a restart does not prolong it.
    fn pause(&self) -> Beat {
        let until = serde_json::from_value::<chrono::DateTime<chrono::Utc>>(
            self.step.state["until"].clone(),
        );
        let left = until.ok().map(|until| until - self.services.clock.now());
        match left.and_then(|left| left.to_std().ok()).filter(|left| !left.is_zero()) {
            Some(left) => Beat::Wait { after: Some(left) },
            None => Beat::Next {
                learned: Learned::default(),
                next: Step {
                    name: "define".to_owned(),
                    commands: true,
                    state: self.step.state.clone(),
                    ..Step::default()
                },
            },
        }
    }

    async fn delete(&self) -> Result<Beat, DriverError> {
        let command = || match self.subject.abandons {
            true => StackCommand::Abandon,
            false => StackCommand::Delete,
        };
        match self.tell("delete", command).await {
            None => Ok(silent()),
            // It never came to be, or is gone.
            Some(Err(refusal)) if refusal.class == "EntityNotFound" => {
                if self.nested.stands_beside() {
                    self.give_name_back().await;
                }
                Ok(Beat::Done { learned: Learned::default() })
            }
            Some(Err(refusal)) => Err(refused(refusal)),
            Some(Ok(())) => Ok(self.awaited()),
        }
    }

    async fn act(&self) -> Result<Beat, DriverError> {
        let Work::Act(action) = *self.work else { return Ok(silent()) };
        if self.subject.physical_id.is_none() {
            return Err(not_created(action, self.subject));
        }
        match self.tell("act", || StackCommand::Act { action }).await {
            None => Ok(silent()),
            Some(Err(refusal)) => Err(refused(refusal)),
            Some(Ok(())) => Ok(self.awaited()),
        }
    }

    fn awaited(&self) -> Beat {
        let next = Step { name: "settle".to_owned(), ..Step::default() };
        Beat::Next { learned: Learned::default(), next }
    }
}

fn silent() -> Beat {
    Beat::Wait { after: Some(SILENCE) }
}

fn not_created(action: Action, subject: &Subject) -> DriverError {
    let word = action.as_str().to_lowercase();
    let name = subject.name.clone().unwrap_or_default();
    DriverError::fatal("Error", format!("Cannot {word} {name}, stack not created"))
}

/// What the child itself refuses has no class at its resource.
fn refused(refusal: Refusal) -> DriverError {
    DriverError::fatal("", refusal.message)
}

/// Why a child failed, in Heat's words: a failure of the child's resource in the same action is
/// taken apart, and anything else stands as it is.
fn failure(end: &ChildEnd) -> DriverError {
    let headline = format!("Resource {} failed: ", end.action);
    let parts: Vec<&str> = end.reason.split(':').map(str::trim).collect();
    match parts[..] {
        [_, class, place, ref message @ ..]
            if !message.is_empty() && end.reason.contains(&headline) =>
        {
            DriverError {
                below: format!(".{place}"),
                ..DriverError::fatal(class, message.join(": "))
            }
        }
        _ => DriverError::fatal("", end.reason.clone()),
    }
}
