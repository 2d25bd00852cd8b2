//! `hearth purge`: takes away what was deleted long ago.

use std::process::ExitCode;

use super::admin::{self, Answer, Order};
use super::data::FileArguments;
use crate::events::forget::{Age, Forgotten, Older};
use crate::model::ProjectId;

/// Take away the history of what was deleted long ago, also while the server serves
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    files: FileArguments,
    /// How long ago it was deleted at least: 30d, 12h, 5m, 90s, or a number alone
    #[arg(long, value_name = "AGE", default_value = "90")]
    older_than: Age,
    /// What a number alone counts
    #[arg(short, long, default_value = "days")]
    granularity: Granularity,
    /// Only what belonged to this project
    #[arg(short, long, value_name = "ID")]
    project_id: Option<String>,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Granularity {
    Days,
    Hours,
    Minutes,
    Seconds,
}

impl Granularity {
    fn seconds(self) -> u64 {
        match self {
            Self::Days => 86_400,
            Self::Hours => 3_600,
            Self::Minutes => 60,
            Self::Seconds => 1,
        }
    }
}

impl Arguments {
    /// What heat-manage is told by place and not by name.
    pub(super) fn of_manage(files: FileArguments, given: &PurgeDeleted) -> Result<Self, String> {
        Ok(Self {
            files,
            older_than: given.age.parse().map_err(str::to_owned)?,
            granularity: given.granularity,
            project_id: given.project_id.clone(),
        })
    }
}

/// The arguments of `heat-manage purge_deleted`.
#[derive(Debug, clap::Args)]
pub(super) struct PurgeDeleted {
    /// How long ago it was deleted at least
    #[arg(default_value = "90")]
    age: String,
    /// What the number counts
    #[arg(short, long, default_value = "days")]
    granularity: Granularity,
    /// Only what belonged to this project
    #[arg(short, long, value_name = "ID")]
    project_id: Option<String>,
    /// How many stacks go in one step: taken, and without effect, because a step has its own bound
    #[arg(short, long = "batch_size", value_name = "NUMBER", default_value = "20")]
    batch_size: std::num::NonZeroU32,
}

/// Has it done and says how much it was.
pub(super) async fn run(arguments: &Arguments) -> ExitCode {
    match purge(arguments).await {
        Ok(done) => {
            let Forgotten { stacks, configs, deployments, alarms, blobs, events, damaged } = done;
            println!(
                "purged: {stacks} stacks, {configs} software configurations, {deployments} \
                 deployments, {alarms} alarms; {events} events and {blobs} blobs"
            );
            for what in &damaged {
                eprintln!("hearth purge: this is damaged and stays, and so do all blobs: {what}");
            }
            if damaged.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(reason) => {
            eprintln!("hearth purge: {reason}");
            ExitCode::FAILURE
        }
    }
}

async fn purge(arguments: &Arguments) -> Result<Forgotten, String> {
    let older = Older {
        seconds: arguments.older_than.seconds(arguments.granularity.seconds()),
        project: arguments.project_id.clone().map(ProjectId),
    };
    match admin::order(&arguments.files.files()?, Order::Purge(older)).await? {
        Answer::Purged(forgotten) => Ok(forgotten),
        answer => Err(format!("the server answered something else: {answer:?}")),
    }
}
