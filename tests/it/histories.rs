//! Logs as former versions wrote them, which every later one reads: `tests/data/histories/NAME` is
//! a log with its master key. What is sealed in it opens, and its stacks go on.
//!
//! `RECORD_HISTORY=NAME` writes one with the code as it is; it is kept for ever. `first` was made by
//! hand, with the tables and the events of the first version.

use std::collections::BTreeSet;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use futures::TryStreamExt;
use hearth::actors::software::{ChangeDeployment, CreateDeployment};
use hearth::actors::{
    Accepted, Conditions, CreateStack, Engine, EngineLimits, EngineParts, RequestContext,
    UpdateStack,
};
use hearth::clock::{Clock, SystemClock};
use hearth::events::log::{EventLog, OwnedLog, SqliteLog, audit};
use hearth::events::vault::Vault;
use hearth::model::{Caller, CommandId, RequestId, Scope, Secret, StackId, Status, taint};
use hearth::openstack::FetchBudget;
use hearth::projections::{ResourceRow, StackQuery, Views};
use hearth::resource_types::Registry;
use hearth::resource_types::software::{ConfigContent, SoftwareConfig};
use hearth::template::StackSource;
use serde_json::{Value, json};

use crate::support::wait::until;
use crate::support::world::forbids_nothing;

/// Every recorded history and the format of its file, the oldest first.
const HISTORIES: [(&str, i64); 4] =
    [("seal-1", 1), ("seal-2", 1), ("format-2", 2), ("format-3", 3)];
/// The format that is written now.
const FORMAT: i64 = 3;

/// An engine over a log, without a cloud.
struct Past {
    log: Arc<SqliteLog>,
    engine: Engine,
    views: Views,
    vault: Arc<Vault>,
}

impl Past {
    async fn open(folder: &Path) -> Self {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let log = Arc::new(SqliteLog::open(&folder.join("log.db")).unwrap());
        let vault = Vault::open_with(log.clone(), &folder.join("master.key"), clock.clone()).await;
        let vault = Arc::new(vault.unwrap());
        let views = Views::in_memory(log.clone()).await.unwrap();
        views.after(log.durable_position()).await.unwrap();
        let engine = Engine::start(EngineParts {
            log: log.clone(),
            vault: Arc::clone(&vault),
            registry: Arc::new(Registry::built_in().unwrap()),
            cloud: None,
            clock,
            limits: EngineLimits { lost_call_rest: Duration::ZERO, ..EngineLimits::default() },
            goes_on: true,
            forbidden_types: forbids_nothing(),
            on_record: Arc::new(views.clone()),
            changes: views.changes(),
        });
        Self { log, engine, views, vault }
    }

    fn who(&self) -> RequestContext {
        let caller = Caller {
            user_id: "u1".into(),
            user_name: "alice".into(),
            project_id: "p1".into(),
            project_name: "demo".into(),
            roles: vec!["member".into()],
            scope: Scope::default(),
            admin: false,
        };
        RequestContext {
            caller: Arc::new(caller),
            token: Secret::new("token".to_owned()),
            login: None,
            request_id: RequestId::from("req-1"),
            command_id: CommandId(SystemClock.fresh_id()),
            fetches: FetchBudget::default(),
            conditions: Conditions::default(),
        }
    }

    async fn settled(&self, accepted: &Accepted) -> String {
        self.views.after(accepted.position).await.unwrap();
        let id = accepted.stack;
        until(&[&self.views], "it is settled", async || {
            let stack = self.views.stack(id).await.unwrap().unwrap();
            let is_settled = stack.status != Status::InProgress;
            is_settled.then(|| format!("{}_{} {}", stack.action, stack.status, stack.reason))
        })
        .await
    }

    /// The stack that stands in no other.
    async fn web(&self) -> StackId {
        let stacks = self.views.stacks(StackQuery::default()).await.unwrap();
        stacks.iter().find(|stack| stack.name.as_str() == "web").unwrap().id
    }

