//! The engine: the one handle that others hold. It checks what is asked, takes names, and passes
//! commands to the actors.

use std::sync::Arc;

use actix::prelude::{Handler, Message};
use serde_json::Value;
use tracing::{info, warn};

use super::asks::{Accepted, CreateStack, Requester, Standing, UpdateStack};
use super::credentials::Credentials;
use super::directory::Directory;
use super::preview::{self, Preview};
use super::project::ProjectCommand;
use super::project_actor::HolderOf;
use super::resource::{Resource, ResourceCommand, Signal};
use super::services::{EngineLimits, SENDS_MAX, Services};
use super::shell::{Ask, Inhabit, Receipt, Shell};
use super::software::SoftwareKeeper;
use super::stack::{Create, Known, Revise, Stack, StackCommand, refuse_resting};
use super::stack_actor::{Drop, HeardBy, MetadataNow, ResourceNamed, Stand};
use super::tallies::Tallies;
use super::{definition, exposure, nested, source};
use crate::clock::Clock;
use crate::events::log::EventLog;
use crate::events::vault::Vault;
use crate::events::{Position, StreamId};
use crate::model::{
    Action, Caller, JsonMap, ProjectId, Refusal, ResourceName, StackId, StackName, Tally,
};
use crate::openstack::{Cloud, Fetcher, Session};
use crate::resource_types::Registry;
use crate::template::{FAILED_ATTRIBUTES, StackDefinition, StackSource};

/// What the engine is made of.
pub struct EngineParts {
    pub log: Arc<dyn EventLog>,
    pub vault: Arc<Vault>,
    pub registry: Arc<Registry>,
    /// Without one only types that call no cloud can be created.
    pub cloud: Option<Arc<Cloud>>,
    pub clock: Arc<dyn Clock>,
    pub limits: EngineLimits,
    /// Whether a caller may make resources of a type.
    pub may_use: fn(&Caller, &str) -> bool,
}

/// The handle.
#[derive(Clone)]
pub struct Engine {
    pub(super) services: Arc<Services>,
}

impl Engine {
    /// Starts the engine. Needs a running actix system, whose arbiters carry the actors.
    pub fn start(parts: EngineParts) -> Engine {
        let directory = Arc::new(Directory::new());
        let EngineLimits { max_template_size, template_fetch_timeout, .. } = parts.limits;
        let fetcher = Fetcher::new(max_template_size, template_fetch_timeout);
        let services = Arc::new(Services {
            log: parts.log,
            vault: parts.vault,
            registry: parts.registry,
            cloud: parts.cloud,
            clock: parts.clock,
            limits: parts.limits,
            may_use: parts.may_use,
            directory: directory.clone(),
            credentials: Credentials::default(),
            tallies: Tallies::default(),
            told: tokio::sync::watch::Sender::new(None),
            fetcher,
        });
        directory.open(services.clone());
        actix::spawn(drop_what_was_lost(services.clone()));
        Engine { services }
    }

    /// Counts what there is of what is limited, before anything is added to it.
    pub fn count(&self, tally: Tally) {
        self.services.tallies.begin(tally);
    }

    /// Wakes the stacks that have work left; it goes on with nobody asking.
    pub async fn recover(&self, unsettled: Vec<StackId>) {
        if !unsettled.is_empty() {
            info!(stacks = unsettled.len(), "unsettled stacks are woken");
        }
        for id in unsettled {
            self.services.directory.stack(id);
        }
    }

    /// Others were told of everything up to a position. Once this was said, trusts are kept until
    /// others were told of what they were for.
    pub fn told(&self, at: Position) {
        self.services.told.send_replace(Some(at));
    }

    /// A session of a user's trust in a project.
    pub async fn session_of(&self, project: &ProjectId, user_id: &str) -> Result<Session, Refusal> {
        let session = self.services.credentials.session(&self.services, project, user_id).await;
        session.map_err(|error| Refusal::new(error.class, error.message))
    }

