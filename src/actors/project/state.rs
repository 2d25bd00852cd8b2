//! The names in use in a project, and its users' trusts.

// Name:  free ─NameReserved▶ taken ─NameReleased▶ free
// Trust: none ─TrustGranted▶ in use ─last NameReleased, or a newer TrustGranted▶ owed
//                                                             owed ─TrustReturned▶ none

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use serde_json::Value;

use crate::actors::shell::{Aggregate, Decision};
use crate::clock::Moment;
use crate::events::ProjectEvent;
use crate::events::project::{NameReleased, NameReserved, TrustGranted, TrustReturned};
use crate::model::{IndexMap, Refusal, StackId, StackName, Trustor};

/// A command to a project.
pub enum ProjectCommand {
    /// Take a name for a stack that is about to be created; `limit` is the project's quota.
    Reserve { name: StackName, stack_id: StackId, limit: Option<usize> },
    /// Give a name back; nothing happens where the stack does not hold it.
    Release { name: StackName, stack_id: StackId },
    /// Keep a user's trust; the id is sealed.
    Trust { user_id: String, trust_id: Value, roles: Vec<String> },
    /// Give back the trusts that nothing needs any more.
    SettleTrusts,
    /// A trust is given back: Keystone no longer has it.
    TrustGone { user_id: String, trust_id: Value },
}

/// What a project does outside.
#[derive(Clone, Debug, PartialEq)]
pub enum ProjectEffect {
    /// Gives a trust back to Keystone.
    ReturnTrust { user_id: String, trust_id: Value },
}

/// A project's state.
#[derive(Default)]
pub struct Project {
    names: HashMap<StackName, StackId>,
    /// In the order in which they were granted.
    trusts: IndexMap<Trustor, Value>,
    /// Trusts to be given back, with their users.
    owed: Vec<(String, Value)>,
}

impl Project {
    /// The stack that holds a name.
    pub fn holder(&self, name: &StackName) -> Option<StackId> {
        self.names.get(name).copied()
    }

    /// The id of the trust with just these roles, sealed. Work that is on record without its roles
    /// goes on with the user's oldest trust, which it began with: newer ones may have more.
    pub fn trust_of(&self, trustor: &Trustor) -> Option<&Value> {
        if trustor.roles.is_some() {
            return self.trusts.get(trustor);
        }
        let mut trusts = self.trusts.iter();
        trusts.find(|(of, _)| of.user_id == trustor.user_id).map(|(_, trust)| trust)
    }
}

impl Aggregate for Project {
    type Command = ProjectCommand;
    type Event = ProjectEvent;
    type Effect = ProjectEffect;
    type Knowledge = ();
    type Working = ();

    fn apply(&mut self, event: &ProjectEvent, _at: DateTime<Utc>) {
        match event {
            ProjectEvent::NameReserved(reserved) => {
                self.names.insert(reserved.name.clone(), reserved.stack_id);
            }
            ProjectEvent::NameReleased(released) => {
                self.names.remove(&released.name);
                if self.names.is_empty() {
                    let all = self.trusts.drain(..);
                    self.owed.extend(all.map(|(of, trust_id)| (of.user_id, trust_id)));
                }
            }
            ProjectEvent::TrustGranted(granted) => {
                let user_id = granted.user_id.clone();
                let trustor = Trustor::of(&user_id, granted.roles.clone());
                let former = self.trusts.insert(trustor, granted.trust_id.clone());
                self.owed.extend(former.map(|trust_id| (user_id, trust_id)));
            }
            ProjectEvent::TrustReturned(returned) => {
                self.owed.retain(|(_, trust_id)| *trust_id != returned.trust_id);
                // On record since a user had one trust, whatever its roles.
                self.trusts.retain(|_, trust_id| *trust_id != returned.trust_id);
            }
        }
    }

    fn decide(
        &self,
        (): &mut (),
        command: ProjectCommand,
        _moment: &Moment<'_>,
        (): &(),
    ) -> Result<Decision<Self>, Refusal> {
        match command {
            ProjectCommand::Reserve { name, stack_id, limit } => {
                if let Some(holder) = self.names.get(&name) {
                    if *holder == stack_id {
                        return Ok(Decision::nothing());
                    }
                    let text = format!("The Stack ({name}) already exists.");
                    return Err(Refusal::new("StackExists", text));
                }
                if let Some(limit) = limit.filter(|limit| self.names.len() >= *limit) {
                    let text = format!(
                        "Request limit exceeded: You have reached the maximum stacks per tenant, \
                         {limit}. Please delete some stacks."
                    );
                    return Err(Refusal::new("RequestLimitExceeded", text));
                }
                Ok(Decision::record(NameReserved { name, stack_id }))
            }
            ProjectCommand::Release { name, stack_id } => {
                if self.names.get(&name) != Some(&stack_id) {
                    return Ok(Decision::nothing());
                }
                let released = Decision::record(NameReleased { name, stack_id });
                Ok(released.and_then(ProjectCommand::SettleTrusts))
            }
            ProjectCommand::Trust { user_id, trust_id, roles } => {
                let granted = Decision::record(TrustGranted { user_id, trust_id, roles });
                Ok(granted.and_then(ProjectCommand::SettleTrusts))
            }
            ProjectCommand::SettleTrusts => Ok(self.return_owed()),
            ProjectCommand::TrustGone { user_id, trust_id } => {
                if !self.owed.iter().any(|(_, owed)| *owed == trust_id) {
                    return Ok(Decision::nothing());
                }
                Ok(Decision::record(TrustReturned { user_id, trust_id }))
            }
        }
    }

