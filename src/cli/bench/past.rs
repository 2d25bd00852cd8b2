//! How long the past takes to be shown: a stack of many resources and many revisions, as it was at
//! moments that nobody has asked for before.

use std::time::Instant;

use super::figure::{Figure, median};
use super::server::Server;
use super::{BenchError, Scale, stack, templates};

/// How many resources a revision changes, one after the other.
const CHANGED: usize = 20;

/// Creates and updates the stack, and asks for it and its resources as they were.
pub(super) async fn run(scale: Scale, server: &Server) -> Result<Vec<Figure>, BenchError> {
    let (resources, revisions) = match scale {
        Scale::Quick => (40, 3),
        Scale::Full => (1_000, 50),
    };
    let client = server.client().await?;
    let mut values = vec![0_usize; resources];
    stack::create(&client, "long", &templates::of_values(&values)).await?;
    let path = stack::find(&client, "long").await?;
    for revision in 2..=revisions {
        for changed in 0..CHANGED {
            values[(revision * CHANGED + changed) % resources] = revision;
        }
        stack::update(&client, &path, &templates::of_values(&values)).await?;
    }
    // The first question to a tree of stacks folds it; there is a figure of its own for that.
    let mut asked = Vec::new();
    for revision in [revisions, revisions / 3, 1, revisions - 1, revisions / 2, revisions / 4] {
        let revision = revision.max(1);
        let began = Instant::now();
        let shown = client.get(&format!("{path}/resources?at=r{revision}")).await?;
        asked.push(began.elapsed());
        let count = shown["resources"].as_array().map_or(0, Vec::len);
        if count != resources {
            let text = format!("{count} resources of {resources} at revision {revision}");
            return Err(BenchError::Unexpected(text));
        }
    }
    let first = asked.remove(0);
    let of = format!("{resources} resources, {revisions} revisions");
    Ok(vec![
        Figure::millis(format!("first look at the past of {of}"), first, 1_000.0),
        Figure::millis(format!("time travel, {of}"), median(asked), 50.0),
    ])
}
