//! Runs a driver's actions beat by beat on the real cloud, as actors would.

use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use hearth::actors::Engine;
use hearth::actors::executor::run_in_cloud;
use hearth::clock::{Clock, Moment, SystemClock};
use hearth::model::{Action, JsonMap, ResourceId, StackId};
use hearth::openstack::Session;
use hearth::resource_types::asks::Asks;
use hearth::resource_types::registry::Registry;
use hearth::resource_types::{
    Attempt, Beat, Declared, Failure, Learned, Reality, Subject, UpdateKind, Work, stack_user,
};
use serde_json::Value;

/// How long an action may take.
const ACTION_TIME_MAX: Duration = Duration::from_secs(120);
/// How long is waited between two looks.
const PACE: Duration = Duration::from_millis(200);

/// Whether answers to calls that change the cloud arrive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Replies {
    Arrive,
    /// Each is lost once: the beat is made, what it came to is dropped, and it is made again as
    /// one that may have been carried out.
    AreLost,
    /// Each call is lost once before it arrives: nothing is made, and nobody can know.
    NeverLeft,
}

/// The resources of a make-believe stack.
pub(crate) struct Runner {
    pub(crate) session: Session,
    pub(crate) registry: Arc<Registry>,
    /// Who keeps what no cloud does, and the id of the stack.
    pub(crate) engine: Option<(Engine, StackId)>,
    replies: Replies,
    /// How long is waited between two looks at most.
    pub(crate) pace: Duration,
    suffix: String,
}

/// A resource that was created.
#[derive(Clone)]
pub(crate) struct Made {
    pub(crate) type_name: String,
    pub(crate) driver: Arc<Declared>,
    pub(crate) subject: Subject,
}

impl Made {
    pub(crate) fn id(&self) -> &str {
        self.subject.physical_id.as_deref().unwrap_or_default()
    }

    pub(crate) fn reference(&self) -> Value {
        self.driver.reference(&self.subject)
    }

    /// The name of the object, if it has one.
    pub(crate) fn name(&self) -> Option<&str> {
        let property = self.driver.declaration().name.as_deref()?;
        let given = self.subject.properties.get(property).and_then(Value::as_str);
        Some(given.unwrap_or(&self.subject.physical_name))
    }

    /// The properties in which a name may stand for an id.
    pub(crate) fn resolved(&self) -> Vec<String> {
        let rules = self.driver.declaration().translation.iter();
        rules.filter_map(|rule| rule.named().map(str::to_owned)).collect()
    }
}

impl Runner {
    pub(crate) fn new(session: Session, replies: Replies) -> Self {
        static BUILT_IN: LazyLock<Arc<Registry>> =
            LazyLock::new(|| Arc::new(Registry::built_in().unwrap()));
        let registry = Arc::clone(&BUILT_IN);
        // A physical name finds a lost call again, so no two runs may share one.
        let suffix = SystemClock.fresh_id().simple().to_string()[..12].to_owned();
        Self { session, registry, engine: None, replies, pace: PACE, suffix }
    }

