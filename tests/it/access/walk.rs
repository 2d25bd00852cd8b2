//! Every route that the server has × every kind of token, against `tests/data/access.yaml`.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::{Value, json};

use super::people::{Person, all};
use crate::api::app::App;

/// What only those who are let in may read.
const MARKER: &str = "walked-past-the-door";

#[derive(Deserialize)]
struct Table {
    /// What the server answers to those whom no route lets in, by kind.
    refused: BTreeMap<String, u16>,
    /// Kinds that are let in together.
    groups: BTreeMap<String, BTreeSet<String>>,
    routes: Vec<Row>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    /// Verb and path, as the server registers them.
    route: String,
    /// A group of `groups`.
    lets_in: String,
    /// What somebody of another project gets who comes by his own project's URL.
    at_home: u16,
    /// Names with a meaning of their own, in the place of the path's.
    #[serde(default)]
    with: BTreeMap<String, String>,
}

/// What there is to be reached.
struct Ground {
    app: App,
    names: BTreeMap<&'static str, String>,
    people: Vec<Person>,
}

impl Ground {
    async fn make() -> Self {
        let app = App::start().await;
        let template = json!({
            "heat_template_version": "2018-08-31",
            "description": MARKER,
            "resources": {
                "handle": { "type": "OS::Heat::WaitConditionHandle" },
                "other": { "type": "OS::Heat::WaitConditionHandle" },
            },
            "outputs": { "one": { "value": MARKER } },
        });
        let stack = app.create("web", template).await;
        let id = stack["id"].as_str().unwrap().to_owned();
        let below = format!("/stacks/web/{id}");
        let mut tokens = Vec::new();
        for resource in ["handle", "other"] {
            let shown = app.get(&format!("{below}/resources/{resource}")).await.json();
            let token = &shown["resource"]["attributes"]["token"];
            tokens.push(token.as_str().unwrap_or_else(|| panic!("{shown}")).to_owned());
        }
        let events = app.get(&format!("{below}/resources/handle/events")).await.json();
        let config = json!({ "name": MARKER, "config": MARKER, "group": "script" });
        let config = app.ask("POST", "/software_configs", Some(config)).await.json();
        let config = text(&config["software_config"]["id"]);
        let deployment = json!({ "config_id": config, "server_id": "s1" });
        let deployment = app.ask("POST", "/software_deployments", Some(deployment)).await.json();
        let taken = app.ask("POST", &format!("{below}/snapshots"), Some(json!({}))).await.json();
        let webhook = json!({ "url": "https://hooks.example/", "caller": MARKER });
        let webhook = app.ask("POST", "/webhooks", Some(webhook)).await.json();
        let names = BTreeMap::from([
            ("webhook", text(&webhook["webhook"]["id"])),
            ("name", "web".to_owned()),
            ("id", id.clone()),
            ("resource", "handle".to_owned()),
            ("event", text(&events["events"][0]["id"])),
            ("output", "one".to_owned()),
            ("snapshot", text(&taken["id"])),
            ("config", config),
            ("deployment", text(&deployment["software_deployment"]["id"])),
            ("server", "s1".to_owned()),
            ("type", "OS::Heat::Value".to_owned()),
            ("version", "heat_template_version.2018-08-31".to_owned()),
            ("arn", format!("arn:openstack:heat::{}:stacks/web/{id}", app.project)),
        ]);
        let users = text(&stack["stack_user_project_id"]);
        let tokens: [String; 2] = tokens.try_into().unwrap();
        let people = all(&app, tokens, &users).await;
        Self { app, names, people }
    }

    /// A route's path for somebody. Whoever is let in to change something finds nothing to change.
    fn path(&self, row: &Row, pattern: &str, person: &Person, is_ghost: bool) -> String {
        let mut path = String::from("/v1");
        for segment in pattern.split('/').skip(1) {
            let name = segment.strip_prefix('{').map(|it| it.trim_end_matches('}'));
            let name = name.map(|it| it.split(':').next().unwrap());
            let filled = match name {
                None => segment,
                Some("project") => &person.project,
                Some("id" | "snapshot" | "config" | "deployment" | "webhook") if is_ghost => {
                    "00000000-0000-4000-8000-000000000000"
                }
                Some("name") if is_ghost && !row.with.contains_key("name") => "ghost",
                Some(name) => row.with.get(name).unwrap_or_else(|| &self.names[name]),
            };
            path.push('/');
            path.push_str(filled);
        }
        path
    }

    /// The status, and the text unless it is a feed, which has no end.
    async fn ask(&self, verb: &str, path: &str, person: &Person) -> (u16, String) {
        let url = format!("{}{path}", self.app.url);
        let mut request = self.app.client.request(verb.parse().unwrap(), url);
        if let Some(token) = &person.token {
            request = request.header("x-auth-token", token);
        }
        if verb != "GET" && verb != "DELETE" {
            request = request.json(&body_for(path));
        }
        let answer = request.send().await.unwrap();
        let status = answer.status().as_u16();
        let is_feed = status == 200 && path.ends_with("/feed");
        let text = if is_feed { String::new() } else { answer.text().await.unwrap() };
        (status, text)
    }
}

/// An action has to be named to be judged.
fn body_for(path: &str) -> Value {
    let is_named = ["/actions", "/plan"].iter().any(|end| path.ends_with(end));
    match is_named && !path.ends_with("/stacks/plan") {
        true => json!({ "suspend": null }),
        false => json!({}),
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}")).to_owned()
}

fn table() -> Table {
    serde_yaml::from_str(include_str!("../../data/access.yaml")).unwrap()
}

#[test]
fn no_route_is_without_a_row_that_says_whom_it_lets_in() {
    let rows: BTreeSet<String> = table().routes.into_iter().map(|row| row.route).collect();
    let routes = hearth::api::routes();
    let routes: BTreeSet<String> =
        routes.into_iter().map(|(verb, path)| format!("{verb} {path}")).collect();
    let missing: Vec<&String> = routes.difference(&rows).collect();
    assert!(missing.is_empty(), "not in tests/data/access.yaml: {missing:#?}");
    let gone: Vec<&String> = rows.difference(&routes).collect();
    assert!(gone.is_empty(), "only in tests/data/access.yaml: {gone:#?}");
}

#[actix::test]
async fn nobody_passes_a_door_that_is_not_his_whatever_his_token() {
    let table = table();
    let ground = Ground::make().await;
    let mut wrong = Vec::new();
    for row in &table.routes {
        let (verb, pattern) = row.route.split_once(' ').unwrap();
        let lets_in = &table.groups[&row.lets_in];
        for person in &ground.people {
            let is_in = lets_in.contains(person.kind);
            let path = ground.path(row, pattern, person, is_in && verb != "GET");
            let (status, text) = ground.ask(verb, &path, person).await;
            let is_right = match table.refused.get(person.kind) {
                _ if person.kind == "other project at home" => status == row.at_home,
                _ if is_in => status != 401 && status != 403 && status < 500,
                Some(refused) => status == *refused,
                None => status == 403,
            };
            if !is_right || (!is_in && text.contains(MARKER)) {
                wrong.push(format!("{} for {}: {status} {text}", row.route, person.kind));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of the table do not hold:\n{}", wrong.len(), wrong.join("\n"));
    ground.app.stop().await;
}
