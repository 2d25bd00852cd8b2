//! Stacks in another region or cloud.

use hearth::model::Action;

use crate::support::far::{self, Far, Lost, Place};

#[actix::test]
async fn a_stack_elsewhere_is_made_changed_and_deleted_whatever_is_lost() {
    let region = [Lost::Request, Lost::Answer, Lost::Refused].map(|lost| (Place::Region, lost));
    let cloud = [Lost::Answer, Lost::Token];
    for (place, lost) in region.into_iter().chain(cloud.map(|lost| (Place::Cloud, lost))) {
        let (mut calls, mut number) = (0, 0);
        while number <= calls {
            let far = Far::new(place).await;
            let world = far.ground.start().await;
            let empty = far.networks();
            // The first time without a loss, to see how many calls there are.
            far.lose(if number > 0 { number - 1 } else { usize::MAX }, lost);
            let place = format!("{place:?}: call {number} meets {lost:?}");
            let web = match world.create("web", far.template("one")).await {
                Ok(web) => web,
                // Before anything is accepted the place there is only looked at.
                Err(refusal) => {
                    assert!(number > 0 && far.stacks().await.is_empty(), "{place}: {refusal:?}");
                    number += 1;
                    continue;
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
            if number == 0 {
                calls = far.seen();
                assert!(calls > 9, "the journey makes only {calls} calls");
            }
            number += 1;
            world.engine.shutdown();
            far.stop().await;
        }
    }
}