    /// Runs a program to its end.
    async fn ask<T>(&self, program: impl Fn(&Asks<'_>) -> T) -> T {
        match &self.engine {
            Some((engine, _)) => engine.run_program(&self.session, program).await,
            None => run_in_cloud(&self.session, program).await,
        }
    }

    fn accepted(&self, type_name: &str, properties: JsonMap) -> JsonMap {
        self.registry.accept(&"a".into(), type_name, properties, SystemClock.now()).unwrap()
    }

    /// Creates a resource.
    pub(crate) async fn create(&mut self, type_name: &str, name: &str, properties: Value) -> Made {
        let driver = self.registry.driver(type_name).unwrap_or_else(|| panic!("no {type_name}"));
        let subject = Subject {
            stack_name: Some("hearth-live".into()),
            stack_id: self.engine.as_ref().map(|(_, stack)| *stack),
            resource_id: self.engine.as_ref().map(|_| ResourceId(SystemClock.fresh_id())),
            project_id: Some(self.session.project_id().await.unwrap()),
            name: Some(name.into()),
            physical_name: format!("hearth-live-{name}-{}", self.suffix),
            properties: self.accepted(type_name, map(properties)),
            ..Subject::default()
        };
        let mut made = Made { type_name: type_name.to_owned(), driver, subject };
        let began = Instant::now();
        let replaced = self.run(&mut made, &Work::Create).await.unwrap();
        assert!(!replaced, "{type_name} wants to be replaced while it is created");
        eprintln!("{type_name} {name}: created in {:?}", began.elapsed());
        made
    }

    /// Every attribute of the live object.
    pub(crate) async fn attributes(&self, made: &Made) -> JsonMap {
        self.ask(|cloud| made.driver.attributes(cloud, &made.subject, &[]))
            .await
            .unwrap_or_else(|error| panic!("attributes of {}: {error:?}", made.type_name))
    }

    /// Changes properties in place; null takes one away.
    pub(crate) async fn update(&self, made: &mut Made, properties: Value) {
        let before = made.subject.properties.clone();
        let mut after = before.clone();
        after.extend(map(properties));
        after.retain(|_, value| !value.is_null());
        let after = self.accepted(&made.type_name, after);
        let changed = self.registry.changed(&made.type_name, &before, &after);
        assert!(!changed.is_empty());
        made.subject.properties = after;
        let kind = made.driver.on_change(&made.subject, &before, &changed);
        assert_eq!(kind, UpdateKind::InPlace, "{} {changed:?}", made.type_name);
        let began = Instant::now();
        let work = Work::Update { before, changed };
        let replaced = self.run(made, &work).await.unwrap();
        assert!(!replaced, "{} wants to be replaced", made.type_name);
        eprintln!("{}: updated in {:?}", made.type_name, began.elapsed());
    }

    /// Whether a change of properties would make the object anew.
    pub(crate) fn replaces(&self, made: &Made, properties: Value) -> bool {
        let before = &made.subject.properties;
        let mut after = before.clone();
        after.extend(map(properties));
        let after = self.accepted(&made.type_name, after);
        let changed = self.registry.changed(&made.type_name, before, &after);
        let subject = Subject { properties: after, ..made.subject.clone() };
        let kind = made.driver.on_change(&subject, before, &changed);
        matches!(kind, UpdateKind::Replace { .. })
    }

    /// Whether a look at properties that are written otherwise finds nothing to be changed.
    pub(crate) async fn comes_to_the_same(&self, made: &Made, properties: Value) -> bool {
        let before = made.subject.properties.clone();
        let mut after = before.clone();
        after.extend(map(properties));
        let after = self.accepted(&made.type_name, after);
        let changed = self.registry.changed(&made.type_name, &before, &after);
        assert!(!changed.is_empty());
        let (driver, work) = (&made.driver, Work::Update { before, changed });
        let subject = Subject { properties: after, ..made.subject.clone() };
        let step = driver.first(&work, &subject);
        let beat =
            self.ask(|cloud| driver.beat(cloud, &work, &subject, &step, Attempt::First)).await;
        matches!(beat, Ok(Beat::Done { .. }))
    }

    /// Checks that the live object is well.
    pub(crate) async fn check(&self, made: &mut Made) {
        let outcome = self.run(made, &Work::Act(Action::Check)).await;
        assert_eq!(outcome, Ok(false), "{}", made.type_name);
    }

    /// Suspends and resumes it, keeps a snapshot and drops that, as far as its type does anything
    /// for it.
    pub(crate) async fn act(&self, made: &mut Made) {
        for action in [Action::Suspend, Action::Resume, Action::Snapshot] {
            if made.driver.acts(action) {
                let outcome = self.run(made, &Work::Act(action)).await;
                assert_eq!(outcome, Ok(false), "{} {action}", made.type_name);
            }
        }
        let began = Instant::now();
        let (driver, data) = (&made.driver, &made.subject.data);
        let drop = || self.ask(|it| driver.program().delete_snapshot(it, data));
        while made.driver.acts(Action::Snapshot) && drop().await != Ok(true) {
            assert!(began.elapsed() < ACTION_TIME_MAX, "{} keeps its snapshot", made.type_name);
            tokio::time::sleep(self.pace).await;
        }
    }

    /// Whether a property that had a value has another: that nothing is said of one is no wish.
    pub(crate) fn says_otherwise(&self, before: &Made, after: &Made) -> bool {
        let [before, after] = [before, after].map(|made| &made.subject.properties);
        before.iter().any(|(name, value)| !value.is_null() && after.get(name) != Some(value))
    }

    /// What there is of it, beside what is on record.
    pub(crate) async fn reality(&self, made: &Made) -> Reality {
        self.ask(|cloud| made.driver.reality(cloud, &made.subject))
            .await
            .unwrap_or_else(|error| panic!("the reality of {}: {error:?}", made.type_name))
    }

    /// Deletes the object, and once more, which must do no harm; what is on record of it then.
    pub(crate) async fn delete(&self, mut made: Made) -> Made {
        let began = Instant::now();
        self.run(&mut made, &Work::Delete).await.unwrap();
        eprintln!("{}: deleted in {:?}", made.type_name, began.elapsed());
        self.run(&mut made, &Work::Delete).await.unwrap();
        self.drop_user_project(&made.subject).await;
        made
    }

    /// Of a stack whose resources had users their project is left, which goes with it.
    async fn drop_user_project(&self, subject: &Subject) {
        let project = subject.data.get(stack_user::PROJECT).and_then(Value::as_str);
        let (Some(project), Some((_, stack))) = (project, &self.engine) else { return };
        let owner = subject.project_id.clone().unwrap_or_default();
        let program = |cloud: &Asks<'_>| stack_user::delete_project(cloud, project, &owner, *stack);
        self.ask(program).await.unwrap();
    }

    /// True: the driver wants a replacement.
    async fn run(&self, made: &mut Made, work: &Work) -> Result<bool, Failure> {
        if let Some(outcome) = made.driver.local(work, &made.subject, &Moment::of(&SystemClock)) {
            absorb(&mut made.subject, outcome?.learned);
            return Ok(false);
        }
        let mut step = made.driver.first(work, &made.subject);
        let mut attempt = Attempt::First;
        let began = Instant::now();
        loop {
            assert!(began.elapsed() < ACTION_TIME_MAX, "{} {work:?} {step:?}", made.type_name);
            let beat = |attempt| {
                let (driver, subject, step) = (&made.driver, &made.subject, &step);
                self.ask(move |cloud| driver.beat(cloud, work, subject, step, attempt))
            };
            let is_intended = step.mutates || step.commands;
            if is_intended && self.replies != Replies::Arrive && attempt == Attempt::First {
                if self.replies == Replies::AreLost {
                    let _lost = beat(attempt).await;
                }
                attempt = Attempt::Unanswered;
            }
            match beat(attempt).await {
                Ok(Beat::Next { learned, next }) => {
                    absorb(&mut made.subject, learned);
                    (step, attempt) = (next, Attempt::First);
                }
                Ok(Beat::Wait { after }) => {
                    tokio::time::sleep(after.unwrap_or(self.pace).min(self.pace)).await;
                }
                Ok(Beat::Done { learned }) => {
                    absorb(&mut made.subject, learned);
                    return Ok(false);
                }
                Ok(Beat::Replace { .. }) => return Ok(true),
                Err(error) if error.is_transient() => {
                    eprintln!("{} {}: {error}", made.type_name, step.name);
                    if error.is_unanswered() {
                        attempt = Attempt::Unanswered;
                    }
                    let pause = error.retry_after().unwrap_or(self.pace);
                    tokio::time::sleep(pause).await;
                }
                Err(error) => return Err(error),
            }
        }
    }
}

fn absorb(subject: &mut Subject, learned: Learned) {
    if learned.physical_id.is_some() {
        subject.physical_id = learned.physical_id;
    }
    for (key, value) in learned.data {
        if value.is_null() {
            subject.data.remove(&key);
        } else {
            subject.data.insert(key, value);
        }
    }
}

fn map(value: Value) -> JsonMap {
    match value {
        Value::Object(map) => map,
        other => panic!("{other} is no map of properties"),
    }
}
