//! The story of one stack: what was asked of it, how that may have ended, and how it did.

use hearth::sandbox::RunningSandbox;
use reqwest::Method;
use serde_json::{Value, json};

use super::client::{Api, Reply};
use super::cloud::{self, CloudSeen};
use super::version::Version;
use crate::support::chance::Chance;

/// Where a stack can come to rest.
#[derive(Clone, Debug, PartialEq)]
enum End {
    /// There is none of that name.
    Absent,
    /// All that the version asks for is there.
    Stands(&'static str, Version),
    /// A create was rolled back: the stack is there, and nothing of it.
    Emptied,
    /// Stopped in the middle of bringing the stack to the version.
    Broken(&'static str, Version),
}

/// See the module.
pub(super) struct Story {
    name: String,
    id: Option<String>,
    /// Whether the log beneath the server may be away: what is refused then may be on record.
    log_fails: bool,
    /// More than one while it is not known whether a command was taken.
    ends: Vec<End>,
    /// For the message when something is wrong.
    told: Vec<String>,
}

impl Story {
    pub(super) fn new(name: String, log_fails: bool) -> Self {
        Self { name, id: None, log_fails, ends: vec![End::Absent], told: Vec::new() }
    }

    /// Whether the stack may still have objects that its resources no longer name.
    pub(super) fn may_keep_replaced(&self) -> bool {
        self.ends.iter().any(|end| matches!(end, End::Broken("UPDATE_FAILED", _)))
    }

    /// Asks for something that fits, and sometimes for something else right afterwards.
    pub(super) async fn ask(mut self, api: Api, mut chance: Chance) -> Self {
        tokio::time::sleep(chance.millis(0..250)).await;
        let [start] = self.ends.as_slice() else { panic!("{}: the start is not known", self.name) };
        let start = start.clone();
        let first = self.ask_once(&api, &mut chance, &start).await;
        if first && self.id.is_some() && chance.one_in(3) {
            tokio::time::sleep(chance.millis(0..250)).await;
            self.ask_more(&api, &mut chance, &start).await;
        }
        self
    }

    /// One command on a stack at rest; whether it was acknowledged.
    async fn ask_once(&mut self, api: &Api, chance: &mut Chance, start: &End) -> bool {
        match start {
            End::Absent => {
                let version = Version::first(chance);
                self.create(api, version, chance.one_in(3)).await
            }
            End::Stands(_, version) if !chance.one_in(4) => {
                let next = version.next(chance);
                self.update(api, version, next, chance.one_in(4)).await
            }
            End::Broken(_, version) if !chance.one_in(3) => {
                let next = Version { fails: false, ..version.next(chance) };
                self.update(api, version, next, true).await
            }
            End::Stands(..) | End::Broken(..) | End::Emptied => self.delete(api).await,
        }
    }

    /// A second command, while the first is at work.
    async fn ask_more(&mut self, api: &Api, chance: &mut Chance, start: &End) {
        if self.ends == [End::Absent] || chance.one_in(3) {
            self.delete(api).await;
            return;
        }
        let version = match (self.ends.last(), start) {
            (Some(End::Stands(_, version) | End::Broken(_, version)), _)
            | (_, End::Stands(_, version) | End::Broken(_, version)) => version.clone(),
            _ => Version::first(chance),
        };
        // The first command may have replaced a subnet that this version would go back to.
        let next = Version { fails: false, cidr: chance.below(1 << 16), ..version.next(chance) };
        self.update(api, &version, next, true).await;
    }

    async fn create(&mut self, api: &Api, version: Version, keep_failed: bool) -> bool {
        let body = json!({
            "stack_name": self.name,
            "template": version.template(),
            "disable_rollback": keep_failed,
            "timeout_mins": 5,
        });
        let reply = api.command(Method::POST, "/stacks", &body).await;
        if let Reply::Accepted(body) = &reply {
            self.id = Some(body["stack"]["id"].as_str().unwrap().to_owned());
        }
        let end = match (version.fails, keep_failed) {
            (false, _) => End::Stands("CREATE_COMPLETE", version.clone()),
            (true, false) => End::Emptied,
            (true, true) => End::Broken("CREATE_FAILED", version.clone()),
        };
        self.took(format!("create {version:?}"), reply, end)
    }

    async fn update(&mut self, api: &Api, from: &Version, to: Version, keep_failed: bool) -> bool {
        let body = json!({
            "template": to.template(),
            "disable_rollback": keep_failed,
            "timeout_mins": 5,
        });
        let reply = api.command(Method::PUT, &self.path(), &body).await;
        let end = match (to.fails, keep_failed) {
            (false, _) => End::Stands("UPDATE_COMPLETE", to.clone()),
            (true, false) => End::Stands("ROLLBACK_COMPLETE", from.clone()),
            (true, true) => End::Broken("UPDATE_FAILED", to.clone()),
        };
        self.took(format!("update {to:?}"), reply, end)
    }

    async fn delete(&mut self, api: &Api) -> bool {
        let reply = api.command(Method::DELETE, &self.path(), &Value::Null).await;
        self.took("delete".to_owned(), reply, End::Absent)
    }

    /// Notes what a command may lead to; whether it was acknowledged.
    fn took(&mut self, asked: String, reply: Reply, end: End) -> bool {
        let reply = match reply {
            Reply::Refused(503, _) if self.log_fails => Reply::Unknown,
            reply => reply,
        };
        let accepted = match &reply {
            Reply::Accepted(_) => {
                self.ends = vec![end];
                true
            }
            Reply::Unknown => {
                self.ends.push(end);
                false
            }
            // Another action of the stack is at work.
            Reply::Refused(409, _) => false,
            // A delete before this was quick.
            Reply::Refused(404, _) if self.ends.contains(&End::Absent) => false,
            Reply::Refused(status, text) => {
                panic!("{}: {asked}: {status} {text}; {:#?}", self.name, self.told)
            }
        };
        self.told.push(match reply {
            Reply::Accepted(_) => asked,
            Reply::Unknown => format!("{asked}: no answer"),
            Reply::Refused(status, _) => format!("{asked}: refused with {status}"),
        });
        accepted
    }

    fn path(&self) -> String {
        format!("/stacks/{}/{}", self.name, self.id.as_deref().unwrap())
    }

    /// The stack has come to rest where it may, and the cloud has what that end asks for. Notes
    /// the cloud's objects that belong to it.
    pub(super) async fn check(&mut self, api: &Api, sandbox: &RunningSandbox, ids: &mut CloudSeen) {
        let by_name = format!("/stacks/{}", self.name);
        let shown = api.get(&by_name).await.map(|body| body["stack"].clone());
        let end = self.end_shown(shown.as_ref());
        self.told.push(format!("came to rest: {end:?}"));
        let Some(shown) = shown else {
            self.id = None;
            self.ends = vec![End::Absent];
            return;
        };
        self.id = Some(shown["id"].as_str().unwrap().to_owned());
        let resources = api.get(&format!("{}/resources", self.path())).await.unwrap();
        let resources = resources["resources"].as_array().unwrap();
        for resource in resources {
            let id = resource["physical_resource_id"].as_str().unwrap_or_default();
            // What an update that failed has deleted is listed until the next one.
            if !id.is_empty() && resource["resource_status"] != "DELETE_COMPLETE" {
                ids.add(resource["resource_type"].as_str().unwrap(), id);
            }
        }
        match &end {
            End::Absent => {}
            End::Emptied => assert!(resources.is_empty(), "{}: {resources:?}", self.name),
            End::Stands(_, version) => self.assert_stands(version, resources, &sandbox.state()),
            End::Broken(..) => {}
        }
        self.ends = vec![end];
    }

    /// Which of the possible ends the stack shows.
    fn end_shown(&self, shown: Option<&Value>) -> End {
        let fits = |end: &&End| match (end, shown) {
            (End::Absent, shown) => shown.is_none(),
            (_, None) => false,
            (End::Emptied, Some(shown)) => shown["stack_status"] == "ROLLBACK_COMPLETE",
            (End::Stands(status, version) | End::Broken(status, version), Some(shown)) => {
                shown["stack_status"] == *status && shown["description"] == version.description()
            }
        };
        let found = self.ends.iter().rev().find(fits);
        found.cloned().unwrap_or_else(|| {
            panic!("{} shows {shown:#?}; its story: {:#?}", self.name, self.told)
        })
    }

    fn assert_stands(&self, version: &Version, resources: &[Value], state: &Value) {
        let mut names: Vec<&str> =
            resources.iter().map(|resource| resource["resource_name"].as_str().unwrap()).collect();
        names.sort_unstable();
        let mut expected = version.names();
        expected.sort_unstable();
        assert_eq!(names, expected, "{}: {:#?}", self.name, self.told);
        for resource in resources {
            let status = resource["resource_status"].as_str().unwrap();
            assert!(status.ends_with("COMPLETE"), "{}: {resource}", self.name);
        }
        let found = |kind: &str, name: &str| {
            let resource =
                resources.iter().find(|resource| resource["resource_name"] == name).unwrap();
            cloud::row(state, kind, resource["physical_resource_id"].as_str().unwrap()).clone()
        };
        let told = || format!("{}: {:#?}", self.name, self.told);
        assert_eq!(found("networks", "net")["admin_state_up"], version.up, "{}", told());
        let subnet = found("subnets", "subnet");
        assert_eq!(subnet["cidr"], version.cidr_text(), "{}", told());
        let group = found("security_groups", "group");
        assert_eq!(group["description"], version.purpose_text(), "{}", told());
        let volume = found("volumes", "volume");
        assert_eq!(volume["description"], version.content_text(), "{}", told());
        let server = found("servers", "server");
        assert_eq!(server["metadata"]["note"], version.note_text(), "{}", told());
        let port = found("ports", "port");
        assert_eq!(port["device_id"], server["id"], "{}", told());
        assert_eq!(port["fixed_ips"][0]["subnet_id"], subnet["id"], "{}", told());
    }

    /// Deletes what there is.
    pub(super) async fn end(&mut self, api: &Api) {
        if self.id.is_some() && !self.delete(api).await {
            panic!("{} cannot be deleted: {:#?}", self.name, self.told);
        }
    }
}