    /// Accepts a new stack.
    pub async fn create_stack(
        &self,
        who: &Requester,
        ask: CreateStack,
    ) -> Result<Accepted, Refusal> {
        self.make_stack(who, ask, None).await
    }

    /// Accepts a new stack of what there is already: its resources as a document of `export` has
    /// them.
    pub async fn adopt_stack(
        &self,
        who: &Requester,
        ask: CreateStack,
        resources: JsonMap,
    ) -> Result<Accepted, Refusal> {
        if !self.services.limits.enable_stack_adopt {
            return Err(Refusal::new("NotSupported", "Stack Adopt is not supported."));
        }
        self.make_stack(who, ask, Some(resources)).await
    }

    async fn make_stack(
        &self,
        who: &Requester,
        mut ask: CreateStack,
        adopts: Option<JsonMap>,
    ) -> Result<Accepted, Refusal> {
        check_name(&ask.name)?;
        let services = &self.services;
        let project = &who.caller.project_id;
        let id = StackId(services.clock.fresh_id());
        let known = self.prepare(who, &mut ask.source, Some(id), &ask.name).await?;
        // First the name: while a project has one, its trusts are not given back.
        self.take_name(who, &ask.name, id).await?;
        let release = || ProjectCommand::Release { name: ask.name.clone(), stack_id: id };
        if let Err(refusal) = services.credentials.ensure(services, who).await {
            let _ = services.ask_project(project, release(), who.meta()).await;
            return Err(refusal);
        }
        let revise = self.revise(
            who,
            id,
            &ask.source,
            known,
            (ask.tags, ask.timeout_mins, ask.disable_rollback),
        )?;
        let create = Create {
            id,
            name: ask.name.clone(),
            project_id: project.clone(),
            owner_user_name: who.caller.user_name.clone(),
            owner: None,
            revise,
            adopts: adopts.map(|adopts| self.sealed(id, adopts)).transpose()?,
        };
        let created = self.ask_stack(id, who, || StackCommand::Create(Box::new(create.clone())));
        match created.await {
            Ok(receipt) => Ok(Accepted { stack: id, name: ask.name, position: receipt.position }),
            Err(refusal) => {
                let _ = services.ask_project(project, release(), who.meta()).await;
                Err(refusal)
            }
        }
    }

    /// Accepts a new definition for a stack.
    pub async fn update_stack(
        &self,
        who: &Requester,
        stack: StackId,
        ask: UpdateStack,
    ) -> Result<Accepted, Refusal> {
        let standing = self.standing(who, stack).await?;
        refuse_resting(standing.action)?;
        let former = self.source(&standing).await?;
        let mut source = source::updated(&ask, &former);
        let known = self.prepare(who, &mut source, Some(stack), &standing.name).await?;
        if let Some(before) = &standing.known {
            known.definition.check_immutable(&before.definition)?;
        }
        self.services.credentials.ensure(&self.services, who).await?;
        let kept_tags = if ask.existing { standing.revision.tags.clone() } else { Vec::new() };
        let settings = (
            ask.tags.unwrap_or(kept_tags),
            ask.timeout_mins.or(standing.revision.timeout_mins),
            ask.disable_rollback.unwrap_or(standing.revision.disable_rollback),
        );
        let revise = self.revise(who, stack, &source, known, settings)?;
        let revise = Revise { observes: ask.observes, ..revise };
        let receipt =
            self.ask_stack(stack, who, || StackCommand::Update(Box::new(revise.clone()))).await?;
        Ok(Accepted { stack, name: standing.name, position: receipt.position })
    }

