//! `hearth bench`: the workloads of the speed budgets, over the public API of a server of its own.

mod agents;
mod backend;
mod broker;
mod commands;
mod feeds;
mod figure;
mod hostile;
mod language;
mod many_stacks;
mod notified;
mod one_stack;
mod past;
mod receivers;
mod redraw;
mod replay;
mod requests;
mod server;
mod signals;
mod signing;
mod stack;
mod templates;
mod trees;
mod types;
mod web;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};

use self::figure::Figure;
use self::server::Server;
use super::client::ClientError;

/// Measures Hearth against its speed budgets, on a server and data of its own
#[derive(Debug, Args)]
pub(super) struct BenchArgs {
    /// What is measured; everything by default
    #[arg(value_name = "PART", conflicts_with = "log")]
    parts: Vec<Part>,
    /// Where the servers keep their data; a temporary directory by default
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// Plays every workload in small and gives no verdict
    #[arg(long)]
    quick: bool,
    /// Measures a log that is kept there (mysql://…, esdb://…) against one in a file, and nothing else
    #[arg(long, value_name = "URL")]
    log: Option<String>,
}

/// Workloads that are played together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    /// The template language
    Language,
    /// One stack, its past, and an empty server
    Stack,
    /// 60,000 stacks and their log
    Stacks,
    /// Readers of a feed
    Feeds,
    /// Lists, as often as they are answered
    Requests,
    /// Signals to wait conditions
    Signals,
    /// Agents that ask for metadata
    Agents,
    /// Notifications and webhooks
    Notified,
    /// Groups and nested stacks
    Trees,
    /// Reads beside hostile templates
    Hostile,
    /// The README's example
    Web,
}

/// How much is played.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scale {
    Quick,
    Full,
}

/// Why there are no figures.
#[derive(Debug, thiserror::Error)]
enum BenchError {
    #[error(transparent)]
    Client(#[from] ClientError),
    #[error(transparent)]
    System(#[from] std::io::Error),
    #[error("the server: {0}")]
    Server(String),
    #[error("{0}")]
    Unexpected(String),
}

/// Prints each figure beside its budget; fails when one is missed.
pub(super) async fn run(args: BenchArgs) -> ExitCode {
    let scale = if args.quick { Scale::Quick } else { Scale::Full };
    let dir = args.data_dir.unwrap_or_else(|| {
        std::env::temp_dir().join(format!("hearth-bench-{}", std::process::id()))
    });
    let outcome = match &args.log {
        None => measure(scale, &dir, &args.parts).await,
        Some(log) => backend::run(scale, &dir, log).await.inspect(|figures| {
            figures.iter().for_each(|figure| println!("{}", figure.line(scale)));
        }),
    };
    // The data is of no use afterwards.
    if let Err(error) = std::fs::remove_dir_all(&dir) {
        eprintln!("hearth: could not remove {}: {error}", dir.display());
    }
    match outcome {
        Err(error) => {
            eprintln!("hearth: {error}");
            ExitCode::FAILURE
        }
        // Workloads in small say nothing about the budgets.
        Ok(_) if scale == Scale::Quick => ExitCode::SUCCESS,
        Ok(figures) if figures.iter().all(Figure::is_kept) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
    }
}

async fn measure(scale: Scale, dir: &Path, parts: &[Part]) -> Result<Vec<Figure>, BenchError> {
    let mut all = Vec::new();
    let mut report = |figures: Vec<Figure>| {
        for figure in &figures {
            println!("{}", figure.line(scale));
        }
        all.extend(figures);
    };
    let wanted = |part| parts.is_empty() || parts.contains(&part);

    if wanted(Part::Language) {
        report(language::run(scale, dir)?);
        report(redraw::run(scale)?);
    }
    if wanted(Part::Stack) {
        let server = Server::start(&dir.join("one"), &[]).await?;
        report(vec![Figure::secs("ready on an empty log", server.ready_after, 0.3)]);
        report(types::run(scale, &server).await?);
        report(one_stack::run(scale, &server).await?);
        report(past::run(scale, &server).await?);
        server.stop().await?;
    }
    if wanted(Part::Stacks) {
        let server = Server::start(&dir.join("many"), &[]).await?;
        let (figures, server) = many_stacks::run(scale, server).await?;
        report(figures);
        server.stop().await?;
        let (figures, events) = replay::run(&dir.join("many")).await?;
        report(figures);
        report(commands::run(&dir.join("many"), events)?);
    }
    if wanted(Part::Feeds) {
        let server = Server::start(&dir.join("feeds"), &feeds::SETTINGS).await?;
        report(feeds::run(scale, &server).await?);
        server.stop().await?;
    }
    if wanted(Part::Requests) {
        let server = Server::start(&dir.join("requests"), &[]).await?;
        report(requests::run(scale, &server).await?);
        server.stop().await?;
    }
    if wanted(Part::Signals) {
        let server = Server::start(&dir.join("signals"), &[]).await?;
        report(signals::run(scale, &server).await?);
        server.stop().await?;
    }
    if wanted(Part::Agents) {
        let server = Server::start_apart(&dir.join("agents")).await?;
        report(agents::run(scale, &server).await?);
        server.stop().await?;
    }
    if wanted(Part::Notified) {
        report(notified::run(scale, &dir.join("notified")).await?);
    }
    if wanted(Part::Trees) {
        report(trees::run(scale, dir).await?);
    }
    if wanted(Part::Hostile) {
        let server = Server::start(&dir.join("hostile"), &[]).await?;
        report(hostile::run(scale, &server).await?);
        server.stop().await?;
    }
    if wanted(Part::Web) {
        let server = Server::start(&dir.join("web"), &web::SETTINGS).await?;
        report(web::run(&server).await?);
        server.stop().await?;
    }
    Ok(all)
}