    /// The outputs as its owner is shown them.
    async fn outputs(&self, id: StackId) -> Value {
        let shown = self.views.stack_shown(id).await.unwrap().unwrap();
        let scope = format!("stack-{id}");
        let open = |placed| self.vault.open(&scope, placed).unwrap();
        shown.outputs.iter().map(|it| (it.key.clone(), open(&it.placed))).collect()
    }

    async fn stop(self) {
        self.engine.shutdown();
        self.views.close().await;
        self.log.close();
    }
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/histories").join(name)
}

fn source(password: &str) -> StackSource {
    let inner = json!({
        "heat_template_version": "2021-04-16",
        "parameters": { "secret": { "type": "string", "hidden": true },
                        "shared": { "type": "string", "hidden": true } },
        "resources": { "v": { "type": "OS::Heat::TestResource", "properties": {
            "value": { "list_join": ["-", [{ "get_param": "secret" }, { "get_param": "shared" }]] } } } },
        "outputs": { "joined": { "value": { "get_attr": ["v", "output"] } } },
    });
    let template = json!({
        "heat_template_version": "2021-04-16",
        "parameters": {
            "password": { "type": "string", "hidden": true },
            "fallback": { "type": "string", "hidden": true, "default": "hidden-default" },
        },
        "resources": {
            "plain": { "type": "OS::Heat::TestResource", "properties": { "value": "plain" } },
            "whole": { "type": "OS::Heat::TestResource",
                       "metadata": { "of": { "get_param": "fallback" } },
                       "properties": { "value": { "get_param": "password" } } },
            "derived": { "type": "OS::Heat::TestResource", "properties": { "value": {
                "str_replace": { "template": "pw=PW", "params": { "PW": { "get_param": "password" } } } } } },
            "random": { "type": "OS::Heat::RandomString", "properties": { "length": 24 } },
            "config": { "type": "OS::Heat::SoftwareConfig", "properties": {
                "group": "script",
                "config": { "list_join": ["", ["echo ", { "get_param": "password" }]] } } },
            "nested": { "type": "inner.yaml", "properties": { "secret": { "get_param": "password" } } },
            "group": { "type": "OS::Heat::ResourceGroup", "properties": {
                "count": 2, "resource_def": { "type": "OS::Heat::TestResource", "properties": {
                    "value": { "get_param": "password" } } } } },
        },
        "outputs": {
            "whole": { "value": { "get_attr": ["whole", "output"] } },
            "derived": { "value": { "get_attr": ["derived", "output"] } },
            "nested": { "value": { "get_attr": ["nested", "joined"] } },
            "group": { "value": { "get_attr": ["group", "output"] } },
            "random": { "value": { "get_attr": ["random", "value"] } },
        },
    });
    StackSource {
        template,
        parameters: json!({ "password": password }).as_object().unwrap().clone(),
        environment: json!({ "parameter_defaults": { "shared": "shared-secret" } })
            .as_object()
            .unwrap()
            .clone(),
        files: [("inner.yaml".to_owned(), inner.to_string())].into(),
        ..StackSource::default()
    }
}

async fn record(folder: &Path) {
    std::fs::create_dir_all(folder).unwrap();
    let past = Past::open(folder).await;
    let ask = CreateStack {
        name: "web".into(),
        source: source("first-password"),
        settings: Default::default(),
    };
    let web = past.engine.create_stack(&past.who(), ask).await.unwrap();
    assert_eq!(past.settled(&web).await, "CREATE_COMPLETE Stack CREATE completed successfully");
    let (taken, _) =
        past.engine.take_snapshot(&past.who(), web.stack, Some("before".into())).await.unwrap();
    assert!(past.settled(&taken).await.starts_with("SNAPSHOT_COMPLETE"));
    update(&past, web.stack, "second-password").await;
    let config = SoftwareConfig {
        name: Some("script".into()),
        group: Some("script".into()),
        content: ConfigContent { config: "echo config-secret".into(), ..ConfigContent::default() },
    };
    let software = past.engine.software();
    let (config, _) = software.create(&past.who(), config).await.unwrap();
    let change = ChangeDeployment {
        config_id: Some(config.to_string()),
        action: Some("CREATE".into()),
        status: Some("COMPLETE".into()),
        status_reason: Some("done".into()),
        input_values: Some(json!({ "in": "input-secret" })),
        output_values: Some(json!({ "out": "output-secret" })),
    };
    let ask = CreateDeployment { server_id: "server".into(), stack_user_project_id: None, change };
    software.create_deployment(&past.who(), ask).await.unwrap();
    past.stop().await;
}

