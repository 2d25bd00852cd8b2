//! What agents cost that ask for the metadata of their servers: the processor time of a server
//! whose cloud is a process of its own, while they ask at the pace of their number.

use std::time::{Duration, Instant};

use futures::future::{try_join, try_join_all};
use serde_json::{Value, json};
use url::Url;

use super::figure::Figure;
use super::server::Server;
use super::signing::Key;
use super::{BenchError, Scale, stack};
use crate::cli::client::Client;
use crate::clock::{Clock, SystemClock};

const AGENTS: usize = 1_000;
const EACH_ASKS_EVERY: Duration = Duration::from_secs(10);
/// The servers of a stack.
const SERVERS_EACH: usize = 10;
/// What all of them may take of a core.
const MOST_PERCENT: f64 = 5.0;
/// Keystone's word on a token or on a signature is kept for `token_cache_time`, 300 seconds: of so
/// many rounds of the agents one asks for it.
const ROUNDS_KEPT: f64 = 30.0;

/// Has agents ask by each way that they have. Each of them connects anew each time, as those do.
pub(super) async fn run(scale: Scale, server: &Server) -> Result<Vec<Figure>, BenchError> {
    let agents = if scale == Scale::Quick { AGENTS / 20 } else { AGENTS };
    let client = server.client().await?;
    let by_heat = told(&client, "heat", agents).await?;
    let by_cfn = told(&client, "cfn", agents).await?;
    let http = reqwest::Client::builder().pool_max_idle_per_host(0).build().unwrap_or_default();

    let signed_in = share(server, agents, async |number| {
        let session = Session::sign_in(&http, &by_heat[number]).await?;
        session.ask(&http, &by_heat[number]).await?;
        Ok(session)
    });
    let (anew, sessions) = signed_in.await?;
    let ask = async |number: usize| sessions[number].ask(&http, &by_heat[number]).await;
    let (again, _) = share(server, agents, &ask).await?;

    let ask = async |number: usize| ask_cfn(&http, &by_cfn[number], 2).await;
    let (first, _) = share(server, agents, &ask).await?;
    let (second, _) = share(server, agents, &ask).await?;
    let ask = async |number: usize| ask_cfn(&http, &by_cfn[number], 4).await;
    let (fourth, _) = share(server, agents, &ask).await?;

    let kept = |asks: f64, again: f64| (asks + again * (ROUNDS_KEPT - 1.0)) / ROUNDS_KEPT;
    let figure = |way: &str, percent: f64| {
        Figure::share(format!("{AGENTS} agents every 10 s, {way}"), percent, MOST_PERCENT)
    };
    Ok(vec![
        figure("heat", kept(anew, again)),
        figure("heat, a token each", anew),
        figure("cfn", kept(first, second)),
        figure("cfn, signed anew", fourth),
    ])
}

/// What the agents of so many servers are told of a way to ask.
async fn told(client: &Client, way: &str, agents: usize) -> Result<Vec<Value>, BenchError> {
    let mut all = Vec::with_capacity(agents);
    let template = servers(way);
    for number in 0..agents / SERVERS_EACH {
        let name = format!("agents-{way}-{number}");
        stack::create(client, &name, &template).await?;
        let path = &stack::find(client, &name).await?;
        let read = (0..SERVERS_EACH).map(|server| async move {
            client.get(&format!("{path}/resources/server{server}/metadata")).await
        });
        let read = try_join_all(read).await?;
        all.extend(read.into_iter().map(|mut it| it["metadata"]["os-collect-config"][way].take()));
    }
    // No two that ask one after the other are of one stack.
    all.sort_by_key(|told| told["resource_name"].to_string() + &told["path"].to_string());
    Ok(all)
}

/// Servers whose agents ask by a way, with something deployed to each.
fn servers(way: &str) -> Value {
    let config = json!({ "group": "script", "config": "#!/bin/sh\necho hello\n",
                         "inputs": [{ "name": "who" }], "outputs": [{ "name": "said" }] });
    let mut resources = serde_json::Map::new();
    resources.insert(
        "config".to_owned(),
        json!({ "type": "OS::Heat::SoftwareConfig", "properties": config }),
    );
    for number in 0..SERVERS_EACH {
        let server = format!("server{number}");
        let transport = format!("POLL_SERVER_{}", way.to_uppercase());
        let deployment = json!({
            "config": { "get_resource": "config" }, "server": { "get_resource": server },
            "input_values": { "who": "world" }, "signal_transport": "NO_SIGNAL" });
        resources.insert(
            format!("deployment{number}"),
            json!({ "type": "OS::Heat::SoftwareDeployment", "properties": deployment }),
        );
        resources.insert(
            server,
            json!({ "type": "OS::Heat::DeployedServer",
                    "properties": { "software_config_transport": transport } }),
        );
    }
    json!({ "heat_template_version": "2018-08-31", "resources": resources })
}

