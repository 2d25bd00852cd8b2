//! `hearth sandbox`: the look-alike cloud alone, for several Hearths, or for clients without one.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Args as Arguments;

use super::signal::Signals;
use crate::config;
use crate::sandbox::{
    FaultRule, GuestLimits, Latencies, Quotas, Sandbox, SandboxConfig, usual_password,
};

/// Run the sandbox OpenStack alone
#[derive(Debug, Arguments)]
pub(super) struct Args {
    /// The address to listen on; port 0 takes a free one
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:5000",
          value_parser = config::listen_address)]
    listen: SocketAddr,
    /// The directory that keeps its state; without it, it is forgotten at the end
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// A directory of YAML files with further services and collections
    #[arg(long, value_name = "DIR")]
    services: Option<PathBuf>,
    /// Hearth's address, for the catalog
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:8004")]
    hearth_url: String,
    /// The address of Hearth's CloudFormation API, for the catalog
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:8000")]
    cfn_url: String,
    /// Milliseconds that each slow thing takes, instead of the various defaults
    #[arg(long, value_name = "MS")]
    latency: Option<u64>,
    /// Milliseconds that every request waits
    #[arg(long, value_name = "MS", default_value_t = 0)]
    request_latency: u64,
    /// Fault rules in force from the start: a JSON list, as `/admin/faults` takes it
    #[arg(long, value_name = "FILE")]
    faults: Option<PathBuf>,
    /// Have servers run what their user data and deployments say, as processes of this machine
    #[arg(long, value_name = "HOW", default_value = "none")]
    guests: GuestsChoice,
    /// Lift every quota
    #[arg(long)]
    no_quotas: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum GuestsChoice {
    None,
    Process,
}

/// Serves until it is interrupted.
pub(super) async fn run(args: Args) -> ExitCode {
    let latencies = args
        .latency
        .map_or_else(Latencies::default, |each| Latencies::all(Duration::from_millis(each)));
    let request = Duration::from_millis(args.request_latency);
    let faults = match args.faults.as_deref().map(read_faults).transpose() {
        Ok(faults) => faults.unwrap_or_default(),
        Err(error) => {
            eprintln!("hearth sandbox: the fault rules cannot be read: {error}");
            return ExitCode::FAILURE;
        }
    };
    let config = SandboxConfig {
        faults,
        listen: args.listen,
        password: config::sandbox_password(std::env::vars()).unwrap_or_else(usual_password),
        data: args.data,
        services: args.services,
        guests: (args.guests == GuestsChoice::Process).then(GuestLimits::default),
        hearth_url: Some(args.hearth_url),
        cfn_url: Some(args.cfn_url),
        latencies: Latencies { request, ..latencies },
        quotas: if args.no_quotas { Quotas::unlimited() } else { Quotas::default() },
        ..SandboxConfig::default()
    };
    let sandbox = match Sandbox::start(config) {
        Ok(sandbox) => sandbox,
        Err(error) => {
            let cause = std::error::Error::source(&error);
            let cause = cause.map(|cause| format!(": {cause}")).unwrap_or_default();
            eprintln!("hearth sandbox: {error}{cause}");
            return ExitCode::FAILURE;
        }
    };
    let signals = Signals::hear_stops();
    println!("sandbox OpenStack on {} (users demo and admin)", sandbox.auth_url);
    signals.until_told(|| {}).await;
    sandbox.stop().await;
    ExitCode::SUCCESS
}

fn read_faults(path: &Path) -> std::io::Result<Vec<FaultRule>> {
    Ok(serde_json::from_slice(&std::fs::read(path)?)?)
}