async fn update(past: &Past, id: StackId, password: &str) {
    let source = source(password);
    let ask = UpdateStack {
        template: Some(source.template),
        environment: source.environment,
        files: source.files,
        parameters: source.parameters,
        ..UpdateStack::default()
    };
    let updated = past.engine.update_stack(&past.who(), id, ask).await.unwrap();
    assert_eq!(past.settled(&updated).await, "UPDATE_COMPLETE Stack UPDATE completed successfully");
}

#[expect(clippy::disallowed_methods, reason = "what is recorded is said on the command line")]
#[actix::test]
async fn a_log_of_a_former_version_opens_and_its_stacks_go_on() {
    if let Ok(name) = std::env::var("RECORD_HISTORY") {
        record(&folder(&name)).await;
    }
    for (name, format) in HISTORIES {
        let copy = copy_of(name);
        holds(&copy.path().join("log.db"), format);
        let past = Past::open(copy.path()).await;
        let web = past.web().await;
        let outputs = past.outputs(web).await;
        assert_eq!(outputs["whole"], "second-password", "{name}");
        assert_eq!(outputs["derived"], "pw=second-password", "{name}");
        assert_eq!(outputs["nested"], "second-password-shared-secret", "{name}");
        assert_eq!(outputs["group"], json!(["second-password", "second-password"]), "{name}");
        let random = outputs["random"].clone();
        assert_eq!(random.as_str().unwrap().len(), 24, "{name}");

        let source = past.engine.source_of(&past.who(), web).await.unwrap();
        let password = taint::plain(source.parameters["password"].clone());
        assert_eq!(password, "second-password", "{name}");

        update(&past, web, "third-password").await;
        let outputs = past.outputs(web).await;
        assert_eq!(outputs["nested"], "third-password-shared-secret", "{name}");
        assert_eq!(outputs["random"], random, "what need not change is as it was");

        let snapshots = past.views.snapshots(web).await.unwrap();
        let snapshot = snapshots[0].id;
        let restored = past.engine.restore_snapshot(&past.who(), web, snapshot).await.unwrap();
        assert!(past.settled(&restored).await.starts_with("RESTORE_COMPLETE"), "{name}");
        assert_eq!(past.outputs(web).await["derived"], "pw=first-password", "{name}");
        past.stop().await;
        holds(&copy.path().join("log.db"), FORMAT);
    }
}

#[actix::test]
async fn the_first_log_opens_and_its_stack_goes_on() {
    let copy = copy_of("first");
    holds(&copy.path().join("log.db"), 1);
    let past = Past::open(copy.path()).await;
    let web = past.web().await;
    assert_eq!(past.outputs(web).await, json!({"whole": "second-password", "plain": "red"}));
    let source = past.engine.source_of(&past.who(), web).await.unwrap();
    assert_eq!(taint::plain(source.parameters["password"].clone()), "second-password");
    let before = past.views.resources(web).await.unwrap();
    update(&past, web, "third-password").await;
    assert_eq!(past.outputs(web).await["whole"], "third-password");
    let after = past.views.resources(web).await.unwrap();
    for name in ["plain", "whole"] {
        let id = |rows: &[ResourceRow]| {
            rows.iter().find(|row| row.name.as_str() == name).unwrap().physical_id.clone()
        };
        assert!(id(&before).is_some());
        assert_eq!(id(&before), id(&after), "{name} is updated in place");
    }
    past.stop().await;
    holds(&copy.path().join("log.db"), FORMAT);
}

