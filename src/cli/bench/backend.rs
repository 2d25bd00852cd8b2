//! A log that is kept elsewhere, against the one in a file, in the same run.

use std::path::Path;
use std::time::Duration;

use super::figure::{Figure, median};
use super::server::Server;
use super::{BenchError, Scale, many_stacks, stack, templates};

/// What the rate with the file is multiplied with to be the least that is wanted, and the least
/// whatever that is.
const SHARE: f64 = 0.5;
const LEAST: f64 = 150.0;
/// The same of an EventStoreDB on the same machine.
const SHARE_OF_EVENTSTORE: f64 = 0.6;
const CHAIN: usize = 50;
const CHAIN_MOST: Duration = Duration::from_millis(200);
const CHAINS: usize = 5;

/// Plays the same on both. There may be no log yet at the place.
pub(super) async fn run(scale: Scale, dir: &Path, log: &str) -> Result<Vec<Figure>, BenchError> {
    let (rate, chain) = measure(scale, &dir.join("file"), &[]).await?;
    let (other_rate, other_chain) =
        measure(scale, &dir.join("elsewhere"), &[("HEARTH_LOG", log)]).await?;
    let least = match log.starts_with("mysql") {
        true => (rate * SHARE).max(LEAST),
        false => rate * SHARE_OF_EVENTSTORE,
    };
    let least = least.round();
    let most = CHAIN_MOST.as_secs_f64();
    let secs = |name: &str, value: Duration| Figure::secs(name, value, most);
    Ok(vec![
        Figure::rate("create stacks of 3, log in a file", rate, "stacks/s", LEAST),
        Figure::rate("create stacks of 3, log elsewhere", other_rate, "stacks/s", least),
        secs("create 50 chained resources, log in a file", chain),
        secs("create 50 chained resources, log elsewhere", other_chain),
    ])
}

async fn measure(
    scale: Scale,
    data: &Path,
    settings: &[(&str, &str)],
) -> Result<(f64, Duration), BenchError> {
    let server = Server::start(data, settings).await?;
    let stacks = if scale == Scale::Quick { 100 } else { 1_200 };
    let client = server.client().await?;
    let mut chains = Vec::new();
    for number in 0..CHAINS {
        let template = templates::chain(CHAIN, "a");
        chains.push(stack::create(&client, &format!("chain-{number}"), &template).await?);
    }
    let took = many_stacks::create_stacks(&server, 0..stacks).await?;
    server.stop().await?;
    Ok((stacks as f64 / took.as_secs_f64(), median(chains)))
}
