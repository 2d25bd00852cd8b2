//! Machines over a log and a model cloud, moved step by step in an order that a seed decides.
//!
//! What a process holds (`Node`) is lost when it dies; the log up to what is durable, the cloud,
//! and calls that have left stay.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use hearth::actors::claims::Claims;
use hearth::actors::nested::Telling;
use hearth::actors::project::Project;
use hearth::actors::resource::{
    self, Adjust, Answered, BeatCall, Nesting, Resource, ResourceCommand,
};
use hearth::actors::stack::{self, ChildEnd, Known, Stack, StackCommand};
use hearth::clock::{Clock, SimulatedClock};
use hearth::events::log::{BlobId, MemoryLog};
use hearth::events::vault::{MasterKey, Vault};
use hearth::graph::steps::{Declared, Implied, RejectCycles};
use hearth::model::{CommandId, Refusal, ResourceId, ResourceName, StackId, TraversalId};
use hearth::resource_types::{Registry, Subject, TreeBounds};
use hearth::template::{PseudoParameters, StackDefinition, StackSource};

use super::child::Nest;
use super::cloud::Cloud;
use super::live::Live;
use super::log::Log;
use super::plans::Announced;
use super::real::{Late, Sandbox};
use super::template::Template;
use crate::support::chance::Chance;

/// How long a call whose answer was lost may still be carried out.
pub(super) const LOST_CALL_REST: Duration = Duration::from_secs(10);

/// Who tells whom: one pair's messages keep their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Line {
    ToResource(StackId, ResourceId),
    ToStack(ResourceId, StackId),
}

pub(super) enum Mail {
    Tell { name: ResourceName, command: ResourceCommand },
    Rouse,
    ToStack(StackCommand),
}

/// Something a resource waits for from outside.
pub(super) struct Outside {
    pub(super) resource: ResourceId,
    /// The length of the log that must be durable before it leaves.
    pub(super) at: usize,
    /// When it was asked for: a call counts as lost a rest after its intent.
    pub(super) asked: DateTime<Utc>,
    pub(super) what: Ask,
}

pub(super) enum Ask {
    Call(Box<BeatCall>),
    SeeFailed {
        epoch: u64,
        driver_type: String,
        subject: Box<Subject>,
    },
    SeeReality {
        epoch: u64,
        driver_type: String,
        subject: Box<Subject>,
    },
    Observe {
        epoch: u64,
        driver_type: String,
        subject: Box<Subject>,
        wanted: Vec<String>,
    },
    /// What a snapshot made is to be deleted.
    DropSnapshot {
        stack: StackId,
        snapshot: TraversalId,
    },
    /// What came of something outside is on its way.
    ComeBack(Box<ResourceCommand>),
    /// What a beat of a real type came to is on its way.
    Hear {
        driver_type: String,
        subject: Box<Subject>,
        answered: Box<Answered>,
    },
    /// A child stack is told something.
    TellChild {
        nest: Box<Nest>,
        telling: Box<Telling>,
    },
    /// A child stack has come to its end.
    ChildEnded {
        nest: Box<Nest>,
        end: Box<ChildEnd>,
    },
    SeeChild {
        epoch: u64,
        driver_type: String,
        subject: Box<Subject>,
        nesting: Nesting,
    },
    HaltChild(StackId),
    CarryOutSignal {
        due: resource::Due,
        driver_type: String,
        subject: Box<Subject>,
        nesting: Box<Nesting>,
    },
    Size {
        adjust: Box<Adjust>,
        driver_type: String,
        subject: Box<Subject>,
    },
}

pub(super) struct Timer {
    pub(super) at: DateTime<Utc>,
    pub(super) what: Due,
}

pub(super) enum Due {
    Deadline { stack: StackId, traversal: TraversalId },
    Beat { resource: ResourceId, epoch: u64 },
}

/// A process: all of it is lost when it dies.
#[derive(Default)]
pub(super) struct Node {
    pub(super) stacks: BTreeMap<StackId, Live<Stack>>,
    pub(super) resources: BTreeMap<ResourceId, Live<Resource>>,
    pub(super) parents: BTreeMap<ResourceId, StackId>,
    pub(super) project: Option<Project>,
    pub(super) mail: BTreeMap<Line, VecDeque<Mail>>,
    pub(super) outside: Vec<Outside>,
    pub(super) timers: Vec<Timer>,
    pub(super) claims: Claims,
    /// Who waits for the end of what a child stack is at.
    pub(super) awaiting: Vec<(StackId, ResourceId, Box<Nest>)>,
    /// Groups, their adjustments, and the policies that wait for them with their signals.
    pub(super) adjusting: Vec<(ResourceId, CommandId, ResourceId, CommandId)>,
}

