//! What a stack leaves to others or takes from them, cut at every append: abandoned, adopted, an
//! external resource; none of it is lost and none of it is deleted by mistake.

use std::sync::{Arc, Mutex};

use hearth::actors::{Accepted, CreateStack, EngineLimits};
use hearth::model::Refusal;
use hearth::template::StackSource;
use serde_json::{Value, json};

use super::{at_its_end, each_cut, reached};
use crate::support::cut_log::CutLog;
use crate::support::world::{Ground, World, hot};

fn limits() -> EngineLimits {
    EngineLimits { enable_stack_abandon: true, enable_stack_adopt: true, ..Ground::limits() }
}

/// A stack with a network, and a nested stack with another.
fn source() -> StackSource {
    let inner = hot(json!({ "deep": { "type": "OS::Neutron::Net" } }));
    StackSource {
        template: hot(json!({
            "net": { "type": "OS::Neutron::Net" },
            "n": { "type": "inner.yaml", "depends_on": "net" },
        })),
        files: [("inner.yaml".to_owned(), inner.to_string())].into(),
        ..StackSource::default()
    }
}

fn ask(source: StackSource) -> CreateStack {
    CreateStack { name: "web".into(), source, settings: Default::default() }
}

async fn adopt(world: &World, document: &Value) -> Result<Accepted, Refusal> {
    let resources = document["resources"].as_object().cloned().unwrap_or_default();
    world.engine.adopt_stack(&world.requester(), ask(source()), resources).await
}

/// Create, abandon, adopt; the document is handed out on the way.
async fn live(world: &World, log: &CutLog, handed_out: &Mutex<Option<Value>>) -> Option<()> {
    let who = || world.requester();
    let web = world.engine.create_stack(&who(), ask(source())).await.ok()?;
    reached(world, log, &web, "CREATE_COMPLETE").await?;
    let document = world.engine.export_stack(&who(), web.stack).await.ok()?;
    *handed_out.lock().unwrap() = Some(document);
    let (abandoned, document) = world.engine.abandon_stack(&who(), web.stack).await.ok()?;
    reached(world, log, &abandoned, "DELETE_COMPLETE").await?;
    let again = adopt(world, &document).await.ok()?;
    reached(world, log, &again, "ADOPT_COMPLETE").await
}

#[actix::test]
async fn every_cut_of_a_life_that_is_abandoned_and_adopted_heals() {
    each_cut(1, 19, async |appends| {
        let ground = Ground::new().await;
        let empty = ground.counts();
        let log = Arc::new(CutLog::new(ground.log.clone(), appends));
        let world = ground.start_with(log.clone(), limits()).await;
        let handed_out = Mutex::new(None);
        let whole = live(&world, &log, &handed_out).await.is_some();
        log.cut();
        world.engine.shutdown();
        drop(world);
        let document = handed_out.into_inner().unwrap();
        take_over(&ground, &empty, document, appends).await;
        whole
    })
    .await;
}

/// A new engine: the stack comes to rest; what was abandoned is there, is adopted, and is deleted.
async fn take_over(ground: &Ground, empty: &Value, document: Option<Value>, appends: i64) {
    let world = ground.start_with(ground.log.clone(), limits()).await;
    ground.views_catch_up(&world).await;
    let networks = || ground.counts()["networks"].as_u64().unwrap();
    let full = empty["networks"].as_u64().unwrap() + 2;
    let mut living = world.stack_named("web").await.map(|web| web.id);
    if let Some(web) = living {
        let end = at_its_end(&world, web).await;
        assert!(end.ends_with("_COMPLETE"), "cut after {appends}: {end}");
        if end == "DELETE_COMPLETE" {
            living = None;
        }
    }
    if let (None, Some(document)) = (living, document) {
        assert_eq!(networks(), full, "cut after {appends}: what was abandoned stays");
        let again = adopt(&world, &document).await.unwrap();
        assert_eq!(world.settled(&again).await, "ADOPT_COMPLETE", "cut after {appends}");
        living = Some(again.stack);
    }
    if let Some(web) = living {
        assert_eq!(networks(), full, "cut after {appends}: nothing is made twice");
        let deleted = world.delete(web).await.unwrap();
        assert_eq!(world.settled(&deleted).await, "DELETE_COMPLETE", "cut after {appends}");
    }
    assert_eq!(&ground.counts(), empty, "cut after {appends}: something is left behind");
}

#[actix::test]
async fn every_cut_of_a_life_with_an_external_resource_leaves_it_as_it_is() {
    each_cut(1, 7, async |appends| {
        let ground = Ground::new().await;
        let world = ground.start().await;
        let own = hot(json!({ "net": { "type": "OS::Neutron::Net" } }));
        let owner = world.create("owner", own).await.unwrap();
        assert_eq!(world.settled(&owner).await, "CREATE_COMPLETE");
        let id = world.physical_id(owner.stack, "net").await.unwrap();
        world.engine.shutdown();
        drop(world);
        let before = ground.counts();
        let log = Arc::new(CutLog::new(ground.log.clone(), appends));
        let world = ground.start_on(log.clone()).await;
        let whole = live_beside(&world, &log, &id).await.is_some();
        log.cut();
        world.engine.shutdown();
        drop(world);
        let world = ground.start().await;
        ground.views_catch_up(&world).await;
        if let Some(web) = world.stack_named("web").await {
            let end = at_its_end(&world, web.id).await;
            assert!(end.ends_with("_COMPLETE"), "cut after {appends}: {end}");
            if end != "DELETE_COMPLETE" {
                let kept = world.physical_id(web.id, "net").await;
                assert_eq!(kept.as_ref(), Some(&id), "cut after {appends}");
                let deleted = world.delete(web.id).await.unwrap();
                assert_eq!(world.settled(&deleted).await, "DELETE_COMPLETE", "cut after {appends}");
            }
        }
        assert_eq!(ground.counts(), before, "cut after {appends}: somebody else's is as it was");
        whole
    })
    .await;
}

async fn live_beside(world: &World, log: &CutLog, id: &str) -> Option<()> {
    let template = |name: &str| {
        hot(json!({
            "net": { "type": "OS::Neutron::Net", "external_id": id,
                     "properties": { "name": name } },
            "subnet": { "type": "OS::Neutron::Subnet", "properties": {
                "network": { "get_resource": "net" }, "cidr": "10.9.0.0/24" } },
        }))
    };
    let web = world.create("web", template("one")).await.ok()?;
    reached(world, log, &web, "CREATE_COMPLETE").await?;
    let updated = world.update(web.stack, template("two")).await.ok()?;
    reached(world, log, &updated, "UPDATE_COMPLETE").await?;
    let deleted = world.delete(web.stack).await.ok()?;
    reached(world, log, &deleted, "DELETE_COMPLETE").await
}
