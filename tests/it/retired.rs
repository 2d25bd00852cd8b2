//! Types that are taken and make nothing, in the place of those that Heat has given up.

use std::collections::BTreeMap;

use hearth::projections::ResourceRow;
use hearth::resource_types::Registry;
use hearth::template::{Documents, PseudoParameters, Severity, diagnose};
use serde_json::{Value, json};

use crate::support::world::{Ground, hot};

/// The names of the types, with the type that takes the place of each, if there is one.
fn retired(registry: &Registry) -> BTreeMap<&str, Option<&str>> {
    let hidden =
        registry.declarations().filter(|it| it.accepts_anything && it.support.status() == "HIDDEN");
    hidden.map(|it| (it.type_name.as_str(), it.successor.as_deref())).collect()
}

/// A template with a resource of each.
fn template(registry: &Registry, properties: Value) -> Value {
    let resources = retired(registry).into_keys().map(|name| {
        let resource = json!({ "type": name, "properties": properties });
        (name.replace("::", "-"), resource)
    });
    hot(Value::Object(resources.collect()))
}

#[actix::test]
async fn they_are_made_changed_and_deleted_without_a_call() {
    let registry = Registry::built_in().unwrap();
    let ground = Ground::new().await;
    let world = ground.start().await;
    let mut first = template(&registry, json!({ "size": 1, "anything": [{ "goes": true }] }));
    let attribute = json!({ "get_attr": ["OS-Sahara-Cluster", "info", "nodes"] });
    first["outputs"] = json!({ "nodes": { "value": attribute } });
    let web = world.create("web", first).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE", "{}", world.reason(web.stack).await);
    let resources = world.views.resources(web.stack).await.unwrap();
    assert_eq!(resources.len(), 31);
    assert!(resources.iter().all(|resource| resource.physical_id.is_some()));
    let expected: BTreeMap<String, String> = retired(&registry)
        .into_iter()
        .map(|(name, newer)| {
            let newer = newer.map(|newer| format!("; {newer} takes its place"));
            let says = format!("state changed: {name} does nothing any more");
            (name.replace("::", "-"), says + &newer.unwrap_or_default())
        })
        .collect();
    let said = |rows: &[ResourceRow]| -> BTreeMap<String, String> {
        rows.iter().map(|row| (row.name.to_string(), row.reason.clone())).collect()
    };
    assert_eq!(said(&resources), expected);
    assert_eq!(
        world.engine.outputs_now(&world.requester(), web.stack).await.unwrap()[0].value,
        Value::Null
    );
    let id = world.physical_id(web.stack, "OS-Sahara-Cluster").await;
    let updated = world.update(web.stack, template(&registry, json!({ "size": "other" }))).await;
    assert_eq!(world.settled(&updated.unwrap()).await, "UPDATE_COMPLETE");
    assert_eq!(world.physical_id(web.stack, "OS-Sahara-Cluster").await, id);
    let deleted = world.delete(web.stack).await.unwrap();
    assert_eq!(world.settled(&deleted).await, "DELETE_COMPLETE");
    let requests = ground.sandbox.requests();
    let calls: Vec<String> = requests
        .iter()
        .map(|seen| format!("{} {}", seen.method, seen.path))
        .filter(|call| !call.contains("/v3/"))
        .collect();
    assert_eq!(calls, [""; 0]);
}

#[test]
fn a_look_at_a_template_says_that_they_do_nothing_and_what_takes_their_place() {
    let registry = Registry::built_in().unwrap();
    for (name, successor) in retired(&registry) {
        let text = hot(json!({ "r": { "type": name } })).to_string();
        let documents = Documents {
            template: ("r.yaml".to_owned(), text),
            environments: Vec::new(),
            parameters: Default::default(),
            files: BTreeMap::new(),
            file_names: BTreeMap::new(),
        };
        let found = diagnose(&documents, &PseudoParameters::default(), &registry, &|_| Vec::new());
        let found = found.findings;
        let [finding] = &found[..] else { panic!("{name}: {found:?}") };
        assert_eq!(finding.severity, Severity::Warning);
        assert!(finding.message.contains("does nothing any more"), "{}", finding.message);
        match successor {
            Some(newer) => {
                assert!(registry.schema(newer).is_some(), "{newer} is to take the place of {name}");
                assert!(finding.message.ends_with(&format!("; `{newer}` takes its place")));
            }
            None => assert!(!finding.message.contains("takes its place")),
        }
        let refused = registry.show(name).unwrap_err();
        assert_eq!(
            (&*refused.class, &*refused.message),
            ("NotSupported", &*format!("{name} is not supported."))
        );
    }
}