/// What may go wrong, each once in so many times; 0 is never.
#[derive(Clone, Copy, Default)]
pub(super) struct Dangers {
    pub(super) crash: u64,
    pub(super) call: u64,
    /// A commit of the log.
    pub(super) commit: u64,
}

pub(super) struct World {
    pub(super) chance: Chance,
    pub(super) clock: Arc<SimulatedClock>,
    pub(super) log: Log,
    /// Until when the log answers nothing.
    pub(super) silent_until: Option<DateTime<Utc>>,
    pub(super) cloud: Cloud,
    /// The sandbox that answers where the types are real ones.
    pub(super) real: Option<RefCell<Sandbox>>,
    pub(super) node: Node,
    /// Calls that left before their process died, and are carried out when their time comes.
    pub(super) late: Vec<(DateTime<Utc>, Late)>,
    pub(super) dangers: Dangers,
    /// The names of the resources whose calls are answered; `None`: all of them.
    pub(super) let_through: Option<Vec<String>>,
    /// What each accepted source says.
    pub(super) sources: Vec<Template>,
    /// The sources of child stacks.
    pub(super) kept: Vec<Vec<u8>>,
    /// What was read of them: it costs much and changes nothing.
    pub(super) read: RefCell<BTreeMap<String, Arc<Known>>>,
    pub(super) stack_knowledge: stack::Knowledge,
    pub(super) resource_knowledge: resource::Knowledge,
    /// Only what the fold of the log says, to be compared with what lives.
    pub(super) folds: super::folds::Folds,
    /// The node that only reads.
    pub(super) reader: super::reader::Reader,
    pub(super) wrongs: Vec<String>,
    /// Whether the newest revision was reached, whatever was done with the stack since.
    pub(super) reached: bool,
    /// What was done, to be read when something is wrong.
    pub(super) story: Vec<String>,
    pub(super) crashes: u32,
    /// The child stacks that somebody has asked for something by their own ids.
    pub(super) asked_alone: BTreeSet<StackId>,
    /// Whether that was after the newest traversal began that leads to a revision.
    pub(super) meddled: bool,
    /// The plan of the traversal under way, if there is one.
    pub(super) announced: Option<Announced>,
}

/// What all seeds share, because it costs much and changes nothing.
pub(super) fn shared() -> &'static (Arc<Registry>, Arc<Vault>) {
    static SHARED: OnceLock<(Arc<Registry>, Arc<Vault>)> = OnceLock::new();
    SHARED.get_or_init(|| {
        let mut registry = Registry::built_in().unwrap();
        let types = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/simulation/types");
        registry.add_plugins(types.as_ref()).unwrap();
        let clock = Arc::new(SimulatedClock::new(0));
        let master = MasterKey::fresh(clock.as_ref());
        (Arc::new(registry), Arc::new(Vault::new(Arc::new(MemoryLog::new()), master, clock)))
    })
}

impl World {
    pub(super) fn new(seed: u64) -> World {
        let registry = shared().0.clone();
        World {
            chance: Chance::new(seed),
            clock: Arc::new(SimulatedClock::new(seed ^ 0x5EED)),
            log: Log::new(),
            silent_until: None,
            cloud: Cloud::default(),
            real: None,
            node: Node::default(),
            late: Vec::new(),
            dangers: Dangers::default(),
            let_through: None,
            sources: Vec::new(),
            kept: Vec::new(),
            read: RefCell::default(),
            stack_knowledge: stack::Knowledge {
                registry: registry.clone(),
                stack_action_timeout: Duration::from_secs(3600),
                bounds: TreeBounds::LOOSE,
            },
            resource_knowledge: resource::Knowledge {
                registry,
                action_retry_limit: 1,
                lost_call_rest: LOST_CALL_REST,
                observe_on_update: false,
            },
            folds: super::folds::Folds::default(),
            reader: super::reader::Reader::new(seed),
            wrongs: Vec::new(),
            reached: false,
            story: Vec::new(),
            crashes: 0,
            asked_alone: BTreeSet::new(),
            meddled: false,
            announced: None,
        }
    }