    /// Accepts the deletion of a stack.
    pub async fn delete_stack(&self, who: &Requester, stack: StackId) -> Result<Accepted, Refusal> {
        let standing = self.standing(who, stack).await?;
        self.allow(who, &standing)?;
        // A trust that no longer works must not keep a stack from being deleted.
        if let Err(refusal) = self.services.credentials.ensure(&self.services, who).await {
            warn!(stack.id = %stack, %refusal, "a stack is deleted without a new trust");
        }
        let receipt = self.ask_stack(stack, who, || StackCommand::Delete).await?;
        Ok(Accepted { stack, name: standing.name, position: receipt.position })
    }

    /// Stops the update under way, with a rollback or without.
    pub async fn cancel_update(
        &self,
        who: &Requester,
        stack: StackId,
        rollback: bool,
    ) -> Result<Accepted, Refusal> {
        let standing = self.standing(who, stack).await?;
        let command = || match rollback {
            true => StackCommand::CancelUpdate,
            false => StackCommand::CancelWithoutRollback,
        };
        let receipt = self.ask_stack(stack, who, command).await?;
        Ok(Accepted { stack, name: standing.name, position: receipt.position })
    }

    /// Suspends, resumes or checks the stack; in the middle of another action, once that is over.
    pub async fn act_on_stack(
        &self,
        who: &Requester,
        stack: StackId,
        action: Action,
    ) -> Result<Accepted, Refusal> {
        let standing = self.standing(who, stack).await?;
        if action != Action::Check {
            self.allow(who, &standing)?;
        }
        self.services.credentials.ensure(&self.services, who).await?;
        let receipt = self.ask_stack(stack, who, || StackCommand::Act { action }).await?;
        Ok(Accepted { stack, name: standing.name, position: receipt.position })
    }

    /// Notes that a resource is well or is not, from somebody who knows.
    pub async fn mark_resource(
        &self,
        who: &Requester,
        stack: StackId,
        name: &ResourceName,
        healthy: bool,
        reason: &str,
    ) -> Result<Accepted, Refusal> {
        let standing = self.standing(who, stack).await?;
        let command = || ResourceCommand::Mark { healthy, reason: reason.to_owned() };
        let receipt = self.ask_resource(stack, who, name, command).await?;
        Ok(Accepted { stack, name: standing.name, position: receipt.position })
    }

    /// The keeper of software configurations and deployments.
    pub fn software(&self) -> SoftwareKeeper {
        SoftwareKeeper::of(self.services.clone())
    }

    /// Passes a signal on to a resource; `details` are an object or null.
    pub async fn signal_resource(
        &self,
        who: &Requester,
        stack: StackId,
        name: &ResourceName,
        details: &Value,
    ) -> Result<Accepted, Refusal> {
        let standing = self.standing(who, stack).await?;
        if let Some(hook) = details.get("unset_hook").filter(|hook| !hook.is_null()) {
            return self.clear_hook(who, standing, name, hook).await;
        }
        let signal = || Signal { id: who.command_id, details: details.clone() };
        let command = || ResourceCommand::Signal(signal());
        let receipt = self.ask_resource(stack, who, name, command).await?;
        Ok(Accepted { stack, name: standing.name, position: receipt.position })
    }

    /// Lets a resource go on that waits at a hook.
    async fn clear_hook(
        &self,
        who: &Requester,
        standing: Standing,
        name: &ResourceName,
        hook: &Value,
    ) -> Result<Accepted, Refusal> {
        let declared = standing.known.as_ref().and_then(|it| it.definition.resources().get(name));
        let type_name = declared.map(|it| it.type_name.as_str()).unwrap_or_default();
        let class = type_name.rsplit("::").next().unwrap_or_default();
        let command = || ResourceCommand::ClearHook {
            hook: hook.as_str().map_or_else(|| hook.to_string(), str::to_owned),
            shown: format!("{class} {{}} Stack \"{}\" [{}]", standing.name, standing.id),
        };
        let receipt = self.ask_resource(standing.id, who, name, command).await?;
        Ok(Accepted { stack: standing.id, name: standing.name, position: receipt.position })
    }

