//! Alarms that watch metric data and change the size of a group.

use std::sync::Arc;

use chrono::TimeDelta;
use hearth::clock::{Clock, SimulatedClock};
use hearth::events::alarm::{AlarmRule, AlarmState, Comparison, DataPut, Datum, Sample, Statistic};
use hearth::events::log::{EventLog, Filter, MemoryLog};
use hearth::events::{NewEvent, Position, StreamId};
use hearth::model::{Action, JsonMap, Refusal, StackId};
use hearth::projections::{AlarmRow, HistoryQuery, MetricQuery};
use hearth::template::StackSource;
use serde_json::{Value, json};

use crate::support::wait::{WAIT_MAX, polled, until};
use crate::support::world::{Ground, World, hot, test_resource};

/// A group `g` that the alarm `hot` lets grow by the policy `up`.
pub(crate) fn template(alarm: Value) -> Value {
    let mut properties = json!({
        "MetricName": "cpu", "Namespace": "system/linux", "Statistic": "Average", "Period": "60",
        "Threshold": "80", "ComparisonOperator": "GreaterThanThreshold", "EvaluationPeriods": "1",
        "Dimensions": [{ "Name": "Group", "Value": { "get_resource": "g" } }],
        "AlarmActions": [{ "get_attr": ["up", "alarm_url"] }],
    });
    for (name, value) in alarm.as_object().unwrap() {
        properties[name] = value.clone();
    }
    let mut template = hot(json!({
        "g": { "type": "OS::Heat::AutoScalingGroup", "properties": {
            "min_size": 1, "max_size": 4, "resource": test_resource(json!({ "value": "x" })) } },
        "up": { "type": "OS::Heat::ScalingPolicy", "properties": {
            "auto_scaling_group_id": { "get_resource": "g" }, "scaling_adjustment": 1,
            "adjustment_type": "change_in_capacity" } },
        "hot": { "type": "OS::Heat::CWLiteAlarm", "properties": properties },
    }));
    template["outputs"] = json!({
        "size": { "value": { "get_attr": ["g", "current_size"] } },
        "alarm": { "value": { "get_resource": "hot" } },
        "group": { "value": { "get_resource": "g" } },
    });
    template
}

pub(crate) async fn output(world: &World, stack: StackId, key: &str) -> Value {
    let shown = world.views.stack_shown(stack).await.unwrap().unwrap();
    let output = shown.outputs.iter().find(|output| output.key == key).unwrap();
    world.opened(stack, &output.placed)
}

/// Puts a value, in the name of an instance of the group.
pub(crate) async fn put(
    world: &World,
    dimensions: &[(&str, &str)],
    value: f64,
) -> Result<(), Refusal> {
    let dimensions = dimensions.iter().map(|(name, value)| ((*name).into(), (*value).into()));
    put_datum(world, Datum { dimensions: dimensions.collect(), ..datum(value) }).await
}

/// A value of `cpu`, for the alarm by its name.
fn datum(value: f64) -> Datum {
    Datum {
        metric: "cpu".to_owned(),
        dimensions: [("AlarmName".to_owned(), "web-hot".to_owned())].into(),
        unit: Some("Percent".to_owned()),
        value,
        several: None,
        at: None,
    }
}

async fn put_datum(world: &World, datum: Datum) -> Result<(), Refusal> {
    let who = world.requester();
    let project = who.caller.project_id.clone();
    let put = DataPut {
        project_id: project.clone(),
        stack: None,
        namespace: "system/linux".to_owned(),
        data: vec![datum],
    };
    let position = world.engine.alarms().put_data(&who, &project, put).await?;
    world.views.after(position).await.unwrap();
    Ok(())
}

pub(crate) async fn alarm(world: &World) -> Option<AlarmRow> {
    let project = world.requester().caller.project_id.clone();
    world.views.alarms(project, None).await.unwrap().pop()
}

/// Waits until the alarm is in a state.
async fn comes_to(world: &World, state: AlarmState) {
    let comes_to = async || match alarm(world).await.unwrap() {
        alarm if alarm.state == state => Ok(()),
        alarm => Err(format!("{alarm:?}")),
    };
    until(&[world], format!("it is in {state:?}"), comes_to).await;
}

