use super::super::story::{Story, given, given_made, group, scaling_group};
use super::*;
use crate::actors::stack::story::delete;

/// The same beat at another stage of other work.
fn at<'a>(story: &'a Story, work: &'a Work, step: &'a Step) -> ChildBeat<'a> {
    ChildBeat { work, step, ..story.beat() }
}

#[test]
fn a_resource_has_a_child_within_its_stack_and_is_made_when_that_is() {
    let story = given(&group(2)).when_told();
    assert_eq!(story.child.orders(), ["converge 0", "converge 1"]);
    let owner = story.child.stack.owner.clone().unwrap();
    assert_eq!((owner.root, owner.depth), (story.parent.stack.id, 1));
    assert_eq!(owner.resource, story.parent.incarnations()["a"]);
    assert!(story.resource.resource.in_progress());
    let story = story.when_child_is_done();
    assert_eq!(story.resource.told(), ["ActionSettled"]);
    assert_eq!(story.resource.resource.child_stack(), Some(story.child.stack.id));
}

#[test]
fn a_beat_that_is_made_again_tells_the_same_child_under_the_same_id() {
    let mut story = given(&group(1));
    let (child, id) = (story.beat().child(), story.telling().id);
    story.resource = story.resource.when_woken();
    assert_eq!((story.beat().child(), story.telling().id), (child, id));
    assert_ne!(story.beat().command_id("delete"), id);
}

#[test]
fn a_child_that_there_is_is_updated_and_one_that_somebody_deleted_is_replaced() {
    let mut story = given_made(&group(1)).when_changed(&json!({ "count": 2 }));
    assert!(matches!(story.telling().command, StackCommand::Update(_)));
    story.child = story.child.when(delete());
    let Ok(Defined::Beat(beat)) = story.beat().defined(&story.sight(), &story.moment()) else {
        panic!("it is told something")
    };
    let reason = "The Resource a requires replacement.".to_owned();
    assert_eq!(*beat, Beat::Replace { reason });
}

#[test]
fn a_failure_in_the_child_is_told_by_its_class_its_place_and_its_words() {
    let mut story = given(&group(1)).when_told();
    story.child = story.child.when_it_fails("0", "Conflict: resources[0]: in use: by b");
    let story = story.when_child_has_ended();
    let reason = "Conflict: resources.a.resources[0]: in use: by b";
    assert_eq!(story.resource.settled().reason, reason);
}

#[test]
fn a_deletion_of_a_child_that_never_was_is_done_and_any_other_refusal_fails_it() {
    let story = given(&group(1));
    let step = ChildStage::Delete.step();
    let beat = at(&story, &Work::Delete, &step);
    let Turn::Tell(Telling { then, command, .. }) = beat.turn(&story.moment()) else {
        panic!("no telling")
    };
    assert!(matches!(command, StackCommand::Delete { .. }));
    let gone = beat.told(then.clone(), Err(Refusal::not_found("Stack", beat.child())));
    assert_eq!(gone.unwrap(), Beat::Done { learned: Learned::default() });
    assert_eq!(beat.told(then.clone(), Ok(())).unwrap(), then);
    assert!(beat.told(then, Err(Refusal::validation("no"))).is_err());
}

#[test]
fn a_child_that_was_told_to_go_and_is_at_something_else_by_now_is_told_again() {
    let story = given(&group(1));
    let step = ChildStage::Settle.step();
    let stays = |status| ChildEnd {
        action: Action::Check,
        status,
        reason: String::new(),
        deleted: false,
        reference: None,
    };
    let beat = at(&story, &Work::Delete, &step);
    assert!(beat.ended(&stays(Status::Failed), None, &story.moment()).is_err());
    let Ok(Beat::Next { next, .. }) = beat.ended(&stays(Status::Complete), None, &story.moment())
    else {
        panic!("it counts as gone")
    };
    let first = beat.command_id("delete");
    let Turn::Tell(Telling { id, then, .. }) =
        at(&story, &Work::Delete, &next).turn(&story.moment())
    else {
        panic!("no telling")
    };
    assert_ne!(id, first);
    let Beat::Next { next, .. } = then else { panic!("{then:?}") };
    assert_eq!((next.name.as_str(), &next.state["round"]), ("settle", &json!(1)));
}

#[test]
fn an_action_after_another_in_one_traversal_tells_the_child_something_new() {
    let mut story = given_made(&group(1)).when_changed(&json!({ "count": 2 }));
    let first = story.telling().id;
    let nesting = story.resource.call().unwrap().nesting.clone().unwrap();
    assert_eq!(nesting.earlier, 0);
    story = story.when_told().when_child_is_done().when_changed(&json!({ "count": 3 }));
    assert_eq!(story.beat().nesting.traversal, nesting.traversal);
    assert_ne!(story.telling().id, first);
}

