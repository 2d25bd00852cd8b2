//! The program of a stack that a resource has in another region or cloud: what a stack here is told
//! by the engine, the Heat there is asked through its API, as other types ask their services. Nothing
//! of such a stack is in the log here but what was asked and answered.

use serde_json::json;

use super::ChildStage;
use crate::events::resource::Step;
use crate::model::Action;
use crate::openstack::{Request, Service, path_segment};
use crate::resource_types::asks::There;
use crate::resource_types::declared::Beating;
use crate::resource_types::failure::Failure;
use crate::resource_types::job::{Beat, Learned, Subject, Work};
use crate::resource_types::stage::{Stages, stages};

stages! {
    /// What a stack elsewhere goes through.
    enum Stage {
        Create = "remote_create" Changes,
        Update = "remote_update" Changes,
        Act = "remote_act" Changes,
        Delete = "remote_delete" Changes,
        Wait = "remote_wait" Looks,
    }
}

/// The Heat of any place.
pub(crate) fn heat() -> Service {
    Service::of_type("orchestration")
}

/// A request about the stack of a resource.
pub(crate) fn request(
    verb: impl Fn(Service, String) -> Request,
    subject: &Subject,
    rest: &str,
) -> Request {
    let name = path_segment(&subject.physical_name);
    let id = path_segment(subject.physical_id.as_deref().unwrap_or_default());
    verb(heat(), format!("/stacks/{name}/{id}{rest}"))
}

/// Makes one beat there.
pub(super) fn beat(beating: &Beating<'_>) -> Result<Beat, Failure> {
    let Beating { cloud, work, subject, step, .. } = *beating;
    let there = cloud.there();
    let Some(stage) = Stage::of(step) else {
        return match ChildStage::of(step) {
            Some(ChildStage::Define) if subject.physical_id.is_none() => {
                Ok(next(Stage::Create.step()))
            }
            Some(ChildStage::Define) => Ok(next(Stage::Update.step())),
            // What is abandoned stays.
            Some(ChildStage::Delete) if subject.abandons => Ok(done()),
            Some(ChildStage::Delete) => Ok(next(Stage::Delete.step())),
            Some(ChildStage::Act) => Ok(next(Stage::Act.step())),
            Some(ChildStage::Settle | ChildStage::Pause) | None => settled(&there, subject, step),
        };
    };
    match stage {
        Stage::Create => create(beating, &there),
        Stage::Update => {
            let mut body = cloud.child_definition()?;
            body["disable_rollback"] = true.into();
            there.send(request(Request::put, subject, "").json(body))?;
            Ok(next(Stage::Wait.with("UPDATE".into())))
        }
        Stage::Act => {
            let Work::Act(action) = *work else { return Ok(done()) };
            let word = action.as_str().to_lowercase();
            let body = json!({ word: null });
            there.send(request(Request::post, subject, "/actions").json(body))?;
            Ok(next(Stage::Wait.with(action.as_str().into())))
        }
        Stage::Delete => {
            let Some(id) = found(&there, subject)? else { return Ok(done()) };
            let known = Subject { physical_id: Some(id.clone()), ..subject.clone() };
            match there.send(request(Request::delete, &known, "")) {
                Ok(_) => Ok(learned(id, "DELETE")),
                Err(error) if error.is_not_found() => Ok(done()),
                Err(error) => Err(error.into()),
            }
        }
        Stage::Wait => settled(&there, subject, step),
    }
}

fn next(next: Step) -> Beat {
    Beat::Next { learned: Learned::default(), next }
}

fn done() -> Beat {
    Beat::Done { learned: Learned::default() }
}

/// The stack there is known, and its action is waited for.
fn learned(id: String, action: &str) -> Beat {
    let learned = Learned { physical_id: Some(id), ..Learned::default() };
    Beat::Next { learned, next: Stage::Wait.with(action.into()) }
}

