//! `hearth policy`: the rules in force, and why one lets a caller pass or does not.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, Subcommand};

use super::data::with_causes;
use super::print;
use crate::clock::SystemClock;
use crate::config::{Flags, PolicyOptions, Settings};
use crate::model::{Caller, Scope};
use crate::policy::{Policy, PolicyPaths, PolicySettings, RemoteSettings, Strictness};

/// Show the rules in force, or why one lets a caller pass
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Print every rule in force: name, text and origin, parted by tabs
    Show {
        /// An INI file with Heat's option names, as `hearth serve` takes it
        #[arg(long, value_name = "FILE")]
        config_file: Option<PathBuf>,
    },
    /// Say whether a rule lets a caller pass, and which checks decided
    Check(CheckArguments),
}

#[derive(Debug, Args)]
struct CheckArguments {
    /// The name of the rule, such as stacks:create or resource_types:OS::Nova::Flavor
    rule: String,
    /// A role of the token's, as Keystone gives it: implied roles are named too
    #[arg(long = "role", value_name = "ROLE")]
    roles: Vec<String>,
    /// The project that the token is for
    #[arg(long, value_name = "ID", default_value = "project", conflicts_with_all = ["system", "domain"])]
    project: String,
    /// The token is for the system
    #[arg(long, conflicts_with = "domain")]
    system: bool,
    /// The domain that the token is for
    #[arg(long, value_name = "ID")]
    domain: Option<String>,
    /// The user
    #[arg(long, value_name = "ID", default_value = "user")]
    user: String,
    /// An INI file with Heat's option names, as `hearth serve` takes it
    #[arg(long, value_name = "FILE")]
    config_file: Option<PathBuf>,
}

/// Prints what is asked for. `check` exits with 1 where the rule refuses.
pub(super) async fn run(arguments: Arguments) -> ExitCode {
    match arguments.what {
        What::Show { config_file } => match load(config_file) {
            Ok(policy) => {
                for rule in policy.show() {
                    print(&format!("{}\t{}\t{}\n", rule.name, rule.text, rule.origin));
                }
                ExitCode::SUCCESS
            }
            Err(reason) => failed(&reason),
        },
        What::Check(asked) => match load(asked.config_file.clone()) {
            Ok(policy) => check(&policy, &asked).await,
            Err(reason) => failed(&reason),
        },
    }
}

async fn check(policy: &Policy, asked: &CheckArguments) -> ExitCode {
    let mut caller = asked.caller();
    caller.admin = policy.is_admin(&caller).await;
    let (allowed, reasons) = policy.explain(&caller, &asked.rule).await;
    print(if allowed { "allowed\n" } else { "refused\n" });
    for reason in reasons {
        let says = if reason.holds { "yes" } else { "no" };
        print(&format!("{:indent$}{says:<4}{}\n", "", reason.check, indent = 2 + 2 * reason.depth));
    }
    if allowed { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

impl CheckArguments {
    fn caller(&self) -> Caller {
        let has_project = !self.system && self.domain.is_none();
        let project = if has_project { self.project.as_str() } else { "" };
        Caller {
            user_id: self.user.clone(),
            user_name: self.user.clone(),
            project_id: project.into(),
            project_name: project.to_owned(),
            roles: self.roles.clone(),
            scope: Scope {
                domain_id: self.domain.clone(),
                is_system: self.system,
                ..Scope::default()
            },
            admin: false,
        }
    }
}

fn failed(reason: &str) -> ExitCode {
    eprintln!("hearth policy: {reason}");
    ExitCode::from(2)
}

fn load(config_file: Option<PathBuf>) -> Result<Policy, String> {
    let flags = Flags { config_file, ..Flags::default() };
    let settings = Settings::load(&flags, std::env::vars()).map_err(|error| with_causes(&error))?;
    Policy::load(settings_of(&settings.policy), Arc::new(SystemClock))
        .map_err(|error| with_causes(&error))
}

/// What an operator has set, as the policy takes it.
pub(super) fn settings_of(options: &PolicyOptions) -> PolicySettings {
    PolicySettings {
        paths: PolicyPaths {
            file: options.file.clone(),
            is_named: options.file_is_named,
            directories: options.directories.clone(),
        },
        strictness: Strictness {
            enforce_scope: options.enforce_scope,
            enforce_new_defaults: options.enforce_new_defaults,
        },
        remote: RemoteSettings {
            timeout: options.remote_timeout,
            sends_json: options.remote_json,
            verify: options.remote_verify,
            ca_file: options.remote_ca_file.clone(),
            client_cert: options.remote_client_cert.clone(),
        },
    }
}
