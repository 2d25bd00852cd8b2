//! Types in Amazon's words, over the sandbox.

use hearth::events::Position;
use hearth::events::log::Filter;
use hearth::model::StackId;
use serde_json::{Value, json};

use crate::support::world::{Ground, World, hot};

async fn attributes(world: &World, id: StackId, name: &str) -> Value {
    let who = world.requester();
    Value::Object(world.engine.inspect_resource(&who, id, &name.into(), &[]).await.unwrap())
}

fn people(policies: Value) -> Value {
    hot(json!({
        "policy": { "type": "OS::Heat::AccessPolicy",
                    "properties": { "AllowedResources": ["user"] } },
        "user": { "type": "AWS::IAM::User", "depends_on": "policy", "properties": {
            "LoginProfile": { "Password": "Let-me-in-7" }, "Policies": policies } },
        "key": { "type": "AWS::IAM::AccessKey",
                 "properties": { "UserName": { "get_resource": "user" } } },
    }))
}

#[actix::test]
async fn a_key_is_its_users_and_goes_before_him() {
    let ground = Ground::new().await;
    let empty = ground.counts();
    let world = ground.start().await;
    let web = world.create("web", people(json!([{ "Effect": "Allow" }, "policy"]))).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE", "{}", world.reason(web.stack).await);
    let user = world.physical_id(web.stack, "user").await.unwrap();
    let access = world.physical_id(web.stack, "key").await.unwrap();
    let shown = attributes(&world, web.stack, "key").await;
    let name = shown["UserName"].as_str().unwrap();
    assert!(name.starts_with("web-user-"), "{name}");
    let secret = shown["SecretAccessKey"].as_str().unwrap();
    assert!(secret.len() > 30 && user.len() == 32, "{user}");
    assert_eq!(access.len(), 32);
    assert_eq!(ground.counts()["credentials"], json!(1));

    let all = ground.log.read_all(Position(0), &Filter::default(), usize::MAX).await.unwrap();
    for hidden in [secret, "Let-me-in-7"] {
        assert!(all.iter().all(|event| !format!("{:?}", event.body).contains(hidden)));
    }
    let without_key = hot(json!({
        "policy": people(Value::Null)["resources"]["policy"],
        "user": people(json!([{ "Effect": "Allow" }, "policy"]))["resources"]["user"],
    }));
    let updated = world.update(web.stack, without_key).await.unwrap();
    assert_eq!(world.settled(&updated).await, "UPDATE_COMPLETE");
    assert_eq!(ground.counts()["credentials"], empty["credentials"]);
    assert_eq!(world.physical_id(web.stack, "user").await, Some(user));
    let deleted = world.delete(web.stack).await.unwrap();
    assert_eq!(world.settled(&deleted).await, "DELETE_COMPLETE");
    for kind in ["projects", "grants"] {
        assert_eq!(ground.counts()[kind], empty[kind], "{kind}");
    }
}

#[actix::test]
async fn a_policy_that_is_none_and_a_user_who_is_nobody_are_refused() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    for policy in ["nothing", "value"] {
        let mut template = people(json!([policy]));
        template["resources"]["value"] = json!({ "type": "OS::Heat::RandomString" });
        template["resources"]["user"]["depends_on"] = "value".into();
        let web = world.create(policy, template).await.unwrap();
        assert_eq!(world.settled(&web).await, "CREATE_FAILED");
        let expected = "Resource CREATE failed: InvalidTemplateAttribute: resources.user: The \
                        Referenced Attribute (user Policies) is incorrect.";
        assert_eq!(world.reason(web.stack).await, expected);
    }
    let mut template = people(json!([]));
    template["resources"]["key"]["properties"]["UserName"] = "somebody".into();
    let web = world.create("web", template).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_FAILED");
    let expected = "Resource CREATE failed: NotFound: resources.key: could not find user somebody";
    assert_eq!(world.reason(web.stack).await, expected);
}

#[actix::test]
async fn without_a_domain_for_them_there_are_no_users() {
    let ground = Ground::new().await;
    let world = ground.start_without_users().await;
    let web = world.create("web", people(json!([]))).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_FAILED");
    let reason = world.reason(web.stack).await;
    assert!(reason.ends_with("There is no domain for stacks' users"), "{reason}");
}
