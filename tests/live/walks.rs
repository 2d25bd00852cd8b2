//! Every walk of `tests/data/walks/` whose service the real cloud has. Nothing may be left.
//! `CASE=neutron_net` plays one.

use tokio::task::LocalSet;

use crate::inventory::{assert_unchanged, inventory};
use crate::real_cloud::{RealCloud, alone};
use crate::runner::{Replies, Runner};
use crate::walk::{self, Walk};

#[tokio::test]
async fn straight_through() {
    each(Replies::Arrive).await;
}

#[tokio::test]
async fn though_each_answer_is_lost() {
    each(Replies::AreLost).await;
}

/// A call that never left is only made again: a few types show it.
#[tokio::test]
async fn though_each_call_is_lost_before_it_arrives() {
    each(Replies::NeverLeft).await;
}

/// How many walks are played where any would do.
const FEW: usize = 3;

async fn each(replies: Replies) {
    if RealCloud::find().is_none() {
        return;
    }
    let _alone = alone().await;
    let mut failed = Vec::new();
    for walk in walk::chosen()
        .into_iter()
        .filter(|walk| walk.real && !walk.engine)
        .take(if matches!(replies, Replies::NeverLeft) { FEW } else { usize::MAX })
    {
        let name = walk.type_name.clone();
        let local = LocalSet::new();
        let played = local.spawn_local(one(walk, replies));
        if local.run_until(played).await.is_err() {
            failed.push(name);
        }
    }
    assert!(failed.is_empty(), "these fail: {}", failed.join(", "));
}

async fn one(walk: Walk, replies: Replies) {
    let Some(real) = RealCloud::find() else { return };
    let session = || real.cloud.session(real.credentials(&format!("testcloud-{}", walk.by)));
    let before = inventory(&session()).await;
    let other = Runner::new(session(), Replies::Arrive);
    walk::play(&walk, Runner::new(session(), replies), other).await;
    assert_unchanged(&session(), &before).await;
}