    /// A resource's metadata as it is now, with what signals have added; secrets open.
    pub async fn resource_metadata(
        &self,
        who: &Requester,
        stack: StackId,
        name: &ResourceName,
    ) -> Result<JsonMap, Refusal> {
        let standing = self.standing(who, stack).await?;
        let missing = || Refusal::not_found("Resource", name);
        let id = standing.incarnations.get(name).ok_or_else(missing)?;
        let resource = self.services.resource(*id).await?;
        let knowledge = Resource::knowledge(&self.services);
        Ok(match self.ask_of(stack, || MetadataNow(name.clone())).await? {
            Some(metadata) => resource.metadata_upon(metadata, &knowledge),
            None => resource.metadata(&knowledge),
        })
    }

    /// What a create would make; nothing is written.
    pub async fn preview_create(
        &self,
        who: &Requester,
        ask: &CreateStack,
    ) -> Result<Preview, Refusal> {
        check_name(&ask.name)?;
        if let Some(address) = self.services.directory.project(&who.caller.project_id)
            && address.send(HolderOf(ask.name.clone())).await.ok().flatten().is_some()
        {
            return Err(name_taken(&ask.name));
        }
        let known = self.prepare(who, &mut ask.source.clone(), None, &ask.name).await?;
        Ok(preview::of_create(&self.services, &known))
    }

    /// What an update would do; nothing is written. `nested` asks for the stacks within as well.
    pub async fn preview_update(
        &self,
        who: &Requester,
        stack: StackId,
        ask: &UpdateStack,
        nested: bool,
    ) -> Result<Preview, Refusal> {
        let standing = self.standing(who, stack).await?;
        refuse_resting(standing.action)?;
        let former = self.source(&standing).await?;
        let mut source = source::updated(ask, &former);
        let known = self.prepare(who, &mut source, Some(stack), &standing.name).await?;
        nested::preview(&self.services, &known, standing.incarnations, nested).await
    }

    /// The source of the stack's newest revision, secrets open: for the stack's own owner alone.
    pub async fn source_of(&self, who: &Requester, stack: StackId) -> Result<StackSource, Refusal> {
        let standing = self.standing(who, stack).await?;
        self.source(&standing).await
    }

    /// A resource's attributes from the cloud's present state; an empty list asks for all.
    pub async fn inspect_resource(
        &self,
        who: &Requester,
        stack: StackId,
        name: &ResourceName,
        attributes: &[String],
    ) -> Result<JsonMap, Refusal> {
        let standing = self.standing(who, stack).await?;
        let missing = || Refusal::not_found("Resource", name);
        let id = standing.incarnations.get(name).ok_or_else(missing)?;
        let mut resource = self.services.resource(*id).await?;
        let knowledge = Resource::knowledge(&self.services);
        resource.know_heard(self.ask_of(stack, || HeardBy(name.clone())).await?);
        let Some((driver, subject)) = resource.inspected(&knowledge) else {
            return Ok(JsonMap::new());
        };
        let session = match &self.services.cloud {
            Some(cloud) => cloud.session_for_token(&who.token, &who.caller.project_id),
            None => Session::detached(),
        };
        if driver.nests().is_some() {
            let (services, driver) = (&self.services, driver.as_ref());
            let found = nested::attributes(services, &session, driver, &subject, attributes).await;
            let mut found = found.0;
            found.shift_remove(FAILED_ATTRIBUTES);
            return Ok(found);
        }
        driver
            .attributes(&session, &subject, attributes)
            .await
            .map_err(|error| Refusal::new(error.class, error.message))
    }

    /// Lets everything that was decided become durable, and stops.
    pub async fn shutdown(&self) {
        for stack in self.services.directory.close() {
            stack.do_send(Drop);
        }
        let last = self.services.log.durable_position();
        if let Err(error) = self.services.log.durable(last).await {
            warn!(%error, "the last events did not become durable");
        }
    }

