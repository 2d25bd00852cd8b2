//! Many small requests of a user whose token is known: lists of stacks and of resources.

use std::time::Instant;

use futures::future::try_join_all;

use super::figure::Figure;
use super::server::Server;
use super::{BenchError, Scale, stack, templates};
use crate::cli::client::{Client, ClientError};

/// Who ask at the same time.
const CLIENTS: usize = 16;
const STACKS: usize = 20;
const RESOURCES_EACH: usize = 10;

/// Asks a server that has nothing yet.
pub(super) async fn run(scale: Scale, server: &Server) -> Result<Vec<Figure>, BenchError> {
    let reads = if scale == Scale::Quick { 500 } else { 30_000 };
    let client = server.client().await?;
    for number in 0..STACKS {
        let template = templates::independent(RESOURCES_EACH, "a");
        stack::create(&client, &format!("read-{number}"), &template).await?;
    }
    let stacks = format!("/stacks?limit={STACKS}");
    let resources = format!("{}/resources", stack::find(&client, "read-0").await?);
    require(&client, &stacks, "stacks", STACKS).await?;
    require(&client, &resources, "resources", RESOURCES_EACH).await?;
    let listed = rate(&client, reads, &stacks).await?;
    let shown = rate(&client, reads, &resources).await?;
    Ok(vec![
        Figure::rate("list 20 stacks", listed, "requests/s", 5_000.0),
        Figure::rate("list 10 resources", shown, "requests/s", 3_000.0),
    ])
}

/// Holds that a list has as many entries as are to be measured.
async fn require(client: &Client, path: &str, name: &str, count: usize) -> Result<(), BenchError> {
    let listed = client.get(path).await?;
    match listed[name].as_array().map_or(0, Vec::len) {
        found if found == count => Ok(()),
        found => Err(BenchError::Unexpected(format!("{found} {name} of {count}"))),
    }
}

/// How many requests are answered in a second.
async fn rate(client: &Client, count: usize, path: &str) -> Result<f64, BenchError> {
    let began = Instant::now();
    try_join_all((0..CLIENTS).map(|turn| async move {
        for _ in (turn..count).step_by(CLIENTS) {
            client.download(path).await?;
        }
        Ok::<_, ClientError>(())
    }))
    .await?;
    Ok(count as f64 / began.elapsed().as_secs_f64())
}