    /// A template as the engine prepares it, and where its source is kept.
    pub(super) fn prepare(
        &mut self,
        stack: StackId,
        template: &Template,
    ) -> Result<(Arc<Known>, BlobId), Refusal> {
        let known = self.known(stack, template)?;
        self.stack_knowledge.registry.validate(&known.definition)?;
        self.sources.push(template.clone());
        Ok((Arc::new(known), BlobId((self.sources.len() - 1).to_string())))
    }

    /// The template whose source was kept there.
    pub(super) fn source(&self, id: &BlobId) -> &Template {
        &self.sources[id.0.parse::<usize>().unwrap()]
    }

    pub(super) fn known(&self, stack: StackId, template: &Template) -> Result<Known, Refusal> {
        let registry = &self.stack_knowledge.registry;
        let source = StackSource {
            template: template.hot(),
            environment: template.environment(),
            files: template.files(),
            ..StackSource::default()
        };
        let pseudo = PseudoParameters {
            stack_name: "web".into(),
            stack_id: stack.to_string(),
            project_id: "p".into(),
            facade: None,
        };
        let definition = StackDefinition::load(&source, &pseudo, registry.as_ref())?;
        let implied = registry.implicit_dependencies(&definition);
        let shown = |name: &ResourceName| registry.shown(&definition, name);
        let dependencies = hearth::graph::build(
            definition.resources().keys().cloned(),
            &[&Declared(&definition), &Implied(implied), &RejectCycles(&shown)],
        )?;
        Ok(Known::new(definition, dependencies))
    }

    pub(super) fn post(&mut self, line: Line, mail: Mail) {
        self.node.mail.entry(line).or_default().push_back(mail);
    }

    pub(super) fn after(&self, pause: Duration) -> DateTime<Utc> {
        self.clock.now() + TimeDelta::from_std(pause).unwrap()
    }

    /// Lets time pass up to a moment.
    pub(super) fn pass_time(&mut self, until: DateTime<Utc>) {
        let left = until - self.clock.now();
        if left > TimeDelta::zero() {
            self.clock.advance(left);
        }
    }

    /// The process dies; another one takes the log up where it is durable.
    pub(super) fn crash(&mut self) {
        self.crashes += 1;
        let node = std::mem::take(&mut self.node);
        self.lose(node.outside);
        self.log.cut();
        self.story.push(format!("crash; the log ends at {}", self.log.len()));
        self.folds.read_back(&self.log);
        self.cloud.left = self.folds.left();
        self.recover();
    }

    /// The log cannot write what waits, and says so: all that went ahead of it is dropped, and woken
    /// from what is durable by the process that lives.
    pub(super) fn fall_back(&mut self) {
        let awake: Vec<StackId> = self.node.stacks.keys().copied().collect();
        let outside = std::mem::take(&mut self.node.outside);
        self.lose(outside);
        self.log.cut();
        self.story.push(format!("the log falls back to {}", self.log.len()));
        self.folds.read_back(&self.log);
        self.cloud.left = self.folds.left();
        self.node.project = None;
        for id in &awake {
            self.rest(*id);
        }
        for id in awake {
            if self.folds.stacks.contains_key(&id) {
                self.wake_stack(id);
            }
        }
        // Whoever rested.
        self.recover();
    }

    /// Nobody waits for these any more; calls may have left.
    pub(super) fn lose(&mut self, outside: Vec<Outside>) {
        for outside in outside {
            let leaves = self.log.is_durable(outside.at) && !self.chance.one_in(3);
            if let (Ask::Call(call), true) = (outside.what, leaves)
                && call.nesting.is_none()
            {
                match self.is_real() {
                    true => self.die_in_beat(outside.resource, &call, outside.asked),
                    false => self.let_come_late(Late::Beat(call), outside.asked),
                }
            }
        }
    }

    /// A call that was asked for then is carried out some time, before it counts as lost.
    pub(super) fn let_come_late(&mut self, call: Late, asked: DateTime<Utc>) {
        let lost = asked + TimeDelta::from_std(LOST_CALL_REST).unwrap();
        let within = u64::try_from((lost - self.clock.now()).num_milliseconds()).unwrap_or(0);
        if within == 0 {
            return;
        }
        let pause = self.chance.millis(0..within);
        let at = self.after(pause);
        self.late.push((at, call));
    }

    /// Wakes the stacks that have work left.
    fn recover(&mut self) {
        for id in self.folds.unsettled(&self.resource_knowledge) {
            self.wake_stack(id);
        }
    }
}
