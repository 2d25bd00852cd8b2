//! One stack of many resources: created, updated in place, deleted.

use serde_json::Value;

use super::figure::{Figure, median};
use super::server::Server;
use super::{BenchError, Scale, stack, templates};

/// A shape of a stack and what its actions may take.
struct Case {
    name: &'static str,
    template: fn(usize, &str) -> Value,
    size: usize,
    repeats: usize,
    create_secs: f64,
    /// Of the update and of the delete, where they have a budget.
    change_secs: Option<f64>,
}

const CASES: [Case; 4] = [
    Case {
        name: "independent",
        template: templates::independent,
        size: 50,
        repeats: 5,
        create_secs: 0.1,
        change_secs: None,
    },
    Case {
        name: "independent",
        template: templates::independent,
        size: 1000,
        repeats: 3,
        create_secs: 1.0,
        change_secs: Some(1.0),
    },
    Case {
        name: "chained",
        template: templates::chain,
        size: 50,
        repeats: 5,
        create_secs: 0.1,
        change_secs: None,
    },
    Case {
        name: "chained",
        template: templates::chain,
        size: 1000,
        repeats: 3,
        create_secs: 1.5,
        change_secs: None,
    },
];

/// Plays every case on a fresh server and gives the medians.
pub(super) async fn run(scale: Scale, server: &Server) -> Result<Vec<Figure>, BenchError> {
    let client = server.client().await?;
    let mut figures = Vec::new();
    for case in &CASES {
        let repeats = if scale == Scale::Quick { 1 } else { case.repeats };
        let (mut creates, mut updates, mut deletes) = (Vec::new(), Vec::new(), Vec::new());
        for repeat in 0..repeats {
            let name = format!("{}-{}-{repeat}", case.name, case.size);
            creates.push(stack::create(&client, &name, &(case.template)(case.size, "a")).await?);
            let path = stack::find(&client, &name).await?;
            updates.push(stack::update(&client, &path, &(case.template)(case.size, "b")).await?);
            deletes.push(stack::delete(&client, &path).await?);
        }
        let named = |verb: &str| format!("{verb} {} {} resources", case.size, case.name);
        figures.push(Figure::secs(named("create"), median(creates), case.create_secs));
        if let Some(most) = case.change_secs {
            figures.push(Figure::secs(named("update"), median(updates), most));
            figures.push(Figure::secs(named("delete"), median(deletes), most));
        }
    }
    Ok(figures)
}
