//! Given a stack, when a command, then events and orders: the stories of a stack's decisions. Its
//! resources are no machines here: the story says what they report.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use super::state::is_act;
use super::{Create, Knowledge, Revise, Stack, StackCommand, StackEffect, StackView, Working};
use crate::actors::definition::check;
use crate::actors::resource::{Converge, Outcome, Report, ResourceCommand};
use crate::actors::shell::Aggregate;
use crate::clock::{Clock, Moment, SimulatedClock};
use crate::events::log::BlobId;
use crate::events::stack::TraversalStarted;
use crate::events::{Event, StackEvent};
use crate::model::{
    Action, CommandId, JsonMap, Refusal, ResourceId, ResourceName, StackId, StackSettings, Status,
    TraversalId, TraversalOptions, Trustor,
};
use crate::resource_types::{Registry, TreeBounds};
use crate::template::{PseudoParameters, StackDefinition, StackSource};

/// More commands than any that a test sends leads to.
const TURNS_MAX: usize = 100;

/// A stack under test, and what its last command led to.
pub(in crate::actors) struct Story {
    pub(in crate::actors) stack: Stack,
    pub(in crate::actors) working: Working,
    log: Vec<(StackEvent, DateTime<Utc>)>,
    pub(in crate::actors) events: Vec<StackEvent>,
    pub(in crate::actors) effects: Vec<StackEffect>,
    pub(in crate::actors) knowledge: Knowledge,
    pub(in crate::actors) clock: Arc<SimulatedClock>,
}

/// The built-in types, read once for all stories.
pub(in crate::actors) fn registry() -> Arc<Registry> {
    static BUILT_IN: LazyLock<Arc<Registry>> =
        LazyLock::new(|| Arc::new(Registry::built_in().unwrap()));
    BUILT_IN.clone()
}

/// A stack that nothing has happened to.
pub(in crate::actors) fn given_nothing() -> Story {
    let knowledge = Knowledge {
        registry: registry(),
        stack_action_timeout: Duration::from_secs(3600),
        bounds: TreeBounds::LOOSE,
    };
    Story {
        stack: Stack::default(),
        working: Working::default(),
        log: Vec::new(),
        events: Vec::new(),
        effects: Vec::new(),
        knowledge,
        clock: Arc::new(SimulatedClock::new(7)),
    }
}

/// A stack whose create was asked for; no resource has reported yet.
pub(in crate::actors) fn given(resources: &str) -> Story {
    given_nothing().when(create(revise(resources)))
}

/// A stack whose resources are all made.
pub(in crate::actors) fn given_made(resources: &str) -> Story {
    given(resources).when_all_are_done()
}

/// A definition of test resources: `net port:net server:net,port` has each behind what it depends on.
pub(in crate::actors) fn revise(resources: &str) -> Revise {
    let declared = resources.split_whitespace().map(|word| {
        let (name, uses) = word.split_once(':').unwrap_or((word, ""));
        let uses: Vec<&str> = uses.split(',').filter(|name| !name.is_empty()).collect();
        let resource = json!({ "type": "OS::Heat::TestResource", "depends_on": uses });
        (name.to_owned(), resource)
    });
    revise_of(&json!({ "resources": declared.collect::<JsonMap>() }))
}

/// A definition of a template, whose version may be left out.
pub(in crate::actors) fn revise_of(template: &Value) -> Revise {
    revise_with(template, &BTreeMap::new())
}

/// The same with files beside it.
pub(in crate::actors) fn revise_with(template: &Value, files: &BTreeMap<String, String>) -> Revise {
    let mut template = template.clone();
    template["heat_template_version"] = "2021-04-16".into();
    let (template, files) = (template.to_string().into(), files.clone());
    let source = StackSource { template, files, ..StackSource::default() };
    let registry = registry();
    let pseudo = PseudoParameters { stack_name: "web".to_owned(), ..Default::default() };
    revise_to(StackDefinition::load(&source, &pseudo, registry.as_ref()).unwrap())
}

/// The same of a definition that was read.
pub(in crate::actors) fn revise_to(definition: StackDefinition) -> Revise {
    let registry = registry();
    Revise {
        known: Arc::new(check(&registry, TreeBounds::LOOSE, definition).unwrap()),
        source: BlobId("a".to_owned()),
        source_bytes: 0,
        parameters: JsonMap::new(),
        settings: StackSettings::default(),
        trustor: Trustor::of("alice", Vec::new()),
        options: TraversalOptions::default(),
        back_to: None,
        from_rest: false,
        facade: Value::Null,
        claim: None,
    }
}

/// The same, and what fails goes back.
pub(in crate::actors) fn rolling_back(mut revise: Revise) -> Revise {
    revise.settings.disable_rollback = false;
    revise
}

/// The command to create the stack.
pub(in crate::actors) fn create(revise: Revise) -> StackCommand {
    StackCommand::Create(Box::new(Create {
        id: StackId(uuid::Uuid::from_u128(1)),
        name: "web".into(),
        project_id: "p".into(),
        owner_user_name: "alice".to_owned(),
        owner: None,
        revise,
        adopts: None,
    }))
}