/// Waits until the group has a size.
async fn grows_to(world: &World, stack: StackId, size: u64) {
    let comes_to = async || match output(world, stack, "size").await {
        now if now == size => Ok(()),
        now => Err(now.to_string()),
    };
    until(&[world], format!("it has {size} members"), comes_to).await;
}

#[actix::test]
async fn data_beyond_the_threshold_let_a_group_grow() {
    let clock = Arc::new(SimulatedClock::new(7));
    let ground = Ground::timed(clock.clone()).await;
    let world = ground.start().await;
    // By the name that it has in Amazon's templates.
    let mut template = template(json!({}));
    template["resources"]["hot"]["type"] = "AWS::CloudWatch::Alarm".into();
    let registry = json!({ "AWS::CloudWatch::Alarm": "OS::Heat::CWLiteAlarm" });
    let environment = JsonMap::from_iter([("resource_registry".to_owned(), registry)]);
    let source = StackSource { template, environment, ..StackSource::default() };
    let web = world.create_of("web", source).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE", "{}", world.reason(web.stack).await);
    assert_eq!(output(&world, web.stack, "alarm").await, "web-hot");
    let group = output(&world, web.stack, "group").await;
    let group = group.as_str().unwrap();
    let made = alarm(&world).await.unwrap();
    assert_eq!((made.made.name.as_str(), made.state), ("web-hot", AlarmState::NoData));
    let told = &made.made.rule.actions[&AlarmState::Alarm];
    assert!(told[0].starts_with("arn:openstack:heat::") && told[0].ends_with("/resources/up"));
    let other = put(&world, &[("Group", "other")], 1.0).await.unwrap_err();
    assert_eq!(other.class, "WatchRuleNotFound");
    put(&world, &[("Group", group), ("InstanceId", "1")], 95.0).await.unwrap();
    put(&world, &[("AlarmName", "web-hot")], 75.0).await.unwrap();
    clock.advance(TimeDelta::seconds(60));
    comes_to(&world, AlarmState::Alarm).await;
    grows_to(&world, web.stack, 2).await;
    clock.advance(TimeDelta::seconds(61));
    comes_to(&world, AlarmState::NoData).await;
    put(&world, &[("AlarmName", "web-hot")], 75.0).await.unwrap();
    clock.advance(TimeDelta::seconds(59));
    comes_to(&world, AlarmState::Normal).await;
    assert_eq!(output(&world, web.stack, "size").await, 2);
    let project = world.requester().caller.project_id.clone();
    let query = HistoryQuery { limit: 100, ..HistoryQuery::default() };
    let history = world.views.alarm_history(project.clone(), query).await.unwrap();
    let kinds: Vec<&str> = history.iter().rev().map(|it| it.kind.as_str()).collect();
    let expected = ["ConfigurationUpdate", "StateUpdate", "Action", "StateUpdate", "StateUpdate"];
    assert_eq!(kinds, expected);
    let metrics = world.views.metrics(project.clone(), MetricQuery::default()).await.unwrap();
    assert_eq!(metrics.len(), 2, "{metrics:?}");
    let deleted = world.delete(web.stack).await.unwrap();
    assert_eq!(world.settled(&deleted).await, "DELETE_COMPLETE");
    assert!(alarm(&world).await.is_none());
    let metrics = world.views.metrics(project, MetricQuery::default()).await.unwrap();
    assert!(metrics.is_empty(), "{metrics:?}");
    let gone = put(&world, &[("AlarmName", "web-hot")], 75.0).await.unwrap_err();
    assert_eq!(gone.class, "WatchRuleNotFound");
    let events = ground.log.read_all(Position(0), &Filter::default(), 1_000).await.unwrap();
    for event in &events {
        let is_of_several = &*event.event_type == "AlarmActionsTold";
        assert!(event.meta.cause.is_some(), "{event:?}");
        assert_ne!(event.meta.correlation.is_some(), is_of_several, "{event:?}");
    }
}