/// The percentage of a core that the server takes while each agent asks once, spread over the time
/// in which each does.
async fn share<T>(
    server: &Server,
    agents: usize,
    ask: impl AsyncFn(usize) -> Result<T, BenchError>,
) -> Result<(f64, Vec<T>), BenchError> {
    let window = EACH_ASKS_EVERY.mul_f64(agents as f64 / AGENTS as f64);
    let (before, began) = (server.cpu_time()?, Instant::now());
    let ask = &ask;
    let asked = (0..agents).map(|number| async move {
        tokio::time::sleep(window.mul_f64(number as f64 / agents as f64)).await;
        ask(number).await
    });
    let rest = async {
        tokio::time::sleep(window).await;
        Ok(())
    };
    let (found, ()) = try_join(try_join_all(asked), rest).await?;
    let used = server.cpu_time()? - before;
    Ok((100.0 * used.as_secs_f64() / began.elapsed().as_secs_f64(), found))
}

/// A stack's user whom Keystone has let in.
struct Session {
    token: String,
    endpoint: String,
}

impl Session {
    async fn sign_in(http: &reqwest::Client, told: &Value) -> Result<Session, BenchError> {
        let user = json!({ "id": told["user_id"], "password": told["password"] });
        let body = json!({ "auth": {
            "identity": { "methods": ["password"], "password": { "user": user } },
            "scope": { "project": { "id": told["project_id"] } } } });
        let url = format!("{}/auth/tokens", text(told, "auth_url")?.trim_end_matches('/'));
        let reply = answered(http.post(url).json(&body)).await?;
        let token = reply.headers().get("x-subject-token").and_then(|it| it.to_str().ok());
        let token = token.ok_or_else(|| unexpected("no token"))?.to_owned();
        let shown: Value = reply.json().await.map_err(lost)?;
        let services = shown["token"]["catalog"].as_array().into_iter().flatten();
        let mut heat = services.filter(|service| service["type"] == "orchestration");
        let endpoint = heat.next().and_then(|service| service["endpoints"][0]["url"].as_str());
        let endpoint = endpoint.ok_or_else(|| unexpected("no endpoint"))?.to_owned();
        Ok(Session { token, endpoint })
    }

    /// Asks as the collector `heat` of os-collect-config does.
    async fn ask(&self, http: &reqwest::Client, told: &Value) -> Result<(), BenchError> {
        let (stack, name) = (text(told, "stack_id")?, text(told, "resource_name")?);
        let url = format!("{}/stacks/{stack}/resources/{name}/metadata", self.endpoint);
        let reply = answered(http.get(url).header("x-auth-token", &self.token)).await?;
        let shown: Value = reply.json().await.map_err(lost)?;
        tells_deployment(&shown["metadata"])
    }
}

/// Asks as the collector `cfn` of os-collect-config does, or by version 4 as boto does.
async fn ask_cfn(http: &reqwest::Client, told: &Value, version: u8) -> Result<(), BenchError> {
    let key =
        Key { access: text(told, "access_key_id")?, secret: text(told, "secret_access_key")? };
    let at: Url = text(told, "metadata_url")?.parse().map_err(|_| unexpected("no address"))?;
    let name = text(told, "path")?.trim_end_matches(".Metadata");
    let params = [
        ("Action", "DescribeStackResource"),
        ("ContentType", "JSON"),
        ("LogicalResourceId", name),
        ("StackName", text(told, "stack_name")?),
    ];
    let request = match version {
        2 => http.get(key.by_version_2(&at, &params)),
        _ => {
            let (url, headers) = key.by_version_4(&at, &params, SystemClock.now());
            headers.into_iter().fold(http.get(url), |it, (name, value)| it.header(name, value))
        }
    };
    let shown: Value = answered(request).await?.json().await.map_err(lost)?;
    let found = &shown["DescribeStackResourceResponse"]["DescribeStackResourceResult"];
    tells_deployment(&found["StackResourceDetail"]["Metadata"])
}

fn tells_deployment(metadata: &Value) -> Result<(), BenchError> {
    match metadata["deployments"].as_array().map(Vec::len) {
        Some(1) => Ok(()),
        _ => Err(unexpected(&format!("metadata without a deployment: {metadata}"))),
    }
}

async fn answered(request: reqwest::RequestBuilder) -> Result<reqwest::Response, BenchError> {
    request.send().await.and_then(reqwest::Response::error_for_status).map_err(lost)
}

fn lost(error: reqwest::Error) -> BenchError {
    unexpected(&error.to_string())
}

fn text<'a>(told: &'a Value, name: &str) -> Result<&'a str, BenchError> {
    told[name].as_str().ok_or_else(|| unexpected(&format!("an agent is not told its {name}")))
}

fn unexpected(text: &str) -> BenchError {
    BenchError::Unexpected(text.to_owned())
}