#[test]
fn the_child_of_an_abandoned_resource_is_abandoned() {
    let story = given(&group(1));
    let abandons = Subject { abandons: true, ..story.beat().subject.clone() };
    let step = ChildStage::Delete.step();
    let beat = ChildBeat { subject: &abandons, ..at(&story, &Work::Delete, &step) };
    let Turn::Tell(telling) = beat.turn(&story.moment()) else { panic!("no telling") };
    assert!(matches!(telling.command, StackCommand::Abandon));
}

#[test]
fn nothing_is_asked_of_a_child_that_was_not_made() {
    let story = given(&group(1));
    let (work, step) = (Work::Act(Action::Suspend), ChildStage::Act.step());
    let Turn::Answer(Err(failure)) = at(&story, &work, &step).turn(&story.moment()) else {
        panic!("the child is asked")
    };
    assert_eq!(failure.to_string(), "Cannot suspend a, stack not created");
}

#[test]
fn a_pause_between_two_definitions_ends_by_the_clock() {
    let story = given(&group(1));
    let until = story.moment().now + TimeDelta::seconds(5);
    let step = ChildStage::Pause.with(json!({ "until": until, "memory": 1, "round": 1 }));
    let beat = at(&story, &Work::Create, &step);
    let Turn::Answer(Ok(Beat::Wait { after })) = beat.turn(&story.moment()) else {
        panic!("no pause")
    };
    assert_eq!(after, Some(Duration::from_secs(5)));
    story.parent.clock.advance(TimeDelta::seconds(5));
    let Turn::Answer(Ok(Beat::Next { next, .. })) = beat.turn(&story.moment()) else {
        panic!("a pause")
    };
    assert_eq!((next.name.as_str(), &next.state["memory"]), ("define", &json!(1)));
}

#[test]
fn a_group_that_changes_in_batches_is_told_one_definition_after_the_other() {
    let mut rolling = group(2);
    rolling["update_policy"] = json!({ "rolling_update": { "max_batch_size": 1 } });
    let member = json!({ "type": "OS::Heat::TestResource", "properties": { "value": "new" } });
    let mut story = given_made(&rolling).when_changed(&json!({ "resource_def": member }));
    let mut told = 0;
    for _ in 0..20 {
        if !story.resource.resource.in_progress() {
            break;
        }
        if !matches!(story.beat().turn(&story.moment()), Turn::Define) {
            story = story.when_child_is_done();
            continue;
        }
        let defined = story.beat().defined(&story.sight(), &story.moment()).unwrap();
        if let Defined::Beat(beat) = defined {
            story.resource = story.resource.when_answered(Ok(*beat));
            continue;
        }
        story = story.when_told();
        told += 1;
    }
    assert_eq!((told, story.resource.resource.status), (2, Status::Complete));
}

#[test]
fn a_group_that_scales_rests_after_its_create() {
    let story = given_made(&scaling_group(1));
    let metadata = &story.resource.settled().metadata;
    assert_eq!(metadata["cooldown_end"]["2026-01-01T00:01:00"], "ExactCapacity : 1");
}

#[test]
fn a_child_that_goes_on_from_rest_says_that_its_parent_does() {
    let mut story = given_made(&group(1)).when_changed(&json!({ "count": 2 }));
    for rests in [false, true] {
        story.parent.stack.rests_in_part = rests;
        let StackCommand::Update(revise) = story.telling().command else { panic!("no update") };
        assert_eq!(revise.from_rest, rests);
    }
}

#[test]
fn the_name_of_a_stack_beside_its_parent_is_given_back_once_it_never_was() {
    let inner = json!({ "template": "heat_template_version: 2018-08-31" });
    let beside = json!({ "type": "OS::Heat::Stack", "properties": inner });
    let never_was = || Err::<(), _>(Refusal::not_found("Stack", "web"));
    let busy = || Err::<(), _>(Refusal::new("ActionInProgress", "busy"));
    for (declared, is_beside) in [(beside, true), (group(1), false)] {
        let story = given(&declared);
        let gives = |work, answer| {
            let beat = ChildBeat { work, ..story.beat() };
            beat.gives_name_back(&answer)
        };
        assert_eq!(gives(&Work::Delete, never_was()), is_beside);
        assert!(!gives(&Work::Create, never_was()));
        assert!(!gives(&Work::Delete, busy()));
        assert!(!gives(&Work::Delete, Ok(())));
    }
}

#[test]
fn balancers_are_told_once_the_last_definition_is_reached_and_not_of_other_work() {
    let story = given(&group(1));
    let done = Beat::Done { learned: Learned::default() };
    let next = Beat::Next { learned: Learned::default(), next: ChildStage::Define.step() };
    let balances = |work: Work, ended| ChildBeat { work: &work, ..story.beat() }.balances(ended);
    assert!(balances(Work::Create, &done));
    assert!(!balances(Work::Create, &next));
    for work in [Work::Delete, Work::Act(Action::Suspend)] {
        assert!(!balances(work, &done));
    }
}