#[actix::test]
async fn data_that_were_taken_count_after_a_restart_and_what_was_due_meanwhile_does_not() {
    let clock = Arc::new(SimulatedClock::new(8));
    let ground = Ground::timed(clock.clone()).await;
    let world = ground.start().await;
    let web = world.create("web", template(json!({}))).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE", "{}", world.reason(web.stack).await);
    let alarms = world.engine.alarms();
    let (who, mine) = (world.requester(), world.requester().caller.project_id.clone());
    let drill = (AlarmState::Normal, "a drill".to_owned());
    let set = alarms.set_state(&who, &mine, "web-hot", drill).await.unwrap();
    world.views.after(set).await.unwrap();
    drop(world);
    clock.advance(TimeDelta::seconds(90));
    let world = ground.start().await;
    put(&world, &[("AlarmName", "web-hot")], 95.0).await.unwrap();
    assert_eq!(ground.count("AlarmStateSet").await, 1, "what was due is passed over");
    drop(world);
    let world = ground.start().await;
    // It is awake before its period is over.
    world.engine.alarms().switch(&who, &mine, "web-hot", true).await.unwrap();
    clock.advance(TimeDelta::seconds(30));
    comes_to(&world, AlarmState::Alarm).await;
    grows_to(&world, web.stack, 2).await;
}

#[actix::test]
async fn an_alarm_that_is_damaged_is_passed_over_and_the_others_go_on() {
    let clock = Arc::new(SimulatedClock::new(11));
    let ground = Ground::timed(clock.clone()).await;
    let world = ground.start().await;
    let web = world.create("web", template(json!({ "AlarmActions": [] }))).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE", "{}", world.reason(web.stack).await);
    let (who, mine) = (world.requester(), world.requester().caller.project_id.clone());
    let rule = alarm(&world).await.unwrap().made.rule;
    let made = world.engine.alarms().put_alarm(&who, &mine, "damaged", rule).await.unwrap();
    world.views.after(made).await.unwrap();
    let damaged = world.views.alarms(mine.clone(), None).await.unwrap().remove(0).made;
    assert_eq!(damaged.name, "damaged");
    let stream = StreamId::alarm(damaged.alarm_id);
    let event = NewEvent {
        event_type: "AlarmStateSet",
        version: 1,
        at: clock.now(),
        meta: Arc::default(),
        body: "null".to_owned(),
    };
    let head = ground.log.head(&stream).await.unwrap();
    ground.log.append(&stream, head, vec![event]).await.unwrap();
    drop(world);
    let world = ground.start().await;
    put(&world, &[("AlarmName", "web-hot")], 95.0).await.unwrap();
    clock.advance(TimeDelta::seconds(60));
    comes_to(&world, AlarmState::Alarm).await;
}

#[actix::test]
async fn data_count_in_the_period_of_their_own_time_whenever_they_come() {
    let clock = Arc::new(SimulatedClock::new(9));
    let ground = Ground::timed(clock.clone()).await;
    let world = ground.start().await;
    let web = world.create("web", template(json!({ "AlarmActions": [] }))).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE", "{}", world.reason(web.stack).await);
    let ago = |seconds| Some(clock.now() - TimeDelta::seconds(seconds));
    put_datum(&world, Datum { at: ago(3600), ..datum(95.0) }).await.unwrap();
    put_datum(&world, Datum { at: ago(-90), ..datum(20.0) }).await.unwrap();
    let several = Sample { count: 3.0, sum: 255.0, minimum: 70.0, maximum: 100.0 };
    let of_three = Datum { several: Some(several), ..datum(several.average()) };
    put_datum(&world, Datum { at: ago(-1), ..of_three }).await.unwrap();
    drop(world);
    let world = ground.start().await;
    // It is awake before its period is over.
    put_datum(&world, Datum { at: ago(86_400), ..datum(1.0) }).await.unwrap();
    clock.advance(TimeDelta::seconds(60));
    comes_to(&world, AlarmState::Alarm).await;
    let gone_off = alarm(&world).await.unwrap();
    assert!(gone_off.reason.contains("is 85;"), "{}", gone_off.reason);
    clock.advance(TimeDelta::seconds(60));
    comes_to(&world, AlarmState::Normal).await;
    let well = alarm(&world).await.unwrap();
    assert!(well.reason.contains("is 20;"), "{}", well.reason);
    for at in [ago(15 * 86_400), ago(-3 * 3600)] {
        let refused = put_datum(&world, Datum { at, ..datum(1.0) }).await.unwrap_err();
        assert_eq!(refused.class, "Invalid", "{refused}");
    }
}

