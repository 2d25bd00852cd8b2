//! Secrets: sealed in the log, open where they are used.

use hearth::actors::CreateStack;
use hearth::events::Position;
use hearth::events::log::{EventLog, Filter};
use hearth::template::StackSource;
use serde_json::json;

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
    assert_eq!(source.parameters["password"], json!("tr0ub4dor"));
}
