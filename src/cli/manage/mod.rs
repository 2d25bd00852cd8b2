//! `hearth manage`: what `heat-manage` and `heat-keystone-setup-domain` do, over a log. A command
//! that makes no sense here says what replaces it, and ends as the original does where what it asks
//! for holds anyway.

mod database;
mod domain;
mod service;
mod stack;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::data::{FileArguments, with_causes};
use super::{VERSION, ended, logging, purge};
use crate::config::{Flags, Settings};

/// The settings of the Debian package, which its service is started with: heat-manage finds
/// `/etc/heat/heat.conf` by itself, too.
const PACKAGED_SETTINGS: &str = "/etc/hearth/hearth.conf";

/// Do what heat-manage does, by its commands
#[derive(Debug, clap::Args)]
#[command(version = VERSION)]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    files: FileArguments,
    #[command(flatten)]
    common: Common,
}

/// What heat-manage takes before or behind each of its commands, beside `--config-file`.
#[derive(Debug, clap::Args)]
struct Common {
    /// A directory with more such files, which are read in the order of their names
    #[arg(long, value_name = "DIR", global = true)]
    config_dir: Option<PathBuf>,
    /// Log what is done, to standard error where no file is named
    #[arg(long, short, global = true)]
    debug: bool,
    /// No effect, as in Heat: that much is always logged
    #[arg(long, short, global = true, overrides_with = "verbose")]
    verbose: bool,
    /// Log to a file
    #[arg(long, value_name = "FILE", global = true)]
    log_file: Option<PathBuf>,
    /// Log to a file in a directory
    #[arg(long, value_name = "DIR", global = true)]
    log_dir: Option<PathBuf>,
}

impl Common {
    /// Starts the log where one is wanted. The error is a whole sentence.
    fn start_log(&self, files: &FileArguments) -> Result<(), String> {
        if !self.debug && self.log_file.is_none() && self.log_dir.is_none() {
            return Ok(());
        }
        let flags = Flags {
            debug: self.debug,
            log_file: self.log_file.clone(),
            log_dir: self.log_dir.clone(),
            ..files.flags()
        };
        let settings = Settings::load(&flags, std::env::vars());
        let settings = settings.map_err(|error| with_causes(&error))?;
        logging::start_as(&settings).map_err(|error| with_causes(&error))
    }
}

#[derive(Debug, clap::Subcommand)]
#[command(rename_all = "snake_case")]
enum Command {
    /// Print the format of the log
    DbVersion,
    /// Make the log where there is none, or bring it to the newest format
    DbSync {
        /// The newest format, if any is named: there is no way to another
        version: Option<String>,
    },
    /// Take away the history of what was deleted long ago, as `hearth purge` does
    PurgeDeleted(purge::PurgeDeleted),
    /// Nothing: secrets are always sealed, and `hearth key rotate` seals them anew
    UpdateParams(database::UpdateParams),
    /// Nothing: every stack works as convergence has it
    #[command(name = "migrate_convergence_1")]
    MigrateConvergence {
        /// The stack's id
        stack_id: String,
    },
    /// Nothing, as in Heat
    MigratePropertiesData,
    /// Print what a resource has kept for itself; secrets masked
    ResourceDataList {
        /// The resource's own id: `resource_id` of `hearth replay STACK --json`
        resource_id: String,
    },
    /// Have a stack given up that comes to no end, with all stacks within it
    ResetStackStatus(stack::Reset),
    /// The processes that work on stacks
    Service {
        #[command(subcommand)]
        what: service::What,
    },
    /// Make the domain of stacks' users and its administrator, as heat-keystone-setup-domain does
    #[command(name = "setup-domain")]
    SetupDomain(domain::Arguments),
}

/// Does what is asked.
pub(super) async fn run(arguments: &Arguments) -> ExitCode {
    let common = &arguments.common;
    let packaged = Path::new(PACKAGED_SETTINGS);
    let files = &arguments.files.clone().with_dir(common.config_dir.clone(), packaged);
    if let Err(error) = common.start_log(files) {
        return ended("manage", Err(error));
    }
    let done = match &arguments.command {
        Command::PurgeDeleted(given) => match purge::Arguments::of_manage(files.clone(), given) {
            Ok(arguments) => return purge::run(&arguments).await,
            Err(reason) => Err(reason),
        },
        Command::DbVersion => database::version(files),
        Command::DbSync { version } => database::sync(files, version.as_deref()),
        Command::UpdateParams(given) => database::update_params(given),
        Command::MigrateConvergence { stack_id } => stack::migrate(files, stack_id).await,
        Command::MigratePropertiesData => {
            println!("there is nothing to migrate: properties stand in the events of resources");
            Ok(())
        }
        Command::ResourceDataList { resource_id } => stack::resource_data(files, resource_id).await,
        Command::ResetStackStatus(given) => stack::reset(files, given).await,
        Command::Service { what } => service::run(files, what).await,
        Command::SetupDomain(given) => domain::set_up(given).await,
    };
    ended("manage", done)
}