#[actix::test]
async fn no_datum_is_lost_between_two_periods_however_late_somebody_looks() {
    let clock = Arc::new(SimulatedClock::new(10));
    let ground = Ground::timed(clock.clone()).await;
    let world = ground.start().await;
    let quiet = json!({ "AlarmActions": [], "Statistic": "Maximum" });
    let web = world.create("web", template(quiet)).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE", "{}", world.reason(web.stack).await);
    // In the first moment of a period, which a look half a second late would leave out.
    put(&world, &[("AlarmName", "web-hot")], 95.0).await.unwrap();
    clock.advance(TimeDelta::milliseconds(60_500));
    comes_to(&world, AlarmState::Alarm).await;
    // After that one was over, before anybody looked.
    let between = Some(clock.now() - TimeDelta::milliseconds(400));
    put_datum(&world, Datum { at: between, ..datum(20.0) }).await.unwrap();
    clock.advance(TimeDelta::milliseconds(60_300));
    comes_to(&world, AlarmState::Normal).await;
    // Two periods are over before anybody looks: each is evaluated.
    put(&world, &[("AlarmName", "web-hot")], 96.0).await.unwrap();
    let before = ground.count("AlarmStateSet").await;
    clock.advance(TimeDelta::seconds(125));
    comes_to(&world, AlarmState::NoData).await;
    assert_eq!(ground.count("AlarmStateSet").await, before + 2);
}

#[actix::test]
async fn an_alarm_rests_with_its_stack_and_an_update_changes_it_in_place() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let web = world.create("web", template(json!({}))).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE", "{}", world.reason(web.stack).await);
    let act = async |action| {
        let acted = world.engine.act_on_stack(&world.requester(), web.stack, action).await;
        world.settled(&acted.unwrap()).await
    };
    assert_eq!(act(Action::Suspend).await, "SUSPEND_COMPLETE");
    assert_eq!(alarm(&world).await.unwrap().state, AlarmState::Suspended);
    assert!(put(&world, &[("AlarmName", "web-hot")], 95.0).await.is_err(), "nobody listens");
    assert_eq!(act(Action::Resume).await, "RESUME_COMPLETE");
    let before = alarm(&world).await.unwrap();
    assert_eq!(before.state, AlarmState::NoData);
    let changed = template(json!({ "Threshold": "90", "OKActions": ["nobody"] }));
    let updated = world.update(web.stack, changed).await.unwrap();
    assert_eq!(
        world.settled(&updated).await,
        "UPDATE_COMPLETE",
        "{}",
        world.reason(web.stack).await
    );
    let after = alarm(&world).await.unwrap();
    assert_eq!(after.made.alarm_id, before.made.alarm_id);
    assert_eq!(after.made.rule.threshold, 90.0);
    let renamed = template(json!({ "MetricName": "mem" }));
    let updated = world.update(web.stack, renamed).await.unwrap();
    assert_eq!(
        world.settled(&updated).await,
        "UPDATE_COMPLETE",
        "{}",
        world.reason(web.stack).await
    );
    let replaced = alarm(&world).await.unwrap();
    assert_ne!(replaced.made.alarm_id, before.made.alarm_id);
    assert_eq!(replaced.made.rule.metric, "mem");
    let project = world.requester().caller.project_id.clone();
    assert_eq!(world.views.alarms(project, None).await.unwrap().len(), 1, "the old one is gone");
    for hidden in ["AlarmDescription", "AlarmActions"] {
        let secret = json!({ "get_param": "word" });
        let value = if hidden == "AlarmActions" { json!([secret]) } else { secret };
        let mut told = template(json!({ "MetricName": "mem", hidden: value }));
        told["parameters"] =
            json!({ "word": { "type": "string", "hidden": true, "default": "open-sesame" } });
        let updated = world.update(web.stack, told).await.unwrap();
        assert_eq!(world.settled(&updated).await, "UPDATE_FAILED", "{hidden}");
        assert!(!world.reason(web.stack).await.contains("open-sesame"));
    }
    let wrong = template(json!({ "Period": "often" }));
    let updated = world.update(web.stack, wrong).await.unwrap();
    assert_eq!(world.settled(&updated).await, "UPDATE_FAILED");
}