/// The id of the stack there: the one known, or that of the name.
fn found(there: &There<'_>, subject: &Subject) -> Result<Option<String>, Failure> {
    if let Some(id) = &subject.physical_id {
        return Ok(Some(id.clone()));
    }
    let request = Request::get(heat(), "/stacks").query("stack_name", &subject.physical_name);
    let listed = there.send(request)?.json()?;
    let mut stacks = listed["stacks"].as_array().into_iter().flatten();
    let named = stacks.find(|stack| stack["stack_name"] == subject.physical_name.as_str());
    Ok(named.and_then(|stack| stack["id"].as_str()).map(str::to_owned))
}

fn create(beating: &Beating<'_>, there: &There<'_>) -> Result<Beat, Failure> {
    let former = match beating.is_unanswered() {
        true => found(there, beating.subject)?,
        false => None,
    };
    let id = match former {
        Some(id) => id,
        None => {
            let mut body = beating.cloud.child_definition()?;
            body["stack_name"] = beating.subject.physical_name.as_str().into();
            body["disable_rollback"] = true.into();
            let made = there.send(Request::post(heat(), "/stacks").json(body))?.json()?;
            let missing = || Failure::Failed("The stack that was made has no id.".to_owned());
            made["stack"]["id"].as_str().ok_or_else(missing)?.to_owned()
        }
    };
    Ok(learned(id, "CREATE"))
}