    fn recover(&self, (): &mut (), _moment: &Moment<'_>, (): &()) -> Decision<Self> {
        self.return_owed()
    }
}

impl Project {
    /// Gives back what is owed; twice does no harm.
    fn return_owed(&self) -> Decision<Self> {
        self.owed.iter().fold(Decision::nothing(), |decision, (user_id, trust_id)| {
            let (user_id, trust_id) = (user_id.clone(), trust_id.clone());
            decision.and_do(ProjectEffect::ReturnTrust { user_id, trust_id })
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::clock::SimulatedClock;

    fn reserved(name: &str, stack: u128) -> ProjectEvent {
        let stack_id = StackId(uuid::Uuid::from_u128(stack));
        NameReserved { name: name.into(), stack_id }.into()
    }

    fn released(name: &str, stack: u128) -> ProjectEvent {
        let stack_id = StackId(uuid::Uuid::from_u128(stack));
        NameReleased { name: name.into(), stack_id }.into()
    }

    fn granted(trust: &str) -> ProjectEvent {
        granted_with(trust, &["member"])
    }

    fn granted_with(trust: &str, roles: &[&str]) -> ProjectEvent {
        let (user_id, trust_id) = ("alice".to_owned(), json!({ "sealed": trust }));
        let roles = roles.iter().map(|role| (*role).to_owned()).collect();
        TrustGranted { user_id, trust_id, roles }.into()
    }

    fn alice(roles: &[&str]) -> Trustor {
        Trustor::of("alice", roles.iter().map(|role| (*role).to_owned()).collect())
    }

    fn given(events: &[ProjectEvent]) -> Project {
        let mut project = Project::default();
        for event in events {
            project.apply(event, DateTime::default());
        }
        project
    }

    fn owed(project: &mut Project) -> Vec<String> {
        let clock = SimulatedClock::new(1);
        let decision = project.recover(&mut (), &Moment::of(&clock), &());
        let trust = |effect: &ProjectEffect| {
            let ProjectEffect::ReturnTrust { trust_id, .. } = effect;
            trust_id["sealed"].as_str().unwrap_or_default().to_owned()
        };
        decision.effects.iter().map(trust).collect()
    }

    #[test]
    fn a_trust_is_given_back_with_the_last_stack() {
        let before = [reserved("a", 1), granted("t"), reserved("b", 2), released("a", 1)];
        let mut project = given(&before);
        assert!(owed(&mut project).is_empty());
        assert!(project.trust_of(&alice(&["member"])).is_some());
        project.apply(&released("b", 2), DateTime::default());
        assert_eq!(owed(&mut project), ["t"]);
        // A stack that comes now gets a trust of its own.
        assert!(project.trust_of(&alice(&["member"])).is_none());
    }

    #[test]
    fn a_newer_trust_sends_the_older_one_back() {
        let mut project = given(&[reserved("a", 1), granted("old"), granted("new")]);
        assert_eq!(owed(&mut project), ["old"]);
        let gone = TrustReturned { user_id: "alice".into(), trust_id: json!({"sealed": "old"}) };
        project.apply(&gone.into(), DateTime::default());
        assert!(owed(&mut project).is_empty());
        assert_eq!(project.trust_of(&alice(&["member"])), Some(&json!({"sealed": "new"})));
    }

    #[test]
    fn a_trust_with_more_roles_is_not_had_for_fewer() {
        let (plain, full) = (&["member", "reader"], &["reader", "member", "admin"]);
        let project = given(&[granted_with("full", full), granted_with("plain", plain)]);
        assert_eq!(project.trust_of(&alice(plain)), Some(&json!({ "sealed": "plain" })));
        assert_eq!(project.trust_of(&alice(full)), Some(&json!({ "sealed": "full" })));
        assert_eq!(project.trust_of(&alice(&["reader"])), None);
        assert_eq!(project.trust_of(&Trustor::of("bob", Vec::new())), None);
    }

    #[test]
    fn work_from_before_roles_were_kept_goes_on_with_the_trust_it_began_with() {
        let unknown = Trustor { user_id: "alice".into(), roles: None };
        let mut project = given(&[granted_with("first", &["member"])]);
        project.apply(&granted_with("more", &["admin"]), DateTime::default());
        assert_eq!(project.trust_of(&unknown), Some(&json!({ "sealed": "first" })));
        // Where a log of that time has two, the older one was given back.
        let gone = TrustReturned { user_id: "alice".into(), trust_id: json!({"sealed": "first"}) };
        project.apply(&gone.into(), DateTime::default());
        assert_eq!(project.trust_of(&unknown), Some(&json!({ "sealed": "more" })));
    }
}
