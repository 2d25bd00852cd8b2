//! The main job on the real cloud: a stack is created, updated and deleted, and leaves nothing.

use std::time::Duration;

use serde_json::{Value, json};

use crate::inventory::{Inventory, assert_unchanged, inventory};
use crate::real_cloud::{RealCloud, alone};
use crate::served::{Served, path};

const WEB: &str = include_str!("../../examples/web.yaml");

/// A volume that the cloud cannot make: `tests/cloud` fails it by its metadata.
const BROKEN: &str = "
heat_template_version: 2021-04-16
resources:
  network:
    type: OS::Neutron::Net
  subnet:
    type: OS::Neutron::Subnet
    properties: { network: { get_resource: network }, cidr: 10.78.0.0/24 }
  volume:
    type: OS::Cinder::Volume
    depends_on: subnet
    properties:
      size: 1
      metadata: { 'testcloud:fail': create }
";

#[tokio::test]
async fn a_web_stack_is_created_updated_and_deleted_and_nothing_is_left() {
    let Some(real) = RealCloud::find() else { return };
    let _alone = alone().await;
    let demo = real.demo();
    let before = inventory(&demo).await;
    let served = Served::start(&real, &demo).await;

    let stack = served.create("hearth-live-web", WEB, json!({})).await;
    assert_eq!(stack["stack_status"], "CREATE_COMPLETE", "{}", served.reasons(&stack).await);
    let output = |stack: &Value, key: &str| {
        let outputs = stack["outputs"].as_array().cloned().unwrap_or_default();
        let found = outputs.into_iter().find(|output| output["output_key"] == key);
        found.map(|output| output["output_value"].clone()).unwrap_or_default()
    };
    let address = output(&stack, "front_private_address");
    assert!(address.as_str().is_some_and(|ip| ip.starts_with("10.20.0.")), "{stack}");
    assert!(output(&stack, "url").as_str().is_some_and(|url| url.starts_with("http://172.24.")));
    let volume = output(&stack, "volume");

    let stack = served.update(&stack, json!({"volume_size": 2})).await;
    assert_eq!(stack["stack_status"], "UPDATE_COMPLETE", "{}", served.reasons(&stack).await);
    assert_eq!(output(&stack, "volume"), volume, "the volume was to grow, not to be replaced");
    assert_eq!(output(&stack, "front_private_address"), address);

    served.delete(&stack).await;
    assert_unchanged(&demo, &before).await;
}

#[tokio::test]
async fn a_volume_that_cannot_be_made_fails_its_stack_in_heats_words() {
    let Some(real) = RealCloud::find() else { return };
    let _alone = alone().await;
    let demo = real.demo();
    let before = inventory(&demo).await;
    let served = Served::start(&real, &demo).await;
    let stack = served.create("hearth-live-broken", BROKEN, json!({})).await;
    assert_eq!(stack["stack_status"], "CREATE_FAILED", "{}", served.reasons(&stack).await);
    let reason = stack["stack_status_reason"].as_str().unwrap();
    let words = "Resource CREATE failed: ResourceInError: resources.volume: \
                 Went to status error due to \"Unknown\"";
    assert_eq!(reason, words);
    served.delete(&stack).await;
    assert_unchanged(&demo, &before).await;
}

#[tokio::test]
async fn a_killed_server_carries_its_stacks_to_their_end() {
    let Some(real) = RealCloud::find() else { return };
    let _alone = alone().await;
    let demo = real.demo();
    let before = inventory(&demo).await;
    let mut served = Served::start(&real, &demo).await;
    let body = json!({"stack_name": "hearth-live-crash", "template": WEB});
    let (status, answer) = served.call("POST", "/stacks", body).await;
    assert_eq!(status, 201, "{answer}");
    for _ in 0..4 {
        tokio::time::sleep(Duration::from_millis(700)).await;
        served.kill_and_restart().await;
    }
    let stack = served.settled("hearth-live-crash").await;
    assert_eq!(stack["stack_status"], "CREATE_COMPLETE", "{}", served.reasons(&stack).await);
    let counts = |inventory: &Inventory, kind| inventory[kind].len();
    let during = inventory(&demo).await;
    for (kind, made) in [("networks", 1), ("servers", 2), ("volumes", 1), ("floatingips", 1)] {
        assert_eq!(counts(&during, kind), counts(&before, kind) + made, "{kind}");
    }

    let (status, answer) = served.call("DELETE", &path(&stack), Value::Null).await;
    assert_eq!(status, 204, "{answer}");
    for _ in 0..3 {
        tokio::time::sleep(Duration::from_millis(500)).await;
        served.kill_and_restart().await;
    }
    let stack = served.settled(stack["id"].as_str().unwrap()).await;
    assert_eq!(stack["stack_status"], "DELETE_COMPLETE", "{}", served.reasons(&stack).await);
    assert_unchanged(&demo, &before).await;
}

#[tokio::test]
async fn other_peoples_projects_and_made_up_tokens_are_refused() {
    let Some(real) = RealCloud::find() else { return };
    let demo = real.demo();
    let served = Served::start(&real, &demo).await;
    let other = real.cloud.session(real.credentials("testcloud-alt"));
    let stranger = served.with_token(other.token().await.unwrap().reveal());
    let (status, _) = stranger.call("GET", "/stacks", Value::Null).await;
    assert_eq!(status, 403);
    let nobody = served.with_token("gAAAAABmade-up");
    let (status, _) = nobody.call("GET", "/stacks", Value::Null).await;
    assert_eq!(status, 401);
}
