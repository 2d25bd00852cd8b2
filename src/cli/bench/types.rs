//! What it costs to know all of Heat's resource types: the memory, a list of them, and looking over
//! a template of many resources whose values the cloud is asked about.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::figure::{Budget, Figure, median};
use super::server::Server;
use super::{BenchError, Scale};
use crate::cli::client::{Client, ClientError};

/// How many servers a template has.
const SERVERS: usize = 1000;

/// Asks a server that has done nothing else.
pub(super) async fn run(scale: Scale, server: &Server) -> Result<Vec<Figure>, BenchError> {
    let client = server.client().await?;
    // Every type is read by then.
    client.get("/resource_types").await?;
    let resident = Figure {
        name: "resident on an empty log".to_owned(),
        value: server.resident_mib()?,
        unit: "MiB",
        budget: Budget::AtMost(40.0),
    };
    let repeats = if scale == Scale::Quick { 1 } else { 11 };
    let (mut lists, mut looks) = (Vec::new(), Vec::new());
    for _ in 0..repeats {
        let began = Instant::now();
        client.get("/resource_types").await?;
        lists.push(began.elapsed());
        // One server asks the cloud all that many do.
        let cloud = look_over(&client, 1).await?;
        looks.push(look_over(&client, SERVERS).await?.saturating_sub(cloud));
    }
    Ok(vec![
        resident,
        Figure::millis("list of resource types", median(lists), 3.0),
        Figure::millis(
            format!("look over {SERVERS} servers, without the cloud"),
            median(looks),
            50.0,
        ),
    ])
}

/// How long a stack of so many servers takes to be refused, for which all of it is looked over: the
/// last resource names an image that is not there.
async fn look_over(client: &Client, count: usize) -> Result<Duration, BenchError> {
    let server = |image: &str| {
        json!({ "type": "OS::Nova::Server", "properties": {
            "image": image, "flavor": "m1.tiny", "networks": [{ "network": "private" }],
        } })
    };
    let name = |index: usize| format!("r{index:04}");
    let mut resources: serde_json::Map<String, Value> =
        (1..count).map(|index| (name(index), server("cirros"))).collect();
    resources.insert(name(count), server("no-such-image"));
    let template = json!({ "heat_template_version": "2021-04-16", "resources": resources });
    let body = json!({ "stack_name": "looked-over", "template": template });
    let began = Instant::now();
    match client.post("/stacks", &body).await {
        Err(ClientError::Refused { status: 400, .. }) => Ok(began.elapsed()),
        Err(error) => Err(error.into()),
        Ok(_) => Err(BenchError::Unexpected("an image that is not there is taken".to_owned())),
    }
}