/// The command to bring the stack to a definition.
pub(in crate::actors) fn update(revise: Revise) -> StackCommand {
    StackCommand::Update(Box::new(revise))
}

/// The command to suspend, resume or check the stack.
pub(in crate::actors) fn act(action: Action) -> StackCommand {
    StackCommand::Act { action, trustor: None }
}

/// The command to delete the stack.
pub(in crate::actors) fn delete() -> StackCommand {
    StackCommand::Delete { trustor: None }
}

/// A command's id by its number.
pub(in crate::actors) fn command_id(number: u128) -> CommandId {
    CommandId(uuid::Uuid::from_u128(number))
}

impl Story {
    /// Sends a command and follows it to its end, as the shell does.
    pub(in crate::actors) fn when(mut self, command: StackCommand) -> Self {
        self.events.clear();
        self.effects.clear();
        self.follow(Some(command));
        self
    }

    fn follow(&mut self, mut next: Option<StackCommand>) {
        let clock = self.clock.clone();
        let mut turns = 0;
        while let Some(command) = next.take() {
            turns += 1;
            assert!(turns < TURNS_MAX, "a command follows itself");
            let moment = Moment::of(clock.as_ref());
            let decided = self.stack.decide(&mut self.working, command, &moment, &self.knowledge);
            let decision = decided.unwrap();
            self.take(decision.events, moment.now);
            self.effects.extend(decision.effects);
            next = decision.then;
        }
    }

    fn take(&mut self, events: Vec<StackEvent>, at: DateTime<Utc>) {
        for event in events {
            self.stack.apply(&event, at);
            self.log.push((event.clone(), at));
            self.events.push(event);
        }
    }

    /// Why a command is refused.
    pub(in crate::actors) fn refuses(&mut self, command: StackCommand) -> Refusal {
        let moment = Moment::of(self.clock.as_ref());
        self.stack.decide(&mut self.working, command, &moment, &self.knowledge).err().unwrap()
    }

    /// Lets time pass.
    pub(in crate::actors) fn after(self, seconds: i64) -> Self {
        self.clock.advance(chrono::TimeDelta::seconds(seconds));
        self
    }

    /// Forgets all but the log, what resources have reported and definitions that are read back, and
    /// wakes up.
    pub(in crate::actors) fn when_woken(mut self) -> Self {
        let former = std::mem::take(&mut self.working);
        self.stack = Stack::named(self.stack.id);
        for (event, at) in &self.log {
            self.stack.apply(event, *at);
        }
        for origin in self.stack.origins_needed() {
            let Some(known) = former.definitions.get(&origin) else { continue };
            self.working.know_definition(&self.stack, origin, known.clone());
        }
        for id in self.stack.rows.keys() {
            let report = former.reports.get(id).map(|report| Report::clone(report));
            report.into_iter().for_each(|report| self.working.know_report(report));
        }
        self.events.clear();
        let clock = self.clock.clone();
        let moment = Moment::of(clock.as_ref());
        let decision = self.stack.recover(&mut self.working, &moment, &self.knowledge);
        self.take(decision.events, moment.now);
        self.effects = decision.effects;
        self.follow(decision.then);
        self
    }

    /// A resource ends what it was told.
    pub(in crate::actors) fn when_done(self, name: &str) -> Self {
        let (id, _) = self.task(name);
        let outcome = match self.stack.incarnations().values().any(|current| *current == id) {
            true => Outcome::Converged,
            false => Outcome::CleanedUp,
        };
        self.when_it_ends(name, outcome)
    }

    /// Every resource ends what it was told, until nothing is left to be told.
    pub(in crate::actors) fn when_all_are_done(mut self) -> Self {
        while let Some(name) = self.at_work() {
            self = self.when_done(&name);
        }
        self
    }

    /// The first of the resources that were told something, by name.
    pub(in crate::actors) fn at_work(&self) -> Option<String> {
        self.working.told.values().map(|(name, _)| name.to_string()).min()
    }

    /// A resource fails with a reason.
    pub(in crate::actors) fn when_it_fails(self, name: &str, reason: &str) -> Self {
        let action = self.action_of(name);
        self.when_it_ends(name, Outcome::Failed { action, reason: reason.to_owned() })
    }

    /// A resource ends what it was told with an outcome.
    pub(in crate::actors) fn when_it_ends(self, name: &str, outcome: Outcome) -> Self {
        let (_, traversal) = self.task(name);
        let mut report = self.report(name);
        let is_failed = matches!(outcome, Outcome::Failed { .. });
        report.action = self.action_of(name);
        report.status = if is_failed { Status::Failed } else { Status::Complete };
        report.traversal = Some(traversal);
        report.outcome = Some((traversal, outcome));
        self.when(reported(report))
    }

