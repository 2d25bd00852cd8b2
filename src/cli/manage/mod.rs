//! `hearth manage`: what `heat-manage` and `heat-keystone-setup-domain` do, over a log. A command
//! that makes no sense here says what replaces it, and ends as the original does where what it asks
//! for holds anyway.

mod database;
mod domain;
mod service;
mod stack;

use std::process::ExitCode;

use super::data::FileArguments;
use super::{ended, purge};

/// Do what heat-manage does, by its commands
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    files: FileArguments,
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
        /// The resource's id, as `hearth replay --json` and the event list show it
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
    let files = &arguments.files;
    let done = match &arguments.command {
        Command::PurgeDeleted(given) => {
            return purge::run(&purge::Arguments::of_manage(files.clone(), given)).await;
        }
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
