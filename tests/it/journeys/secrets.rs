//! Secrets of another cloud's, where they are refused; see `secrets_everywhere` for all others.

use hearth::events::Position;
use hearth::events::log::{EventLog, Filter};
use hearth::openstack::{Elsewhere, Request, Service};
use serde_json::{Value, json};

use crate::support::far::{self, Far, Place};
use crate::support::printed::Printed;

#[actix::test]
async fn a_credential_that_opens_nothing_is_shown_nowhere() {
    let far = Far::new(Place::Cloud).await;
    let world = far.ground.start().await;
    let credential = far::credential(far.there(), &far.there().sandbox.auth_url).await;
    let mut wrong = credential.clone();
    wrong["auth"]["application_credential_secret"] = "n0-secret-there".into();
    wrong["auth"]["application_credential_id"] = json!(["an-1d-that-is-none"]);
    let unread = json!("n0-secret-there");
    let template = async |payload| {
        let secret = far::store(&far.ground, payload).await;
        far::template_in(json!({ "credential_secret_id": secret }), "one")
    };
    let web = world.create("web", template(&credential).await).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE", "{}", world.reason(web.stack).await);
    let refusal = world.update(web.stack, template(&wrong).await).await.unwrap_err();
    let refusals = [
        format!("{refusal:?}"),
        format!("{:?}", world.create("no", template(&unread).await).await),
        format!("{:?}", world.update(web.stack, template(&unread).await).await),
    ];
    let printed = printed(&far, &wrong).await;
    let log = ground_log(far.ground.log.as_ref()).await;
    for (text, known) in [(&printed, "/key-manager/v1/secrets/"), (&log, "web")] {
        assert!(text.contains(known), "{known}");
    }
    for text in [log, printed, refusals.join("\n")] {
        let at = text.find("n0-secret-there").map(|at| &text[at.saturating_sub(300)..]);
        assert_eq!(at, None);
    }
    far.stop().await;
}

/// What is printed on this thread while a session is found and used by a credential.
async fn printed(far: &Far, credential: &Value) -> String {
    let secret = far::store(&far.ground, credential).await;
    let session = far.ground.session();
    let printed = Printed::of_this_thread();
    let to = Elsewhere { credential: Some(&secret), ..Elsewhere::default() };
    let heat = Service::of_type("orchestration");
    let there = session.elsewhere(&to, &heat).await;
    tracing::info!(?there, "a session");
    if let Ok(Some(there)) = there {
        there.send(Request::get(heat, "/stacks")).await.unwrap();
    }
    printed.text()
}

/// All that a log has, in one text.
async fn ground_log(log: &dyn EventLog) -> String {
    let events = log.read_all(Position(0), &Filter::default(), 10_000).await.unwrap();
    events.iter().map(|event| format!("{event:?}\n")).collect()
}
