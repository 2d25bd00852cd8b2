//! `hearth serve`: the Orchestration API and, by default, a sandbox cloud beside it.

use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use url::Url;

use super::data::with_causes;
use super::node::{self, Node};
use super::{logging, signal};
use crate::config::{CloudChoice, Flags, Settings, Unused};

/// Serve the Orchestration API, with a sandbox cloud beside it unless told otherwise
#[derive(Debug, Args)]
pub(super) struct ServeArgs {
    /// Where the log and all else is kept [default: ./hearth-data]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// The file with the master key [default: master.key in the data directory]
    #[arg(long, value_name = "FILE")]
    master_key: Option<PathBuf>,
    /// The file with the key that signs the log [default: signing.key in the data directory]
    #[arg(long, value_name = "FILE")]
    signing_key: Option<PathBuf>,
    /// Where the API listens [default: 127.0.0.1:8004]
    #[arg(long, value_name = "ADDR")]
    listen: Option<SocketAddr>,
    /// Where the embedded sandbox listens [default: 127.0.0.1:5000]
    #[arg(long, value_name = "ADDR")]
    sandbox_listen: Option<SocketAddr>,
    /// The Keystone of a sandbox that runs elsewhere
    #[arg(long, value_name = "URL")]
    sandbox: Option<Url>,
    /// Which cloud resources are made in [default: sandbox]
    #[arg(long)]
    cloud: Option<CloudArg>,
    /// An INI file with Heat's option names; an existing heat.conf will do
    #[arg(long, value_name = "FILE")]
    config_file: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum CloudArg {
    Sandbox,
    Openstack,
}

/// Serves until it is told to stop.
pub(super) async fn run(args: ServeArgs) -> ExitCode {
    let flags = Flags {
        config_file: args.config_file,
        data: args.data,
        master_key: args.master_key,
        signing_key: args.signing_key,
        listen: args.listen,
        sandbox_listen: args.sandbox_listen,
        sandbox: args.sandbox,
        cloud: args.cloud.map(|cloud| match cloud {
            CloudArg::Sandbox => "sandbox".to_owned(),
            CloudArg::Openstack => "openstack".to_owned(),
        }),
    };
    let settings = match Settings::load(&flags, std::env::vars()) {
        Ok(settings) => settings,
        Err(error) => return failed(&error),
    };
    logging::start(settings.log_filter.as_deref().unwrap_or("warn,hearth=info"));
    tell_unused(&settings.unused);
    let node = match Node::start(&settings).await {
        Ok(node) => node,
        Err(error) => return failed(&error),
    };
    tell_where(&node, &settings);
    signal::until_told(|| node.reload()).await;
    say("stopping");
    node.stop().await;
    ExitCode::SUCCESS
}

fn failed(error: &dyn std::error::Error) -> ExitCode {
    eprintln!("hearth: {}", with_causes(error));
    ExitCode::FAILURE
}

fn tell_where(node: &Node, settings: &Settings) {
    let cloud = match settings.cloud {
        CloudChoice::Sandbox => "sandbox cloud",
        CloudChoice::SandboxAt(_) => "sandbox elsewhere",
        CloudChoice::OpenStack => "cloud",
    };
    let scheme = node::scheme(settings);
    let mut lines = vec![
        ("orchestration API", format!("{scheme}://{}/v1", node.address)),
        ("event feed", format!("{scheme}://{}/v1/{{project}}/feed", node.address)),
        (cloud, node.auth_url.clone()),
        ("data", settings.data.display().to_string()),
    ];
    if let Some(path) = &node.clouds_yaml {
        let export = format!("export OS_CLIENT_CONFIG_FILE={} OS_CLOUD=hearth", path.display());
        lines.push(("clients", export));
    }
    for (what, value) in lines {
        say(&format!("{what:<18} {value}"));
    }
    say("ready");
}

/// Says something to whoever started the server, who need not listen any more.
fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

fn tell_unused(unused: &Unused) {
    if !unused.known_to_heat.is_empty() {
        let options = unused.known_to_heat.join(", ");
        tracing::info!(options, "options of heat that have no effect here");
    }
    if !unused.unknown.is_empty() {
        let options = unused.unknown.join(", ");
        tracing::warn!(options, "options that nobody knows");
    }
}
