//! The example of the README on a sandbox of fixed latencies: what Hearth adds to the cloud's own
//! time along the longest dependency path.

use std::time::Duration;

use serde_json::Value;

use super::figure::{Budget, Figure};
use super::server::Server;
use super::{BenchError, stack};

const TEMPLATE: &str = include_str!("../../../examples/web.yaml");
const REQUEST: Duration = Duration::from_millis(10);
const SERVER: Duration = Duration::from_millis(3000);
const ATTACHMENT: Duration = Duration::from_millis(1000);

/// How the sandbox of this workload is made slow.
pub(super) const SETTINGS: [(&str, &str); 5] = [
    ("HEARTH_SANDBOX__REQUEST_MS", "10"),
    ("HEARTH_SANDBOX__SERVER_MS", "3000"),
    ("HEARTH_SANDBOX__ATTACHMENT_MS", "1000"),
    ("HEARTH_SANDBOX__VOLUME_MS", "1000"),
    ("HEARTH_SANDBOX__FLOATING_IP_MS", "500"),
];

/// network, subnet, front_port, front, data_attachment: one request each, the server's building
/// and the attaching. No orchestration can be faster.
fn longest_path() -> Duration {
    REQUEST * 5 + SERVER + ATTACHMENT
}

/// Creates the stack once.
pub(super) async fn run(server: &Server) -> Result<Vec<Figure>, BenchError> {
    let client = server.client().await?;
    let took = stack::create(&client, "web", &Value::from(TEMPLATE)).await?;
    Ok(vec![Figure {
        name: "examples/web.yaml against its longest path".to_owned(),
        value: took.as_secs_f64() / longest_path().as_secs_f64(),
        unit: "times",
        budget: Budget::AtMost(1.1),
    }])
}
