//! Plugin directories are read again while it serves.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::process::Served;

use crate::support::wait::{WAIT_MAX, polled};

fn write(directory: &Path, file: &str, name: &str, property: &str) {
    let text = format!(
        "type: Example::{name}\nclass: {name}\nproperties:\n  {property}: {{ type: string }}\n"
    );
    fs::write(directory.join(file), text).unwrap();
}

/// A client with a token of the sandbox's.
struct Client {
    http: reqwest::Client,
    root: String,
    token: String,
}

impl Client {
    async fn of(served: &Served) -> Self {
        let http = reqwest::Client::new();
        let body = json!({"auth": {
            "identity": {"methods": ["password"], "password": {"user": {
                "name": "demo", "password": "secret", "domain": {"id": "default"}}}},
            "scope": {"project": {"name": "demo", "domain": {"id": "default"}}}}});
        let url = format!("{}/auth/tokens", served.told("sandbox cloud"));
        let answer = http.post(url).json(&body).send().await.unwrap();
        let token = answer.headers()["x-subject-token"].to_str().unwrap().to_owned();
        let answer: Value = answer.json().await.unwrap();
        let project = answer["token"]["project"]["id"].as_str().unwrap();
        Self { http, root: format!("{}/{project}", served.told("orchestration API")), token }
    }

    /// The properties of a type; `None` where there is no such type.
    async fn properties(&self, name: &str) -> Option<Vec<String>> {
        let url = format!("{}/resource_types/Example::{name}", self.root);
        let answer = self.http.get(url).header("X-Auth-Token", &self.token).send().await.unwrap();
        if answer.status() != 200 {
            return None;
        }
        let schema: Value = answer.json().await.unwrap();
        Some(schema["properties"].as_object()?.keys().cloned().collect())
    }

    /// Waits until a type has a property.
    async fn until(&self, name: &str, property: &str) {
        let has = async || match self.properties(name).await {
            Some(all) if all == [property] => Ok(()),
            other => Err(format!("{other:?}")),
        };
        polled(WAIT_MAX, format!("{name} has {property}"), has).await;
    }
}

#[actix::test]
async fn types_come_and_change_at_a_signal_and_stay_where_their_file_is_broken_or_gone() {
    let home = tempfile::tempdir().unwrap();
    let types = home.path().join("types");
    fs::create_dir(&types).unwrap();
    let config = home.path().join("heat.conf");
    fs::write(&config, format!("[DEFAULT]\nplugin_dirs = {}\n", types.display())).unwrap();
    for (file, name) in [("a.yaml", "Changed"), ("b.yaml", "Broken"), ("c.yaml", "Gone")] {
        write(&types, file, name, "first");
    }
    let config = config.to_str().unwrap();
    let served = Served::start(&home.path().join("data"), &["--config-file", config], &[]);
    let client = Client::of(&served).await;
    client.until("Changed", "first").await;
    assert_eq!(client.properties("New").await, None);

    write(&types, "a.yaml", "Changed", "second");
    fs::write(types.join("b.yaml"), "type: Example::Broken\nclass: Broken\n\ncreat: {}\n").unwrap();
    fs::remove_file(types.join("c.yaml")).unwrap();
    write(&types, "d.yaml", "New", "first");
    served.signal("HUP");
    client.until("New", "first").await;
    client.until("Changed", "second").await;
    client.until("Broken", "first").await;
    client.until("Gone", "first").await;

    write(&types, "b.yaml", "Broken", "mended");
    served.signal("HUP");
    client.until("Broken", "mended").await;
    let log = served.stop();
    let line = log.lines().find(|line| line.contains("b.yaml:4:1")).expect(&log);
    assert!(line.contains("unknown key `creat`, did you mean `create`?"), "{line}");
    assert!(log.contains("the resource type stays until a restart"), "{log}");
}