    /// How a resource stands, before what it was told.
    pub(in crate::actors) fn report(&self, name: &str) -> Report {
        let name = ResourceName::from(name);
        let told = self.working.told.iter().find(|(_, (told, _))| *told == name);
        let id = told.map(|(id, _)| *id).unwrap_or_else(|| self.stack.incarnations()[&name]);
        if let Some(known) = self.working.reports.get(&id) {
            return Report::clone(known);
        }
        Report {
            id,
            action: Action::Init,
            status: Status::Complete,
            traversal: None,
            outcome: None,
            dropped: None,
            physical_id: None,
            reference: Some(name.as_str().into()),
            name,
            attributes: Arc::default(),
            created_at: self.clock.now(),
            changed_at: self.clock.now(),
            signals: None,
            owes_signal: false,
            waits: false,
            user_project: None,
            kept: None,
        }
    }

    /// The incarnation of a name that was told something, and in which traversal.
    fn task(&self, name: &str) -> (ResourceId, TraversalId) {
        let mut told = self.working.told.iter();
        let found = told.find(|(_, (told, _))| told.as_str() == name);
        let (id, (_, traversal)) = found.unwrap_or_else(|| panic!("{name} was told nothing"));
        (*id, *traversal)
    }

    fn action_of(&self, name: &str) -> Action {
        let (id, _) = self.task(name);
        let is_current = self.stack.incarnations().values().any(|current| *current == id);
        let is_made = self.working.reports.contains_key(&id);
        if is_act(self.stack.action) {
            return self.stack.action;
        }
        match (is_current, is_made) {
            (false, _) => Action::Delete,
            (true, true) => Action::Update,
            (true, false) => Action::Create,
        }
    }

    /// The names of the events that the last command led to.
    pub(in crate::actors) fn told(&self) -> Vec<&'static str> {
        self.events.iter().map(Event::event_type).collect()
    }

    /// What the last command has others do, sorted; deadlines are left out.
    pub(in crate::actors) fn orders(&self) -> Vec<String> {
        let mut orders: Vec<String> = self.effects.iter().filter_map(order).collect();
        orders.sort_unstable();
        orders
    }

    /// The traversal that the last command has started.
    pub(in crate::actors) fn started(&self) -> &TraversalStarted {
        let Some(StackEvent::TraversalStarted(started)) = self.events.last() else {
            panic!("no traversal starts with {:?}", self.told())
        };
        started
    }

    /// How a resource is told to converge.
    pub(in crate::actors) fn converged(&self, name: &str) -> &Converge {
        let converged = self.effects.iter().find_map(|effect| {
            let StackEffect::Tell { name: told, command, .. } = effect else { return None };
            let ResourceCommand::Converge(converge) = command else { return None };
            (told.as_str() == name).then_some(converge)
        });
        converged.unwrap_or_else(|| panic!("{name} is not in {:?}", self.orders()))
    }

    /// The stack as it is read.
    pub(in crate::actors) fn view(&self) -> StackView<'_> {
        StackView::of(&self.stack, &self.working)
    }

    /// The incarnations by their names.
    pub(in crate::actors) fn incarnations(&self) -> BTreeMap<String, ResourceId> {
        let nodes = self.stack.incarnations().into_iter();
        nodes.map(|(name, id)| (name.to_string(), id)).collect()
    }

    /// The action, its status and the reason: `CREATE_FAILED: …`.
    pub(in crate::actors) fn state(&self) -> String {
        let Stack { action, status, reason, .. } = &self.stack;
        format!("{action}_{status}: {reason}")
    }
}

/// The command that is a resource's report.
pub(in crate::actors) fn reported(report: Report) -> StackCommand {
    StackCommand::Report(Box::new(report))
}

/// An effect as an order, but for timers.
fn order(effect: &StackEffect) -> Option<String> {
    Some(match effect {
        StackEffect::Tell { name, command, .. } => format!("{} {name}", word(command)),
        StackEffect::Rouse { .. } => "rouse".to_owned(),
        StackEffect::TakeTurns => "take turns".to_owned(),
        StackEffect::Deadline { .. } => return None,
        StackEffect::DropSnapshot { .. } => "drop snapshot".to_owned(),
        StackEffect::DropUserProject { project_id } => format!("drop users {project_id}"),
        StackEffect::Release { name, .. } => format!("release {name}"),
    })
}

#[expect(clippy::wildcard_enum_match_arm, reason = "no stack gives the others as a task")]
fn word(command: &ResourceCommand) -> String {
    match command {
        ResourceCommand::Converge(_) => "converge".to_owned(),
        ResourceCommand::CleanUp(_) => "clean up".to_owned(),
        ResourceCommand::Act(act) => act.action.as_str().to_lowercase(),
        ResourceCommand::Cancel { reason } => format!("cancel ({reason})"),
        ResourceCommand::TimeOut => "time out".to_owned(),
        ResourceCommand::BeginNothing => "begin nothing".to_owned(),
        ResourceCommand::LeaveHook => "leave hook".to_owned(),
        _ => format!("{command:?}"),
    }
}
