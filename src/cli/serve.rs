//! `hearth serve`: the Orchestration API, CloudFormation's and CloudWatch's, and, by default, a sandbox cloud beside it.

use std::io::Write;
use std::net::SocketAddr;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use url::Url;

use super::data::{FileArguments, with_causes};
use super::manager::Manager;
use super::node::{self, Node};
use super::signal::Signals;
use super::{logging, reach};
use crate::config::{CloudChoice, Flags, Settings, Unused, known_options, listen_address};
use crate::template::nearest;

/// Serve the Orchestration API, CloudFormation's and CloudWatch's, with a sandbox cloud beside it unless told otherwise
#[derive(Debug, Args)]
pub(super) struct ServeArgs {
    #[command(flatten)]
    files: FileArguments,
    /// Where the API listens [default: 127.0.0.1:8004]
    #[arg(long, value_name = "ADDR", value_parser = listen_address)]
    listen: Option<SocketAddr>,
    /// Where CloudFormation's API listens, or none [default: 127.0.0.1:8000]
    #[arg(long, value_name = "ADDR")]
    cfn_listen: Option<String>,
    /// Where CloudWatch's API listens, or none [default: 127.0.0.1:8003]
    #[arg(long, value_name = "ADDR")]
    cloudwatch_listen: Option<String>,
    /// Where the embedded sandbox listens [default: 127.0.0.1:5000]
    #[arg(long, value_name = "ADDR", value_parser = listen_address)]
    sandbox_listen: Option<SocketAddr>,
    /// The Keystone of a sandbox that runs elsewhere
    #[arg(long, value_name = "URL")]
    sandbox: Option<Url>,
    /// Which cloud resources are made in [default: sandbox]
    #[arg(long)]
    cloud: Option<CloudArg>,
    /// Read a log that another server writes, and answer what only asks; needs a data directory of
    /// its own
    #[arg(long)]
    read_only: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum CloudArg {
    Sandbox,
    Openstack,
}

impl ServeArgs {
    /// The settings that they are.
    pub(super) fn flags(self) -> Flags {
        Flags {
            listen: self.listen,
            cfn_listen: self.cfn_listen,
            cloudwatch_listen: self.cloudwatch_listen,
            sandbox_listen: self.sandbox_listen,
            sandbox: self.sandbox,
            cloud: self.cloud.map(|cloud| match cloud {
                CloudArg::Sandbox => "sandbox".to_owned(),
                CloudArg::Openstack => "openstack".to_owned(),
            }),
            read_only: self.read_only,
            ..self.files.flags()
        }
    }
}

/// Serves until it is told to stop.
pub(super) async fn run(args: ServeArgs) -> ExitCode {
    let settings = match Settings::load(&args.flags(), std::env::vars()) {
        Ok(settings) => settings,
        Err(error) => return failed(&error),
    };
    if let Err(error) = logging::start_as(&settings) {
        return failed(&error);
    }
    tell_unused(&settings.unused);
    let node = match Node::start(&settings).await {
        Ok(node) => node,
        Err(error) => return failed(&error),
    };
    if let Err(error) = node.announce(&settings).await {
        // It serves all the same; others do not learn where.
        tracing::warn!(%error, "where this server is could not be put on record");
    }
    let silent = reach::first_word(&settings, &node.auth_url).await.err();
    // Who reads `ready` may send a signal at once.
    let signals = Signals::hear();
    tell_where(&node, &settings, silent);
    let manager = Manager::find();
    manager.tell("READY=1");
    tokio::select! {
        () = signals.until_told(|| node.reload()) => {}
        () = manager.keep_watch(|| node.lives()) => {}
    }
    manager.tell("STOPPING=1");
    say("stopping");
    node.stop().await;
    ExitCode::SUCCESS
}

fn failed(error: &dyn std::error::Error) -> ExitCode {
    eprintln!("hearth: {}", with_causes(error));
    ExitCode::FAILURE
}

/// Says where everything is, and if the cloud is `silent`, why.
fn tell_where(node: &Node, settings: &Settings, silent: Option<String>) {
    let cloud = match settings.cloud {
        CloudChoice::Sandbox => "sandbox cloud",
        CloudChoice::SandboxAt(_) => "sandbox elsewhere",
        CloudChoice::OpenStack => "cloud",
    };
    let scheme = node::scheme(settings);
    let mut lines = vec![
        ("orchestration API", format!("{scheme}://{}/v1", node.address)),
        ("event feed", format!("{scheme}://{}/v1/{{project}}/feed", node.address)),
        (
            cloud,
            match silent {
                None => node.auth_url.clone(),
                Some(reason) => format!("{} (it cannot be used yet: {reason})", node.auth_url),
            },
        ),
        ("data", settings.data.display().to_string()),
    ];
    if let Some(address) = node.cloudwatch_address {
        lines.insert(1, ("cloudwatch API", format!("{scheme}://{address}/v1")));
    }
    if let Some(address) = node.cfn_address {
        lines.insert(1, ("cloudformation API", format!("{scheme}://{address}/v1")));
    }
    if let Some(address) = node.metrics_address {
        lines.push(("metrics", format!("{scheme}://{address}/metrics")));
    }
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
        let options: Vec<String> = unused.unknown.iter().map(|it| with_meant(it)).collect();
        let options = options.join(", ");
        tracing::warn!(options, "options that nobody knows");
    }
}

/// An option that nobody knows, `[group] name`, and one of that group that may have been meant.
fn with_meant(option: &str) -> String {
    let meant = option.strip_prefix('[').and_then(|rest| rest.split_once("] "));
    let meant = meant.and_then(|(group, name)| {
        let of_group = known_options().into_iter().filter(|known| known.group == group);
        nearest(name, of_group.map(|known| known.name))
    });
    meant.map_or_else(|| option.to_owned(), |meant| format!("{option} (did you mean {meant}?)"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_option_is_told_with_the_one_that_may_be_meant() {
        let meant = "[hearth] log_fliter (did you mean log_filter?)";
        assert_eq!(with_meant("[hearth] log_fliter"), meant);
        assert_eq!(with_meant("[hearth] xyzzy"), "[hearth] xyzzy");
        assert_eq!(with_meant("[nowhere] log_filter"), "[nowhere] log_filter");
    }
}
