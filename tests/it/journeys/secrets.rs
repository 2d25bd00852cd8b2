//! Secrets: sealed in the log, open where they are used.

use std::io::Write;
use std::sync::{Arc, Mutex};

use hearth::actors::CreateStack;
use hearth::events::Position;
use hearth::events::log::{EventLog, Filter, MemoryLog};
use hearth::model::taint;
use hearth::openstack::{Elsewhere, Request, Service};
use hearth::projections::StackQuery;
use hearth::template::StackSource;
use serde_json::{Value, json};

use crate::support::far::{self, Far, Place};
use crate::support::world::Ground;

#[actix::test]
async fn a_hidden_parameter_is_used_and_nowhere_in_clear() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let template = json!({
        "heat_template_version": "2021-04-16",
        "parameters": { "password": { "type": "string", "hidden": true } },
        "resources": {
            "a": { "type": "OS::Heat::TestResource",
                   "properties": { "value": { "str_replace": {
                       "template": "pw=PW", "params": { "PW": { "get_param": "password" } } } } } },
            "b": { "type": "OS::Heat::TestResource",
                   "properties": { "value": { "get_attr": ["a", "output"] } } },
            "r": { "type": "OS::Heat::RandomString", "properties": { "length": 24 } },
            "s": { "type": "OS::Heat::TestResource",
                   "properties": { "value": { "get_resource": "r" } } },
        },
        "outputs": { "told": { "value": { "get_attr": ["b", "output"] } } },
    });
    let ask = CreateStack {
        name: "web".into(),
        source: StackSource {
            template,
            parameters: serde_json::from_value(json!({ "password": "tr0ub4dor" })).unwrap(),
            ..StackSource::default()
        },
        timeout_mins: None,
        disable_rollback: true,
        tags: Vec::new(),
    };
    let web = world.engine.create_stack(&world.requester(), ask).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE", "{}", world.reason(web.stack).await);
    let events = ground.log.read_all(Position(0), &Filter::default(), 10_000).await.unwrap();
    assert!(events.iter().any(|event| event.body.contains("sealed")));
    for event in &events {
        assert!(!event.body.contains("tr0ub4dor"), "{} {}", event.event_type, event.body);
    }
    // A generated value is a secret too: nothing but its holder's seal may repeat it.
    let source = world.engine.source_of(&world.requester(), web.stack).await.unwrap();
    assert_eq!(taint::plain(source.parameters["password"].clone()), json!("tr0ub4dor"));
}

/// A line of the process's log, as it would be printed.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[actix::test]
async fn a_credential_for_another_cloud_is_used_and_shown_nowhere() {
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
    let deleted = world.delete(web.stack).await.unwrap();
    assert_eq!(world.settled(&deleted).await, "DELETE_COMPLETE");

    let secret = credential["auth"]["application_credential_secret"].as_str().unwrap();
    let printed = printed(&far, &credential).await + &printed(&far, &wrong).await;
    let log = ground_log(&far.ground.log).await + &ground_log(&far.log).await;
    for (text, known) in [(&printed, "/key-manager/v1/secrets/"), (&log, "web-far-")] {
        assert!(text.contains(known), "{known}");
    }
    let shown = format!("{:?}", world.views.stacks(StackQuery::default()).await.unwrap());
    for text in [log, printed, shown, refusals.join("\n")] {
        // Tokens begin as Keystone's do.
        for never in [secret, "n0-secret-there", "gAAAAA"] {
            let at = text.find(never).map(|at| &text[at.saturating_sub(300)..]);
            assert_eq!(at, None, "{never}");
        }
    }
    far.stop().await;
}

/// What is printed on this thread while a session is found and used by a credential.
async fn printed(far: &Far, credential: &Value) -> String {
    let secret = far::store(&far.ground, credential).await;
    let session = far.ground.session();
    let lines = Lines::default();
    let writer = lines.clone();
    let printer = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(move || writer.clone());
    let _printing = tracing::subscriber::set_default(printer.finish());
    let to = Elsewhere { credential: Some(&secret), ..Elsewhere::default() };
    let heat = Service::of_type("orchestration");
    let there = session.elsewhere(&to, &heat).await;
    tracing::info!(?there, "a session");
    if let Ok(Some(there)) = there {
        there.send(Request::get(heat, "/stacks")).await.unwrap();
    }
    String::from_utf8(lines.0.lock().unwrap().clone()).unwrap()
}

/// All that a log has, in one text.
async fn ground_log(log: &MemoryLog) -> String {
    let events = log.read_all(Position(0), &Filter::default(), 10_000).await.unwrap();
    events.iter().map(|event| format!("{event:?}\n")).collect()
}
