//! Work in a listed cloud, and what becomes of it while the cloud is not listed.

use hearth::actors::{CreateStack, RequestContext};
use hearth::clock::{Clock, SystemClock};
use hearth::model::{CommandId, Secret, Trustor};
use hearth::sandbox::{Fault, FaultRule, Sandbox, SandboxConfig};
use hearth::template::StackSource;
use serde_json::json;

use crate::support::wait::until;
use crate::support::world::{Ground, hot, log_in};

#[actix::test]
async fn what_was_begun_in_a_cloud_that_is_no_longer_listed_is_shown_to_no_other() {
    let ground = Ground::new().await;
    let west = Sandbox::start(SandboxConfig::instant()).unwrap();
    let listed = [("west", west.auth_url.as_str())];
    let trusts = || west.state()["trusts"]["count"].clone();
    let who = log_in(&west.auth_url, "demo").await;
    let who = RequestContext {
        token: Secret::new(format!("west/{}", who.token.reveal())),
        command_id: CommandId(SystemClock.fresh_id()),
        ..who
    };
    let again = || RequestContext { command_id: CommandId(SystemClock.fresh_id()), ..who.clone() };
    let project = &who.caller.project_id;
    let trustor = Trustor::of(&who.caller.user_id, who.caller.roles.clone());
    let template = hot(json!({ "net": { "type": "OS::Neutron::Net" } }));
    let source = StackSource { template, ..StackSource::default() };
    let ask = CreateStack { name: "web".into(), source, settings: Default::default() };

    let world = ground.start_beside(&listed).await;
    let web = world.engine.create_stack(&who, ask).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE");
    assert_eq!(trusts(), 1);
    world.engine.shutdown();
    drop(world);

    ground.sandbox.forget_requests();
    let world = ground.start().await;
    let error = world.engine.session_of(project, &trustor).await.unwrap_err();
    assert_eq!(error.class, "AuthorizationFailure");
    assert!(error.message.starts_with("The cloud west, "), "{}", error.message);
    let refused = world.engine.delete_stack(&again(), web.stack).await.unwrap_err();
    assert_eq!(refused.class, "Forbidden");
    world.engine.shutdown();
    drop(world);

    // The trust is still to be given back when the cloud is taken off the list.
    let fails = FaultRule {
        method: Some("DELETE".to_owned()),
        path: Some("/OS-TRUST/".to_owned()),
        fault: Fault::Status { code: 503, retry_after: None },
        ..FaultRule::default()
    };
    west.set_faults(vec![fails]).unwrap();
    let world = ground.start_beside(&listed).await;
    let deleted = world.engine.delete_stack(&again(), web.stack).await.unwrap();
    assert_eq!(world.settled(&deleted).await, "DELETE_COMPLETE");
    let is_refused = async || west.requests().iter().any(|seen| seen.status == 503);
    until(&[&west], "it is refused", is_refused).await;
    world.engine.shutdown();
    drop(world);
    west.set_faults(Vec::new()).unwrap();

    // Whoever asks for the project wakes it, and then it gives back what it owes.
    let world = ground.start().await;
    assert!(world.engine.session_of(project, &trustor).await.is_err());
    world.engine.shutdown();
    drop(world);
    assert!(ground.sandbox.requests().iter().all(|seen| seen.status < 400));
    let world = ground.start_beside(&listed).await;
    assert!(world.engine.session_of(project, &trustor).await.is_err());
    let is_returned = async || ground.count("TrustReturned").await > 0;
    until(&[&ground], "the trust is given back", is_returned).await;
    assert_eq!(trusts(), 0);
}
