//! Alarms whose actions let groups grow: once, whatever is lost.

use hearth::events::alarm::AlarmState;
use serde_json::{Value, json};

use super::{assert_nothing_left, each_call_fails};
use crate::journeys::alarms::{alarm, output, say, template};
use crate::support::wait::until;
use crate::support::world::Ground;

/// A group of networks, which the alarm `hot` lets grow at the address of its policy.
fn networks() -> Value {
    let mut template = template(json!({}));
    template["resources"]["g"]["properties"]["resource"] = json!({ "type": "OS::Neutron::Net" });
    template
}

async fn grows(ground: &Ground, place: &str) {
    let empty = ground.counts();
    let world = ground.start().await;
    let count = || {
        let networks = |of: &Value| of["networks"].as_u64().unwrap();
        networks(&ground.counts()) - networks(&empty)
    };
    let web = world.create("web", networks()).await.unwrap();
    let end = world.settled(&web).await;
    assert_eq!(end, "CREATE_COMPLETE", "{place}: {}", world.reason(web.stack).await);
    let told = alarm(&world).await.unwrap().made.rule.actions[&AlarmState::Alarm].clone();
    assert!(told[0].ends_with("/resources/up"), "{place}: {told:?}");
    say(&world, AlarmState::Alarm).await.unwrap();
    let grows = async || match output(&world, web.stack, "size").await == 2 {
        true => Ok(()),
        false => Err(format!("{:#?}", world.events(web.stack).await)),
    };
    until(&[&world], format!("{place}: it grows"), grows).await;
    ground.signals_over().await;
    assert_eq!(count(), 2, "{place}");
    let deleted = world.delete(web.stack).await.unwrap();
    let end = world.settled(&deleted).await;
    assert_eq!(end, "DELETE_COMPLETE", "{place}: {}", world.reason(web.stack).await);
    assert!(alarm(&world).await.is_none(), "{place}");
    assert_nothing_left(ground, &empty, place).await;
}

#[actix::test]
async fn an_alarm_lets_a_group_grow_once_whatever_is_lost() {
    each_call_fails("^/network/", &[], 4, grows).await;
}

#[actix::test]
async fn an_alarm_has_an_address_to_tell_and_leaves_no_user_whatever_is_lost() {
    each_call_fails("^/v3/(users|projects|credentials)", &[], 5, grows).await;
}