    /// Reads and checks a source; templates that stand elsewhere become some of its files.
    pub(super) async fn prepare(
        &self,
        who: &Requester,
        source: &mut StackSource,
        id: Option<StackId>,
        name: &StackName,
    ) -> Result<Known, Refusal> {
        let services = &self.services;
        let project = &who.caller.project_id;
        let lacking = exposure::lacking(services).await;
        let may = |definition: &StackDefinition| {
            exposure::check(services, definition, Some(&who.caller), &lacking)
        };
        let prepare =
            |source: &StackSource| definition::prepare(services, source, id, name, project, &may);
        let known = self.with_templates(source, prepare).await?;
        if let Some(cloud) = &services.cloud {
            let session = cloud.session_for_token(&who.token, &who.caller.project_id);
            services.registry.check_custom_constraints(&known.definition, &session).await?;
        }
        Ok(known)
    }

    pub(super) fn revise(
        &self,
        who: &Requester,
        id: StackId,
        source: &StackSource,
        known: Known,
        (tags, timeout_mins, disable_rollback): (Vec<String>, Option<u32>, bool),
    ) -> Result<Revise, Refusal> {
        let scope = StreamId::stack(id);
        let hidden = known.definition.hidden_parameters();
        let (blob, parameters) = source::encode(
            source,
            &known.definition,
            &hidden,
            &self.services.vault,
            scope.as_str(),
        )
        .map_err(|error| Refusal::unavailable(error.to_string()))?;
        Ok(Revise {
            source: self.services.log.put_blob(&blob),
            known: Arc::new(known),
            parameters,
            tags,
            timeout_mins,
            disable_rollback,
            user_id: who.caller.user_id.clone(),
            observes: false,
            facade: serde_json::Value::Null,
        })
    }

    /// A stack's own value that is kept as a secret.
    fn sealed(&self, stack: StackId, value: JsonMap) -> Result<Value, Refusal> {
        let scope = StreamId::stack(stack);
        let sealed = self.services.vault.seal(scope.as_str(), &Value::Object(value));
        sealed.map_err(|error| Refusal::unavailable(error.to_string()))
    }

    /// Takes a name; one held by a stack that was deleted, or never came to be, is free.
    async fn take_name(
        &self,
        who: &Requester,
        name: &StackName,
        id: StackId,
    ) -> Result<(), Refusal> {
        let services = &self.services;
        let project = &who.caller.project_id;
        let limit = services.limits.max_stacks_per_tenant.filter(|_| !who.caller.is_admin());
        let reserve = || ProjectCommand::Reserve { name: name.clone(), stack_id: id, limit };
        let refusal = match services.ask_project(project, reserve(), who.meta()).await {
            Ok(_) => return Ok(()),
            Err(refusal) => refusal,
        };
        let Some(address) = services.directory.project(project) else { return Err(refusal) };
        let Ok(holder) = address.send(HolderOf(name.clone())).await else { return Err(refusal) };
        // It may have given the name back since; if not, it does so when it wakes and finds itself
        // deleted.
        if let Some(holder) = holder {
            if self.stand(holder).await?.is_some_and(|standing| !standing.deleted) {
                return Err(refusal);
            }
            let release = ProjectCommand::Release { name: name.clone(), stack_id: holder };
            services.ask_project(project, release, who.meta()).await?;
        }
        services.ask_project(project, reserve(), who.meta()).await.map(|_| ())
    }

    pub(super) async fn standing(
        &self,
        who: &Requester,
        stack: StackId,
    ) -> Result<Standing, Refusal> {
        let missing = || Refusal::not_found("Stack", stack);
        let standing = self.stand(stack).await?.ok_or_else(missing)?;
        // Another project's stack is not found, so that its existence stays unknown.
        let own = &who.caller.project_id;
        let is_own = standing.project_id == *own || standing.user_project.as_ref() == Some(own);
        if !is_own && !who.caller.is_admin() {
            return Err(missing());
        }
        if standing.deleted {
            return Err(Refusal::not_found("Stack", &standing.name));
        }
        Ok(standing)
    }

