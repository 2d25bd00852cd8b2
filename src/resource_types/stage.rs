//! The stages of a type's program: how the log calls each, and what it does.

use serde_json::Value;

use crate::events::resource::Step;

/// What a stage does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// It asks what is there.
    Looks,
    /// It changes the cloud: its intent is durable before a call leaves.
    Changes,
    /// It is a command to another stream of the log.
    Commands,
}

/// The stages of a program.
pub(crate) trait Stages: Copy + PartialEq + 'static {
    /// Each with its name in the log.
    const TABLE: &'static [(Self, &'static str, Effect)];

    /// The stage that a step is of; `None` where it is of another program.
    fn of(step: &Step) -> Option<Self> {
        let mut table = Self::TABLE.iter();
        table.find(|(_, name, _)| *name == step.name).map(|(stage, ..)| *stage)
    }

    /// The step of the stage, with nothing to remember.
    fn step(self) -> Step {
        self.with(Value::Null)
    }

    /// The step of the stage, which remembers `state`.
    fn with(self, state: Value) -> Step {
        let mut table = Self::TABLE.iter();
        let (name, effect) = table
            .find(|(stage, ..)| *stage == self)
            .map_or(("", Effect::Looks), |(_, name, effect)| (*name, *effect));
        let (mutates, commands) = (effect == Effect::Changes, effect == Effect::Commands);
        Step { name: name.to_owned(), mutates, commands, state }
    }
}

/// Declares an enum of stages.
macro_rules! stages {
    ($(#[$doc:meta])* $seen:vis enum $stages:ident {
        $($(#[$about:meta])* $stage:ident = $name:literal $effect:ident),* $(,)?
    }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $seen enum $stages { $($(#[$about])* $stage),* }

        impl $crate::resource_types::stage::Stages for $stages {
            const TABLE: &'static [(Self, &'static str, $crate::resource_types::stage::Effect)] =
                &[$(($stages::$stage, $name, $crate::resource_types::stage::Effect::$effect)),*];
        }
    };
}
pub(crate) use stages;
