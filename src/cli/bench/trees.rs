//! Groups, nested stacks and a stack of very many resources, on servers that set no limit to them.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::figure::{Budget, Figure, median, shortest};
use super::server::Server;
use super::{BenchError, Scale, stack};
use crate::cli::client::Client;

/// Lets a stack have as many resources as the workloads ask for.
pub(super) const SETTINGS: [(&str, &str); 1] = [("HEARTH_DEFAULT__MAX_RESOURCES_PER_STACK", "-1")];

/// The members of every stack in the deep tree, and how many stacks lie above the leaves.
const FAN_OUT: usize = 4;
const LEVELS: usize = 5;

/// Plays the workloads, each on a server of its own.
pub(super) async fn run(scale: Scale, dir: &Path) -> Result<Vec<Figure>, BenchError> {
    let part = |whole: usize| if scale == Scale::Quick { whole / 20 } else { whole };
    let repeats = if scale == Scale::Quick { 1 } else { 3 };

    let server = Server::start(&dir.join("trees"), &SETTINGS).await?;
    let client = server.client().await?;
    let mut figures = groups(&client, part(1000), repeats).await?;
    figures.push(siblings(&client, part(160), repeats).await?);
    figures.push(tree(&client, if scale == Scale::Quick { 2 } else { LEVELS }, repeats).await?);
    server.stop().await?;

    let server = Server::start(&dir.join("large"), &SETTINGS).await?;
    figures.extend(large(&server, part(10_000), repeats).await?);
    server.stop().await?;
    Ok(figures)
}

/// A group that comes to be, doubles and goes.
async fn groups(client: &Client, size: usize, repeats: usize) -> Result<Vec<Figure>, BenchError> {
    let member = json!({ "type": "OS::Heat::TestResource", "properties": { "value": "%index%" } });
    let group = |count: usize| {
        let properties = json!({ "count": count, "resource_def": member });
        resources([(
            "group".to_owned(),
            json!({ "type": "OS::Heat::ResourceGroup", "properties": properties }),
        )])
    };
    let (mut creates, mut updates, mut deletes) = (Vec::new(), Vec::new(), Vec::new());
    for repeat in 0..repeats {
        let name = format!("group-{repeat}");
        creates.push(stack::create(client, &name, &group(size)).await?);
        let path = stack::find(client, &name).await?;
        updates.push(stack::update(client, &path, &group(2 * size)).await?);
        deletes.push(stack::delete(client, &path).await?);
    }
    let double = 2 * size;
    Ok(vec![
        Figure::secs(format!("create a group of {size}"), median(creates), 2.0),
        Figure::secs(format!("scale it to {double}"), median(updates), 2.5),
        Figure::secs(format!("delete the group of {double}"), median(deletes), 2.0),
    ])
}

/// Nested stacks beside one another, of two resources each.
async fn siblings(client: &Client, count: usize, repeats: usize) -> Result<Figure, BenchError> {
    let template = resources((0..count).map(|number| (format!("n{number}"), nested("pair.yaml"))));
    let body = json!({ "template": template, "files": { "pair.yaml": leaves(2).to_string() } });
    let mut creates = Vec::new();
    for repeat in 0..repeats {
        let name = format!("siblings-{repeat}");
        creates.push(stack::create_of(client, &name, body.clone()).await?);
        stack::delete(client, &stack::find(client, &name).await?).await?;
    }
    let all = 2 * count;
    let name = format!("create {count} nested stacks of {all} resources");
    Ok(Figure::secs(name, median(creates), 1.0))
}

/// A tree of nested stacks.
async fn tree(client: &Client, levels: usize, repeats: usize) -> Result<Figure, BenchError> {
    let file = |level: usize| format!("level{level}.yaml");
    let branch = |level: usize| {
        resources((0..FAN_OUT).map(|number| (format!("n{number}"), nested(&file(level + 1)))))
    };
    let mut files: Map<String, Value> =
        (1..levels - 1).map(|level| (file(level), branch(level).to_string().into())).collect();
    files.insert(file(levels - 1), leaves(FAN_OUT).to_string().into());
    let body = json!({ "template": branch(0), "files": files });
    let mut creates = Vec::new();
    for repeat in 0..repeats {
        let name = format!("tree-{repeat}");
        creates.push(stack::create_of(client, &name, body.clone()).await?);
        stack::delete(client, &stack::find(client, &name).await?).await?;
    }
    let name = format!("create a tree of {levels} levels × {FAN_OUT}");
    Ok(Figure::secs(name, median(creates), 2.0))
}

/// One change in a stack of very many resources, and the memory that it takes alive.
async fn large(server: &Server, size: usize, repeats: usize) -> Result<Vec<Figure>, BenchError> {
    let client = server.client().await?;
    let template = |value: &str| {
        let changed = json!({ "type": "OS::Heat::TestResource", "properties": { "value": value } });
        let others = (1..size)
            .map(|number| (format!("r{number}"), json!({ "type": "OS::Heat::TestResource" })));
        resources(std::iter::once(("r0".to_owned(), changed)).chain(others))
    };
    stack::create(&client, "large", &template("a")).await?;
    let path = stack::find(&client, "large").await?;
    let mut updates = Vec::new();
    for repeat in 0..repeats {
        updates.push(stack::update(&client, &path, &template(&format!("b{repeat}"))).await?);
    }
    Ok(vec![
        Figure::secs(format!("change one of {size} resources"), shortest(&updates), 1.0),
        Figure {
            name: format!("memory with a stack of {size} resources"),
            value: server.resident_mib()?,
            unit: "MiB",
            budget: Budget::AtMost(200.0),
        },
    ])
}

fn leaves(count: usize) -> Value {
    let leaf = json!({ "type": "OS::Heat::TestResource" });
    resources((0..count).map(|number| (format!("r{number}"), leaf.clone())))
}

fn nested(file: &str) -> Value {
    json!({ "type": file })
}

fn resources(all: impl IntoIterator<Item = (String, Value)>) -> Value {
    let all: Map<String, Value> = all.into_iter().collect();
    json!({ "heat_template_version": "2021-04-16", "resources": all })
}
