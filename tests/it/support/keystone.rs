//! The cloud's users, whom the sandbox does not show with what else it holds.

use serde_json::{Value, json};

use super::world::Ground;

/// The names of the users of a stack's resources, as an administrator sees them. No fault meets
/// anybody from here on.
pub(crate) async fn users_of(ground: &Ground, stack: &str) -> Vec<String> {
    ground.sandbox.set_faults(Vec::new()).unwrap();
    let (http, auth_url) = (reqwest::Client::new(), &ground.sandbox.auth_url);
    let login = json!({ "auth": {
        "identity": { "methods": ["password"], "password": { "user": {
            "name": "admin", "domain": { "name": "Default" }, "password": "secret" } } },
        "scope": { "project": { "name": "admin", "domain": { "name": "Default" } } },
    } });
    let granted = http.post(format!("{auth_url}/auth/tokens")).json(&login).send().await.unwrap();
    let token = granted.headers()["x-subject-token"].to_str().unwrap().to_owned();
    let asked = http.get(format!("{auth_url}/users")).header("x-auth-token", token);
    let listed: Value = asked.send().await.unwrap().json().await.unwrap();
    let names =
        listed["users"].as_array().unwrap().iter().map(|user| user["name"].as_str().unwrap());
    names.filter(|name| name.starts_with(&format!("{stack}-"))).map(str::to_owned).collect()
}
