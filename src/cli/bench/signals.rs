//! Signals to waits that stay open until the last of them has come: by the address and token of a
//! handle of Heat's, and by the address that is signed in advance of one of CloudFormation's, as
//! curl and cfn-signal send them.

use std::time::{Duration, Instant};

use futures::future::try_join_all;
use serde_json::{Map, Value, json};

use super::figure::Figure;
use super::server::Server;
use super::{BenchError, Scale, stack};
use crate::cli::client::Client;

/// The most seconds for so many signals, each durable before its answer.
const SIGNALS: usize = 10_000;
const SIGNALS_SECS: f64 = 5.0;
/// Waits of each kind.
const WAITS: usize = 10;
/// Who signal at the same time.
const CLIENTS: usize = 16;
const NAME: &str = "signaled";
const HANDLES_WITHIN: Duration = Duration::from_secs(30);
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Signals half by each way, and holds that nothing of it got lost.
pub(super) async fn run(scale: Scale, server: &Server) -> Result<Vec<Figure>, BenchError> {
    let signals = if scale == Scale::Quick { 200 } else { SIGNALS };
    let each = signals / (2 * WAITS);
    let client = server.client().await?;
    let body = json!({ "stack_name": NAME, "template": template(each) });
    client.post("/stacks", &body).await?;
    let path = stack::find(&client, NAME).await?;
    let handles = handles(&client, &path).await?;
    let http = reqwest::Client::builder().pool_max_idle_per_host(0).build().unwrap_or_default();

    let began = Instant::now();
    let work = (0..CLIENTS).map(|turn| {
        let (http, handles) = (&http, &handles);
        async move {
            for number in (turn..signals).step_by(CLIENTS) {
                let handle = &handles[number % handles.len()];
                handle.signal(http, number / handles.len()).await?;
            }
            Ok::<_, BenchError>(())
        }
    });
    try_join_all(work).await?;
    let took = began.elapsed();

    stack::wait(&client, &path, "CREATE").await?;
    for (name, data) in outputs(&client, &path).await? {
        if name.starts_with("data") && !is_whole(&data, each) {
            return Err(BenchError::Unexpected(format!("{name} has not {each} entries: {data}")));
        }
    }
    let name = format!("{signals} signals to {} waits", 2 * WAITS);
    Ok(vec![Figure::secs(name, took, SIGNALS_SECS)])
}

/// Waits for so many signals each, and what is to be known of them.
fn template(each: usize) -> Value {
    let (mut resources, mut outputs) = (Map::new(), Map::new());
    for number in 0..WAITS {
        let (heat, cfn) = (format!("heat{number}"), format!("cfn{number}"));
        let mut output = |name: &str, value: Value| {
            outputs.insert(format!("{name}{number}"), json!({ "value": value }));
        };
        output("endpoint", json!({ "get_attr": [heat, "endpoint"] }));
        output("token", json!({ "get_attr": [heat, "token"] }));
        output("address", json!({ "get_resource": cfn }));
        output("data_heat", json!({ "get_attr": [format!("{heat}_waits"), "data"] }));
        output("data_cfn", json!({ "get_attr": [format!("{cfn}_waits"), "Data"] }));
        let mut add = |name: String, kind: &str, properties: Value| {
            resources.insert(name, json!({ "type": kind, "properties": properties }));
        };
        add(
            format!("{heat}_waits"),
            "OS::Heat::WaitCondition",
            json!({ "handle": { "get_resource": heat }, "timeout": 3600, "count": each }),
        );
        add(heat, "OS::Heat::WaitConditionHandle", json!({}));
        add(
            format!("{cfn}_waits"),
            "AWS::CloudFormation::WaitCondition",
            json!({ "Handle": { "get_resource": cfn }, "Timeout": 3600, "Count": each }),
        );
        add(cfn, "AWS::CloudFormation::WaitConditionHandle", json!({}));
    }
    json!({ "heat_template_version": "2018-08-31", "resources": resources, "outputs": outputs })
}

/// What a server is given to signal with.
enum Handle {
    Heat { endpoint: String, token: String },
    Cfn { address: String },
}

impl Handle {
    /// Signals for the time of a number, with data of the same number.
    async fn signal(&self, http: &reqwest::Client, number: usize) -> Result<(), BenchError> {
        let id = number.to_string();
        let request = match self {
            Handle::Heat { endpoint, token } => {
                let body = json!({ "status": "SUCCESS", "reason": "done", "id": id, "data": id });
                http.post(endpoint).header("x-auth-token", token).json(&body)
            }
            // cfn-signal has curl leave the content type out.
            Handle::Cfn { address } => {
                let body =
                    json!({ "Status": "SUCCESS", "Reason": "done", "UniqueId": id, "Data": id });
                http.put(address).body(body.to_string())
            }
        };
        let reply = request.send().await.and_then(reqwest::Response::error_for_status);
        reply.map(drop).map_err(|error| BenchError::Unexpected(error.to_string()))
    }
}

/// All handles, once there is word of them.
async fn handles(client: &Client, path: &str) -> Result<Vec<Handle>, BenchError> {
    let began = Instant::now();
    while began.elapsed() < HANDLES_WITHIN {
        let told: Map<String, Value> = outputs(client, path).await?.into_iter().collect();
        let text = |name: String| told.get(&name).and_then(Value::as_str).map(str::to_owned);
        let of = |number: usize| {
            let endpoint = text(format!("endpoint{number}"))?;
            let token = text(format!("token{number}"))?;
            let address = text(format!("address{number}"))?;
            let is_signed = address.contains("Signature=");
            is_signed.then_some([Handle::Heat { endpoint, token }, Handle::Cfn { address }])
        };
        let found: Option<Vec<[Handle; 2]>> = (0..WAITS).map(of).collect();
        if let Some(found) = found {
            return Ok(found.into_iter().flatten().collect());
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
    Err(BenchError::Unexpected("the handles do not come".to_owned()))
}

async fn outputs(client: &Client, path: &str) -> Result<Vec<(String, Value)>, BenchError> {
    let mut shown = client.get(path).await?;
    let outputs = shown["stack"]["outputs"].as_array_mut().map(std::mem::take);
    let named = |mut output: Value| {
        let value = output["output_value"].take();
        Some((output["output_key"].as_str()?.to_owned(), value))
    };
    Ok(outputs.into_iter().flatten().filter_map(named).collect())
}

/// Whether the data of a wait are those of all its signals.
fn is_whole(data: &Value, each: usize) -> bool {
    let found =
        data.as_str().and_then(|text| serde_json::from_str::<Map<String, Value>>(text).ok());
    let is_there =
        |found: &Map<String, Value>, id: String| found.get(&id) == Some(&id.clone().into());
    found.is_some_and(|it| it.len() == each && (0..each).all(|id| is_there(&it, id.to_string())))
}
