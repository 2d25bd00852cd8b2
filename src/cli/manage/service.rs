//! The processes that work on stacks: there is one, or none.

use crate::cli::admin;
use crate::cli::data::FileArguments;
use crate::clock::{Clock, SystemClock};

#[derive(Debug, clap::Subcommand)]
pub(super) enum What {
    /// Print the server that works with the data, if one does
    List,
    /// Nothing: a server that has ended is not listed
    Clean,
}

pub(super) async fn run(files: &FileArguments, what: &What) -> Result<(), String> {
    match what {
        What::List => list(files).await,
        What::Clean => {
            println!("a server that has ended is not listed: there is nothing to remove");
            Ok(())
        }
    }
}

async fn list(files: &FileArguments) -> Result<(), String> {
    row(["Hostname", "Binary", "Engine_Id", "Host", "Topic", "Status", "Updated At"]);
    let serving = admin::server_on(&files.files()?.data).await?;
    if let Some(engine) = serving.and_then(|serving| serving.engine) {
        let now = SystemClock.now().format("%Y-%m-%d %H:%M:%S").to_string();
        let id = engine.id.to_string();
        row([&engine.host, "heat-engine", &id, &engine.host, "engine", "up", &now]);
    }
    Ok(())
}

/// As wide as Heat's.
fn row([hostname, binary, engine, host, topic, status, updated]: [&str; 7]) {
    println!(
        "{hostname:<16} {binary:<16} {engine:<36} {host:<10} {topic:<10} {status:<10} {updated:<10}"
    );
}