#[actix::test]
async fn a_state_that_a_client_sets_has_its_actions_and_a_restart_forgets_nothing() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let web = world.create("web", template(json!({}))).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE", "{}", world.reason(web.stack).await);
    put(&world, &[("AlarmName", "web-hot")], 95.0).await.unwrap();
    drop(world);
    let world = ground.start().await;
    let (who, alarms) = (world.requester(), world.engine.alarms());
    let project = who.caller.project_id.clone();
    let drill = (AlarmState::Alarm, "a drill".to_owned());
    let missing = alarms.set_state(&who, &project, "other", drill.clone()).await.unwrap_err();
    assert_eq!(missing.class, "WatchRuleNotFound");
    alarms.set_state(&who, &project, "web-hot", drill.clone()).await.unwrap();
    grows_to(&world, web.stack, 2).await;
    let again = alarms.set_state(&who, &project, "web-hot", drill.clone()).await.unwrap();
    world.views.after(again).await.unwrap();
    assert_eq!(ground.count("AlarmStateSet").await, 1);
    let other = "somebody".into();
    let others = alarms.set_state(&who, &other, "web-hot", drill).await.unwrap_err();
    assert_eq!(others.class, "WatchRuleNotFound");
    let refused = alarms.delete(&who, &project, &["web-hot".to_owned()]).await.unwrap_err();
    assert_eq!(refused.class, "Invalid");
    assert_eq!(ground.count("DataPut").await, 1);
}

/// A resource `a` that the alarm `hot` has made anew by the restarter `again`.
pub(crate) fn restarting() -> Value {
    let told = json!([{ "get_attr": ["again", "AlarmUrl"] }]);
    let mut template = hot(json!({
        "a": test_resource(json!({ "value": "x" })),
        "again": { "type": "OS::Heat::HARestarter",
                   "properties": { "InstanceId": { "get_resource": "a" } } },
        "hot": { "type": "OS::Heat::CWLiteAlarm", "properties": {
            "MetricName": "beat", "Statistic": "SampleCount", "Period": "60", "Threshold": "1",
            "ComparisonOperator": "LessThanThreshold", "AlarmActions": told,
            "OKActions": [{ "get_resource": "again" }] } },
    }));
    template["outputs"] = json!({
        "id": { "value": { "get_resource": "a" } },
        "address": { "value": { "get_attr": ["again", "AlarmUrl"] } },
    });
    template
}

/// Says by hand how the alarm stands.
pub(crate) async fn say(world: &World, state: AlarmState) -> Result<(), Refusal> {
    let who = world.requester();
    let project = who.caller.project_id.clone();
    let alarms = world.engine.alarms();
    let said = alarms.set_state(&who, &project, "web-hot", (state, "a drill".to_owned())).await?;
    world.views.after(said).await.unwrap();
    Ok(())
}

#[actix::test]
async fn an_alarm_that_goes_off_has_a_resource_made_anew() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let web = world.create("web", restarting()).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE", "{}", world.reason(web.stack).await);
    let (id, address) = (output(&world, web.stack, "id").await, "address");
    let signed = output(&world, web.stack, address).await;
    assert!(signed.as_str().unwrap().contains("/v1/signal/"), "{signed}");
    say(&world, AlarmState::Normal).await.unwrap();
    ground.signals_over().await;
    assert_eq!(output(&world, web.stack, "id").await, id, "all is well");
    say(&world, AlarmState::Alarm).await.unwrap();
    // The alarm tells the restarter after it has answered.
    let is_begun = async || ground.count("ReplacementStarted").await > 0;
    until(&[&ground], "it is made anew", is_begun).await;
    ground.signals_over().await;
    ground.views_catch_up(&world).await;
    assert_eq!(world.at_rest(web.stack).await, "UPDATE_COMPLETE");
    assert_ne!(output(&world, web.stack, "id").await, id);
    assert_eq!(output(&world, web.stack, address).await, signed, "it is signaled where it was");
    assert_eq!(ground.count("ReplacementStarted").await, 1);
    let events = world.events(web.stack).await;
    assert!(events.contains(&"a CHECK_FAILED".to_owned()), "{events:#?}");
}

