//! Deployments of the groups that this machine has a hook for, where agents have theirs: a program by
//! the group's name, which reads a deployment as JSON and prints what is answered.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::script::Ran;

/// Where hooks are.
const DIRECTORIES: [&str; 2] = ["/usr/libexec/heat-config/hooks", "/var/lib/heat-config/hooks"];

/// The script that gives a deployment to the hook of its group; `None` where there is no such hook.
pub(super) fn script(deployment: &Value) -> Option<String> {
    let hook = find(&DIRECTORIES.map(Path::new), deployment["group"].as_str()?)?;
    Some(handed_to(&hook, deployment))
}

fn find(directories: &[&Path], group: &str) -> Option<PathBuf> {
    let is_kept = |it: &char| it.is_ascii_alphanumeric() || matches!(it, '-' | '_');
    let name: String = group.chars().filter(is_kept).collect();
    directories.iter().map(|directory| directory.join(&name)).find(|hook| hook.is_file())
}

fn handed_to(hook: &Path, deployment: &Value) -> String {
    // JSON is one line here, so that nothing in it ends the document.
    format!("exec '{}' <<'DEPLOYMENT'\n{deployment}\nDEPLOYMENT\n", hook.display())
}

/// What is answered: what the hook prints, or what became of itself where that cannot be read.
pub(super) fn answered(ran: Ran) -> Ran {
    let printed: Option<Map<String, Value>> = serde_json::from_str(&ran.stdout).ok();
    let Some(printed) = printed.filter(|_| ran.status == 0) else { return ran };
    let text = |value: Value| match value {
        Value::String(text) => text,
        other => other.to_string(),
    };
    let mut answered = Ran::default();
    for (name, value) in printed {
        match name.as_str() {
            "deploy_stdout" => answered.stdout = text(value),
            "deploy_stderr" => answered.stderr = text(value),
            "deploy_status_code" => {
                let status = value.as_i64().and_then(|status| status.try_into().ok());
                answered.status = status.unwrap_or(1);
            }
            _ => {
                answered.values.insert(name, text(value));
            }
        }
    }
    answered
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use serde_json::json;

    use super::*;
    use crate::clock::{Clock, SystemClock};
    use crate::sandbox::guest_limits::GuestLimits;
    use crate::sandbox::guests::script::{self, Script};

    #[test]
    fn a_hook_reads_a_deployment_and_what_it_prints_is_answered() {
        let directory = tempfile::tempdir().unwrap();
        let hook = directory.path().join("cfn-init");
        let text = "#!/bin/sh\nread -r given\ncat <<END\n\
                    {\"deploy_stdout\": \"\", \"deploy_stderr\": \"no\", \"deploy_status_code\": 3,\n\
                    \"given\": ${given}, \"result\": \"made\"}\nEND\n";
        std::fs::write(&hook, text).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o700);
        std::fs::set_permissions(&hook, mode).unwrap();
        let directories = [Path::new("/nowhere"), directory.path()];
        assert_eq!(find(&directories, "../cfn-init").as_deref(), Some(hook.as_path()));
        assert_eq!((find(&directories, "puppet"), find(&directories, "/")), (None, None));

        let deployment = json!({ "group": "cfn-init", "config": "'a'\nDEPLOYMENT\n$HOME" });
        let text = handed_to(&hook, &deployment);
        let script = Script { text: &text, environment: &[], values: &[] };
        let mark = SystemClock.fresh_id().simple().to_string();
        let ran = script::run(&script, &GuestLimits::default(), &mark, &AtomicBool::new(false));
        let answered = answered(ran);
        assert_eq!((answered.status, answered.stderr.as_str()), (3, "no"));
        assert_eq!(answered.values["result"], "made");
        assert_eq!(answered.values["given"], deployment.to_string());
    }

    #[test]
    fn a_hook_that_fails_or_prints_something_else_has_its_own_end_answered() {
        let of = |status, stdout: &str| {
            answered(Ran { status, stdout: stdout.to_owned(), ..Ran::default() })
        };
        let broken = of(2, "{\"deploy_status_code\": 0}");
        assert_eq!((broken.status, broken.stdout.as_str()), (2, "{\"deploy_status_code\": 0}"));
        assert_eq!(of(0, "done").stdout, "done");
        assert_eq!(of(0, "{\"deploy_status_code\": \"x\"}").status, 1);
    }
}