/// Whether the stack has come to the end of the action that the step waits for.
fn settled(there: &There<'_>, subject: &Subject, step: &Step) -> Result<Beat, Failure> {
    let wanted = step.state.as_str().unwrap_or_default();
    let shown = match there.send(request(Request::get, subject, "")) {
        Ok(shown) => shown.json()?,
        Err(error) if error.is_not_found() && wanted == Action::Delete.as_str() => {
            return Ok(done());
        }
        Err(error) => return Err(error.into()),
    };
    let text = |name: &str| shown["stack"][name].as_str().unwrap_or_default();
    let state = text("stack_status");
    let (action, status) = state.split_once('_').unwrap_or((state, ""));
    match status {
        _ if action != wanted => Ok(Beat::Wait { after: None }),
        "IN_PROGRESS" => Ok(Beat::Wait { after: None }),
        "COMPLETE" => Ok(done()),
        "FAILED" => Err(Failure::in_error(state, text("stack_status_reason"))),
        _ => Err(Failure::unknown_status("Resource failed", state)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::clock::{Clock, SimulatedClock};
    use crate::openstack::{CloudError, answered};
    use crate::resource_types::asks::{Answer, Ask, Asks, Facts, Run};
    use crate::resource_types::job::Attempt;

    /// Makes a beat: what it asks, a line each, and what it comes to by these answers of the Heat
    /// there, a status and a body each.
    fn beat_of(
        (work, step, attempt): (&Work, &Step, Attempt),
        id: Option<&str>,
        answers: &[(u16, Value)],
    ) -> (Vec<String>, Result<Beat, Failure>) {
        let subject = Subject {
            physical_name: "web-far-1".to_owned(),
            physical_id: id.map(str::to_owned),
            ..Subject::default()
        };
        let program =
            |cloud: &Asks<'_>| beat(&Beating { cloud, work, subject: &subject, step, attempt });
        let mut run = Run::new(Facts::at(SimulatedClock::new(1).now()));
        let (mut asked, mut answers) = (Vec::new(), answers.iter());
        loop {
            let ask = match run.go_on(program) {
                Ok(outcome) => {
                    assert_eq!(answers.next(), None, "not asked");
                    return (asked, outcome);
                }
                Err(ask) => ask,
            };
            asked.push(ask.to_string());
            let answer = answer(&ask, &mut answers);
            run.answered(ask, answer);
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "nothing else is asked")]
    fn answer<'a>(
        ask: &Ask,
        answers: &mut impl Iterator<Item = &'a (u16, Value)>,
    ) -> Result<Answer, CloudError> {
        match ask {
            Ask::ChildDefinition => Ok(Answer::ChildDefinition(Ok(json!({ "template": "one" })))),
            Ask::CallThere(request) => {
                let (status, body) = answers.next().expect("no answer is left");
                let bytes = body.to_string().into();
                answered(request, "http://far", *status, &[], bytes).map(Answer::Response)
            }
            other => panic!("{other:?}"),
        }
    }

    const DEFINITION: &str = "definition of the stack elsewhere";
    const POST: &str = "elsewhere POST orchestration:/stacks";
    const FIND: &str = "elsewhere GET orchestration:/stacks?stack_name=web-far-1";
    const SHOW: &str = "elsewhere GET orchestration:/stacks/web-far-1/s1";

    fn waits(action: &str) -> Result<Beat, Failure> {
        Ok(learned("s1".to_owned(), action))
    }

    #[test]
    fn a_stack_is_made_once_also_where_the_answer_was_lost() {
        let step = Stage::Create.step();
        let create =
            |attempt, answers: &[_]| beat_of((&Work::Create, &step, attempt), None, answers);
        let made = (201, json!({ "stack": { "id": "s1" } }));
        let none = (200, json!({ "stacks": [{ "stack_name": "other", "id": "s2" }] }));
        let there = (200, json!({ "stacks": [{ "stack_name": "web-far-1", "id": "s1" }] }));
        let asked = |asked: &[&str]| asked.iter().map(|&ask| ask.to_owned()).collect::<Vec<_>>();
        let (first, again) = (Attempt::First, Attempt::Unanswered);
        let straight = create(first, std::slice::from_ref(&made));
        assert_eq!(straight, (asked(&[DEFINITION, POST]), waits("CREATE")));
        let adopted = create(again, &[there]);
        assert_eq!(adopted, (asked(&[FIND]), waits("CREATE")));
        let made_now = create(again, &[none, made]);
        assert_eq!(made_now, (asked(&[FIND, DEFINITION, POST]), waits("CREATE")));
    }

    #[test]
    fn the_stages_of_a_stack_here_lead_to_those_of_one_elsewhere() {
        let suspend = Work::Act(Action::Suspend);
        for (work, stage, id, then) in [
            (&Work::Create, ChildStage::Define, None, Stage::Create),
            (&Work::Create, ChildStage::Define, Some("s1"), Stage::Update),
            (&suspend, ChildStage::Act, Some("s1"), Stage::Act),
            (&Work::Delete, ChildStage::Delete, Some("s1"), Stage::Delete),
        ] {
            let (asked, beat) = beat_of((work, &stage.step(), Attempt::First), id, &[]);
            assert_eq!((asked.is_empty(), beat), (true, Ok(next(then.step()))));
        }
    }

    #[test]
    fn a_stack_that_is_gone_is_deleted_and_fails_any_other_action() {
        let gone = [(404, json!({}))];
        for (action, is_done) in [("DELETE", true), ("UPDATE", false)] {
            let step = Stage::Wait.with(action.into());
            let (asked, beat) = beat_of((&Work::Delete, &step, Attempt::First), Some("s1"), &gone);
            assert_eq!((asked, beat == Ok(done())), (vec![SHOW.to_owned()], is_done));
        }
        let step = Stage::Delete.step();
        let deleted = beat_of((&Work::Delete, &step, Attempt::First), Some("s1"), &gone);
        assert_eq!(deleted.1, Ok(done()));
        let never = [(200, json!({ "stacks": [] }))];
        let never = beat_of((&Work::Delete, &step, Attempt::First), None, &never);
        assert_eq!(never, (vec![FIND.to_owned()], Ok(done())));
    }

    #[test]
    fn an_action_is_waited_for_and_fails_in_the_words_of_the_stack() {
        let at = |state: &str| {
            let stack = json!({ "stack_status": state, "stack_status_reason": "no room" });
            let step = Stage::Wait.with("UPDATE".into());
            let answers = [(200, json!({ "stack": stack }))];
            beat_of((&Work::Create, &step, Attempt::First), Some("s1"), &answers).1
        };
        for state in ["CREATE_COMPLETE", "UPDATE_IN_PROGRESS"] {
            assert_eq!(at(state), Ok(Beat::Wait { after: None }));
        }
        assert_eq!(at("UPDATE_COMPLETE"), Ok(done()));
        assert_eq!(at("UPDATE_FAILED"), Err(Failure::in_error("UPDATE_FAILED", "no room")));
    }
}