    /// Refuses who may not use the types of a stack.
    pub(super) fn allow(&self, who: &Requester, standing: &Standing) -> Result<(), Refusal> {
        match &standing.known {
            Some(known) => exposure::check_allowed(&self.services, &known.definition, &who.caller),
            None => Ok(()),
        }
    }

    fn silent() -> Refusal {
        Refusal::unavailable("The engine does not answer at present.")
    }

    pub(super) async fn stand(&self, stack: StackId) -> Result<Option<Standing>, Refusal> {
        self.ask_of(stack, || Stand).await
    }

    /// Asks a stack's actor; one that went to rest meanwhile is woken and asked again.
    pub(super) async fn ask_of<M>(
        &self,
        stack: StackId,
        message: impl Fn() -> M,
    ) -> Result<M::Result, Refusal>
    where
        M: Message<Result: Send> + Send + 'static,
        Shell<Stack>: Handler<M>,
    {
        self.services.ask_of(stack, message).await.ok_or_else(Self::silent)
    }

    /// Sends a command, which may be sent again: it is answered once.
    pub(super) async fn ask_stack(
        &self,
        stack: StackId,
        who: &Requester,
        command: impl Fn() -> StackCommand,
    ) -> Result<Receipt, Refusal> {
        self.ask_of(stack, || Ask { command: command(), meta: who.meta() }).await?
    }

    /// Sends a command to the incarnation that counts for a name.
    async fn ask_resource(
        &self,
        stack: StackId,
        who: &Requester,
        name: &ResourceName,
        command: impl Fn() -> ResourceCommand,
    ) -> Result<Receipt, Refusal> {
        for _ in 0..SENDS_MAX {
            let resource = self.ask_of(stack, || ResourceNamed(name.clone())).await?;
            let resource = resource.ok_or_else(|| Refusal::not_found("Resource", name))?;
            if let Ok(answer) = resource.send(Ask { command: command(), meta: who.meta() }).await {
                return answer;
            }
        }
        Err(Self::silent())
    }

    async fn source(&self, standing: &Standing) -> Result<StackSource, Refusal> {
        definition::open(&self.services, standing.id, &standing.revision)
            .await
            .map_err(|error| Refusal::unavailable(error.to_string()))?
            .map_err(Refusal::unavailable)
    }
}

/// Drops every actor that went ahead of a log that failed, and wakes it from what is durable.
async fn drop_what_was_lost(services: Arc<Services>) {
    let mut generation = services.log.generation();
    while generation.changed().await.is_ok() {
        warn!("the log lost events that were not durable; actors are read back");
        for id in services.directory.awake() {
            if let Some(address) = services.directory.stack(id) {
                address.do_send(Drop);
            }
            services.directory.rewake(id);
        }
    }
}

fn check_name(name: &StackName) -> Result<(), Refusal> {
    let text = name.as_str();
    let starts_well = text.starts_with(|first: char| first.is_ascii_alphabetic());
    let mut rest = text.chars();
    let good = rest.all(|letter| letter.is_ascii_alphanumeric() || "_.-".contains(letter));
    if starts_well && good && text.len() <= STACK_NAME_MAX {
        return Ok(());
    }
    Err(Refusal::validation(format!(
        "Invalid stack name {name} must contain only alphanumeric or \"_-.\" characters, must \
         start with alpha and must be {STACK_NAME_MAX} characters or less."
    )))
}

/// Characters in a stack's name, Heat's `max_stack_name`.
const STACK_NAME_MAX: usize = 255;

fn name_taken(name: &StackName) -> Refusal {
    Refusal::new("StackExists", format!("The Stack ({name}) already exists."))
}