/// Every version whose log is kept, by its directory.
fn versions() -> Vec<String> {
    let entries = std::fs::read_dir(folder("")).unwrap().map(|entry| entry.unwrap());
    let kept = entries.filter(|entry| entry.path().join("log.db").exists());
    let mut versions: Vec<String> =
        kept.map(|entry| entry.file_name().into_string().unwrap()).collect();
    versions.sort();
    versions
}

/// What a command prints of a log; it has to succeed.
pub(super) fn hearth(data: &Path, words: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hearth"));
    let output = command.args(words).args(["--data".as_ref(), data.as_os_str()]).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{words:?} {}: {errors}", data.display());
    String::from_utf8(output.stdout).unwrap()
}

#[actix::test]
async fn every_version_is_folded_to_what_it_ever_was() {
    let known: BTreeSet<&str> = HISTORIES.iter().map(|(name, _)| *name).chain(["first"]).collect();
    assert_eq!(known, versions().iter().map(String::as_str).collect(), "each is known");
    for version in versions() {
        let copy = copy_of(&version);
        let told = hearth(copy.path(), &["replay", "--verify"]);
        assert!(told.contains("machines and views come to the same"), "{version}: {told}");
        // The views of then are not kept; they are made, and compared as any others.
        hearth(copy.path(), &["rebuild"]);
        let told = hearth(copy.path(), &["replay", "--verify"]);
        assert!(told.contains("the views that are kept are what is made anew"), "{version}");

        let log = SqliteLog::open(&copy.path().join("log.db")).unwrap();
        let mut stacks = log.streams("stack", "", 100).unwrap();
        log.close();
        stacks.sort();
        let stacks = stacks.iter().map(|stream| stream.as_str().trim_start_matches("stack-"));
        let state = |id: &str| -> Value {
            serde_json::from_str(&hearth(copy.path(), &["replay", id, "--json"])).unwrap()
        };
        let folded: Vec<Value> = stacks.map(state).collect();
        let golden = folder(&version).join("stacks.json");
        let text = format!("{:#}\n", Value::Array(folded));
        if golden_is_written() {
            std::fs::write(&golden, &text).unwrap();
        }
        let kept = std::fs::read_to_string(&golden).unwrap();
        assert_eq!(text, kept, "{version} comes to something else than ever before");
    }
}

/// The history of the outermost stack of a version, as it is exported.
pub(super) async fn bundle_of(version: &str) -> String {
    let copy = copy_of(version);
    let log = Arc::new(SqliteLog::open(&copy.path().join("log.db")).unwrap());
    let views = Views::in_memory(log.clone()).await.unwrap();
    views.after(log.durable_position()).await.unwrap();
    let stacks = views.stacks(StackQuery::default()).await.unwrap();
    let web = stacks.iter().find(|stack| stack.name.as_str() == "web").unwrap().id;
    let lines: Vec<String> = hearth::actors::bundle(log.clone(), web).try_collect().await.unwrap();
    views.close().await;
    log.close();
    lines.concat()
}

fn golden_is_written() -> bool {
    std::env::var_os("UPDATE_GOLDEN").is_some()
}

/// A history to work on.
fn copy_of(name: &str) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    for file in std::fs::read_dir(folder(name)).unwrap() {
        let file = file.unwrap();
        let to = copy.path().join(file.file_name());
        std::fs::copy(file.path(), &to).unwrap();
        // As a server demands of its master key; a repository keeps no modes.
        std::fs::set_permissions(&to, Permissions::from_mode(0o600)).unwrap();
    }
    copy
}

/// The file is of that format, verifies, and so does a backup of it, which is of the same.
fn holds(log: &Path, format: i64) {
    let home = tempfile::tempdir().unwrap();
    let saved = home.path().join("log.db");
    hearth::events::log::copy(log, &saved).unwrap();
    for path in [log, &saved] {
        let file = rusqlite::Connection::open(path).unwrap();
        let found: i64 = file.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
        assert_eq!(found, format, "{}", path.display());
        drop(file);
        let found = audit(path, None, &[]).unwrap();
        assert_eq!(found.problems, Vec::<String>::new(), "{}", path.display());
        assert!(found.end.events > 0);
    }
}
