//! Many stacks: how fast they come, and how Hearth reads, restarts and fits with them in the log.

use std::time::{Duration, Instant};

use serde_json::json;

use super::figure::{Budget, Figure, median};
use super::server::Server;
use super::{BenchError, Scale, stack, templates};
use crate::cli::client::Client;

const CLIENTS: usize = 8;
const RESOURCES_EACH: usize = 3;
const READS: usize = 200;

/// A tag, and one of how many stacks has it.
const TAG: &str = "measured";
const TAGGED_EVERY: usize = 100;

/// Creates the stacks, reads among them, restarts.
pub(super) async fn run(scale: Scale, server: Server) -> Result<(Vec<Figure>, Server), BenchError> {
    let (timed, total) = if scale == Scale::Quick { (100, 200) } else { (1200, 60_000) };
    let mut figures = Vec::new();

    let took = create_stacks(&server, 0..timed).await?;
    let rate = timed as f64 / took.as_secs_f64();
    figures.push(Figure::rate(
        format!("create stacks of {RESOURCES_EACH}, {CLIENTS} clients"),
        rate,
        "stacks/s",
        300.0,
    ));

    create_stacks(&server, timed..total).await?;
    let with = |what: &str| format!("{what}, {total} stacks in the log");
    let client = server.client().await?;
    let path = stack::find(&client, &name(total / 2)).await?;
    let reads = [
        ("list 100", "/stacks?limit=100".to_owned(), 3.0),
        ("list by name", format!("/stacks?name={}&limit=20", name(total / 2)), 2.0),
        ("list 20 with their count", "/stacks?with_count=True&limit=20".to_owned(), 2.0),
        ("list 20 sorted by name", "/stacks?sort_keys=stack_name&limit=20".to_owned(), 3.0),
        ("list 20 by a tag", format!("/stacks?tags={TAG}&limit=20"), 3.0),
        ("show one", path.clone(), 1.5),
        ("its events", format!("{path}/events"), 3.0),
    ];
    for (what, path, most) in reads {
        figures.push(Figure::millis(with(what), read(&client, &path).await?, most));
    }

    let data = server.data().to_owned();
    server.stop().await?;
    let server = Server::start(&data, &[]).await?;
    figures.push(Figure::secs(with("ready after restart"), server.ready_after, 1.0));
    // Asked for once each, so that what is measured has been used.
    let client = server.client().await?;
    client.get("/stacks?limit=100").await?;
    client.get(&path).await?;
    figures.push(Figure {
        name: with("resident memory"),
        value: server.resident_mib()?,
        unit: "MiB",
        budget: Budget::AtMost(100.0),
    });
    Ok((figures, server))
}

pub(super) async fn create_stacks(
    server: &Server,
    numbers: std::ops::Range<usize>,
) -> Result<Duration, BenchError> {
    let mut clients = Vec::new();
    for _ in 0..CLIENTS {
        clients.push(server.client().await?);
    }
    let began = Instant::now();
    let work = clients.into_iter().enumerate().map(|(turn, client)| {
        let numbers = numbers.clone();
        async move {
            let template = templates::independent(RESOURCES_EACH, "a");
            for number in numbers.skip(turn).step_by(CLIENTS) {
                let mut body = json!({ "template": template });
                if number % TAGGED_EVERY == 0 {
                    body["tags"] = TAG.into();
                }
                stack::create_of(&client, &name(number), body).await?;
            }
            Ok::<(), BenchError>(())
        }
    });
    futures::future::try_join_all(work).await?;
    Ok(began.elapsed())
}

async fn read(client: &Client, path: &str) -> Result<Duration, BenchError> {
    let mut samples = Vec::with_capacity(READS);
    for _ in 0..READS {
        let began = Instant::now();
        client.get(path).await?;
        samples.push(began.elapsed());
    }
    Ok(median(samples))
}

fn name(number: usize) -> String {
    format!("many-{number}")
}