#[actix::test]
async fn what_is_not_there_or_at_work_is_not_made_anew() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let mut template = restarting();
    template["resources"]["again"]["properties"]["InstanceId"] = "other".into();
    let web = world.create("web", template.clone()).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE", "{}", world.reason(web.stack).await);
    let signal = async || {
        let (who, again) = (world.requester(), "again".into());
        world.engine.signal_resource(&who, web.stack, &again, &Value::Null).await.unwrap();
        ground.signals_over().await;
    };
    signal().await;
    template["resources"]["again"]["properties"]["InstanceId"] = json!({ "get_resource": "a" });
    template["resources"]["slow"] = test_resource(json!({ "value": "x", "wait_secs": 3600 }));
    world.update(web.stack, template).await.unwrap();
    world.at_work(&web, "slow").await;
    signal().await;
    assert_eq!(ground.count("ReplacementStarted").await, 0);
    assert_eq!(ground.count("HealthMarked").await, 0);
}

/// More than one in a day.
fn rule(metric: &str) -> AlarmRule {
    AlarmRule {
        description: None,
        namespace: None,
        metric: metric.to_owned(),
        dimensions: Default::default(),
        unit: None,
        statistic: Statistic::Sum,
        comparison: Comparison::GreaterThanThreshold,
        threshold: 1.0,
        period: 86_400,
        periods: 1,
        actions: Default::default(),
        tells: true,
    }
}

#[actix::test]
async fn what_a_project_keeps_of_alarms_and_data_is_bounded() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let (who, alarms) = (world.requester(), world.engine.alarms());
    let project = who.caller.project_id.clone();
    for number in 0..500 {
        let name = format!("alarm-{number}");
        alarms.put_alarm(&who, &project, &name, rule("cpu")).await.unwrap();
    }
    let refused = alarms.put_alarm(&who, &project, "more", rule("cpu")).await.unwrap_err();
    assert_eq!(refused.class, "RequestLimitExceeded", "{refused}");
    alarms.put_alarm(&who, &project, "alarm-0", rule("mem")).await.unwrap();
    let put = |metrics: usize, of: usize| DataPut {
        project_id: project.clone(),
        stack: None,
        namespace: "n".to_owned(),
        data: (0..metrics)
            .map(|number| Datum {
                metric: "cpu".to_owned(),
                dimensions: [("of".to_owned(), format!("{of}-{number}"))].into(),
                unit: None,
                value: 1.0,
                several: None,
                at: None,
            })
            .collect(),
    };
    alarms.put_data(&who, &project, put(1_000, 1)).await.unwrap();
    let refused = alarms.put_data(&who, &project, put(1, 2)).await.unwrap_err();
    assert_eq!(refused.class, "RequestLimitExceeded", "metrics: {refused}");
    alarms.put_data(&who, &project, put(1_000, 1)).await.unwrap();
    let refused = alarms.put_data(&who, &project, put(1, 1)).await.unwrap_err();
    assert_eq!(refused.class, "RequestLimitExceeded", "a minute: {refused}");
    let deleted: Vec<String> = (0..500).map(|number| format!("alarm-{number}")).collect();
    alarms.delete(&who, &project, &deleted).await.unwrap();
    alarms.put_alarm(&who, &project, "more", rule("cpu")).await.unwrap();
}

#[actix::test]
async fn an_alarm_whose_deletion_is_lost_is_there_again() {
    let ground = Ground::new().await;
    let log = Arc::new(MemoryLog::new());
    let world = ground.start_on(log.clone()).await;
    let (who, alarms) = (world.requester(), world.engine.alarms());
    let project = who.caller.project_id.clone();
    let made = alarms.put_alarm(&who, &project, "kept", rule("cpu")).await.unwrap();
    log.durable(made).await.unwrap();
    let generation = *log.generation().borrow();
    log.hold();
    alarms.delete(&who, &project, &["kept".to_owned()]).await.unwrap();
    log.lose("no space left on device");
    assert!(*log.generation().borrow() > generation);
    // It is read back as soon as the engine has heard of it.
    let set = async || {
        let state = (AlarmState::Alarm, "a drill".to_owned());
        alarms.set_state(&who, &project, "kept", state).await
    };
    let is_back = async || set().await.map_err(|refused| refused.to_string());
    polled(WAIT_MAX, "it is there again", is_back).await;
    let deleted = alarms.delete(&who, &project, &["kept".to_owned()]).await.unwrap();
    assert!(deleted > Position(0), "nothing was deleted");
    log.durable(deleted).await.unwrap();
    assert_eq!(set().await.unwrap_err().class, "WatchRuleNotFound");
}
