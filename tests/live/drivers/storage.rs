//! OS::Swift and OS::Glance.

use serde_json::json;

use crate::inventory::{assert_unchanged, inventory};
use crate::real_cloud::{RealCloud, alone};
use crate::runner::{Replies, Runner};

#[tokio::test]
async fn containers_go_there_and_back() {
    containers(Replies::Arrive).await;
}

#[tokio::test]
async fn containers_go_there_and_back_though_each_answer_is_lost_once() {
    containers(Replies::AreLost).await;
}

async fn containers(replies: Replies) {
    let Some(real) = RealCloud::find() else { return };
    let _alone = alone().await;
    let before = inventory(&real.demo()).await;
    let mut run = Runner::new(real.demo(), replies);
    let container = json!({"X-Container-Meta": {"kind": "live"}});
    let mut container = run.create("OS::Swift::Container", "container", container).await;
    let seen = run.attributes(&container).await;
    assert_eq!(seen["ObjectCount"], "0", "{seen:?}");
    run.check(&mut container).await;
    run.delete(container).await;
    assert_unchanged(&real.demo(), &before).await;
}
