//! Stacks in another region or cloud.

use futures::StreamExt;
use hearth::model::Action;

use crate::support::far::{self, Far, Lost, Place};

/// How many stories are told side by side: they wait more than they work.
const SIDE_BY_SIDE: usize = 4;

#[actix::test]
async fn a_stack_elsewhere_is_made_changed_and_deleted_whatever_is_lost() {
    let region = [Lost::Request, Lost::Answer, Lost::Refused].map(|lost| (Place::Region, lost));
    let cloud = [Lost::Answer, Lost::Token];
    for (place, lost) in region.into_iter().chain(cloud.map(|lost| (Place::Cloud, lost))) {
        let calls = story(place, lost, None).await;
        assert!(calls > 9, "the journey makes only {calls} calls");
        let each = futures::stream::iter(0..calls);
        let told = each.for_each_concurrent(SIDE_BY_SIDE, async |call| {
            story(place, lost, Some(call)).await;
        });
        told.await;
    }
}

/// The life of a stack elsewhere, a call of which is lost, or none; how many calls it makes.
async fn story(place: Place, lost: Lost, call: Option<usize>) -> usize {
    let far = Far::new(place).await;
    let world = far.ground.start().await;
    let empty = far.networks();
    far.lose(call.unwrap_or(usize::MAX), lost);
    let place = format!("{place:?}: call {call:?} meets {lost:?}");
    let web = match world.create("web", far.template("one")).await {
        Ok(web) => web,
        // Before anything is accepted the place there is only looked at.
        Err(refusal) => {
            assert!(call.is_some() && far.stacks().await.is_empty(), "{place}: {refusal:?}");
            return 0;
        }
    };
    let end = world.settled(&web).await;
    assert_eq!(end, "CREATE_COMPLETE", "{place}: {}", world.reason(web.stack).await);
    for (action, wanted) in
        [(Action::Suspend, "SUSPEND_COMPLETE"), (Action::Resume, "RESUME_COMPLETE")]
    {
        let end = far::act(&world, web.stack, action).await;
        assert_eq!(end, wanted, "{place}: {}", world.reason(web.stack).await);
    }
    if let Ok(updated) = world.update(web.stack, far.template("two")).await {
        let end = world.settled(&updated).await;
        assert_eq!(end, "UPDATE_COMPLETE", "{place}: {}", world.reason(web.stack).await);
    }
    assert_eq!((far.stacks().await.len(), far.networks()), (1, empty + 1), "{place}");
    let deleted = world.delete(web.stack).await.unwrap();
    let end = world.settled(&deleted).await;
    assert_eq!(end, "DELETE_COMPLETE", "{place}: {}", world.reason(web.stack).await);
    assert_eq!((far.stacks().await.len(), far.networks()), (0, empty), "{place}");
    let calls = far.seen();
    world.engine.shutdown();
    far.stop().await;
    calls
}
