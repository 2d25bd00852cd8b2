//! `hearth rollback`: an earlier revision of a stack becomes its newest, over the API.

use std::process::ExitCode;
use std::time::Duration;

use serde_json::{Value, json};

use super::client::{Client, ClientError, Login};
use super::data::with_causes;
use super::login::{self, LoginError};

/// How often the stack is looked at until it is through.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Take a stack back to an earlier revision, as `hearth history` numbers them
#[derive(Debug, clap::Args)]
#[command(after_help = "Signs in as OS_CLOUD of clouds.yaml or the OS_… variables say; without \
                        them, as the demo user of the embedded sandbox.")]
pub(super) struct Arguments {
    /// The stack's name or id
    stack: String,
    /// The revision to go back to
    #[arg(long, value_name = "REVISION")]
    to: u32,
    /// Only say what would be created, updated, replaced and deleted, and why
    #[arg(long)]
    plan: bool,
}

/// Why the stack could not be taken back, or was lost sight of.
#[derive(Debug, thiserror::Error)]
enum RollbackError {
    #[error(transparent)]
    Login(#[from] LoginError),
    #[error(transparent)]
    Client(#[from] ClientError),
}

/// Succeeds when the stack is complete.
pub(super) async fn run(arguments: Arguments) -> ExitCode {
    match roll_back(&arguments).await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("hearth rollback: {}", with_causes(&error));
            ExitCode::FAILURE
        }
    }
}

async fn roll_back(arguments: &Arguments) -> Result<bool, RollbackError> {
    let login = login::find()?;
    let client = Client::sign_in(&Login {
        auth_url: &login.auth_url,
        user: &login.user,
        project: &login.project,
        password: &login.password,
        domains: (&login.user_domain, &login.project_domain),
    })
    .await?;
    let shown = client.get(&format!("/stacks/{}", arguments.stack)).await?;
    let text = |name: &str| shown["stack"][name].as_str().unwrap_or_default().to_owned();
    let path = format!("/stacks/{}/{}", text("stack_name"), text("id"));
    let actions = format!("{path}/actions");

    let asked = json!({ "rollback": { "to": arguments.to, "plan": true } });
    let plan = client.post(&actions, &asked).await?;
    super::print(&table(&plan["rollback"]["resources"]));
    if arguments.plan {
        return Ok(true);
    }
    client.post(&actions, &json!({ "rollback": { "to": arguments.to } })).await?;
    loop {
        let shown = client.get(&path).await?;
        let status = shown["stack"]["stack_status"].as_str().unwrap_or_default();
        if !status.ends_with("IN_PROGRESS") {
            let reason = shown["stack"]["stack_status_reason"].as_str().unwrap_or_default();
            println!("{status}: {reason}");
            return Ok(status.ends_with("COMPLETE"));
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// One line for each resource: what becomes of it, and why.
fn table(resources: &Value) -> String {
    let resources = resources.as_array().map(Vec::as_slice).unwrap_or_default();
    let text = |resource: &Value, key: &str| resource[key].as_str().unwrap_or_default().to_owned();
    let width = |key: &str| {
        resources.iter().map(|resource| text(resource, key).chars().count()).max().unwrap_or(0)
    };
    let (names, types) = (width("resource_name"), width("resource_type"));
    let lines = resources.iter().map(|resource| {
        let line = format!(
            "{:9}  {:names$}  {:types$}  {}",
            text(resource, "change"),
            text(resource, "resource_name"),
            text(resource, "resource_type"),
            text(resource, "why"),
        );
        line.trim_end().to_owned() + "\n"
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_reads_as_a_table() {
        let plan = json!([
            { "resource_name": "a", "resource_type": "OS::Heat::Value", "change": "created",
              "why": "it is new" },
            { "resource_name": "server", "resource_type": "OS::Nova::Server",
              "change": "unchanged", "why": "" },
        ]);
        let expected = "created    a       OS::Heat::Value   it is new\n\
                        unchanged  server  OS::Nova::Server\n";
        assert_eq!(table(&plan), expected);
    }
}
