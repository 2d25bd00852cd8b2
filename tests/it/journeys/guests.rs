//! A guest whose script would never end.

use std::time::Duration;

use hearth::sandbox::{GuestLimits, SandboxConfig};
use serde_json::json;

use crate::support::world::{Ground, hot};

#[actix::test]
async fn a_deployment_whose_script_never_ends_fails() {
    let limits = GuestLimits { time: Duration::from_secs(1), ..GuestLimits::default() };
    let config = SandboxConfig { guests: Some(limits), ..SandboxConfig::instant() };
    let ground = Ground::with(config).await;
    let (world, outlets) = ground.start_telling(ground.log.clone(), None).await;
    let template = hot(json!({
        "server": { "type": "OS::Nova::Server", "properties": {
            "image": "cirros", "flavor": "m1.tiny", "networks": [{ "network": "private" }],
            "user_data_format": "SOFTWARE_CONFIG",
            "software_config_transport": "POLL_TEMP_URL" } },
        "config": { "type": "OS::Heat::SoftwareConfig", "properties": {
            "group": "script", "config": "#!/bin/sh\nwhile :; do :; done\n" } },
        "deployment": { "type": "OS::Heat::SoftwareDeployment", "properties": {
            "config": { "get_resource": "config" }, "server": { "get_resource": "server" },
            "signal_transport": "TEMP_URL_SIGNAL" } },
    }));
    let web = world.create("web", template).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_FAILED");
    let reason = world.reason(web.stack).await;
    assert!(reason.contains("Deployment exited with non-zero status code: 124"), "{reason}");
    let deleted = world.delete(web.stack).await.unwrap();
    assert_eq!(world.settled(&deleted).await, "DELETE_COMPLETE");
    outlets.stop().await;
}
