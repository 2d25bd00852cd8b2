//! Objects of others that look like ours in all that a user can give: whatever call is lost, they
//! are never taken for ours, and so never deleted.

use hearth::openstack::{Request, Service};
use hearth::sandbox::{Fault, FaultRule};
use serde_json::{Value, json};

use crate::support::world::{Ground, hot};

/// A type, its properties, and the same object as somebody else makes it.
struct Case {
    type_name: &'static str,
    properties: Value,
    service: fn() -> Service,
    path: &'static str,
    body: Value,
    /// The keys around one object and around a list.
    wraps: (&'static str, &'static str),
    /// What a stack of it comes to beside the other.
    end: &'static str,
}

fn cases() -> Vec<Case> {
    let public_key = "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAgQC5";
    vec![
        Case {
            type_name: "OS::Neutron::Net",
            properties: json!({ "name": "twin", "value_specs": { "description": "the same" } }),
            service: || Service::Network,
            path: "/v2.0/networks",
            body: json!({ "name": "twin", "description": "the same" }),
            wraps: ("network", "networks"),
            end: "CREATE_COMPLETE",
        },
        Case {
            type_name: "OS::Neutron::AddressScope",
            properties: json!({ "name": "twin", "ip_version": 6 }),
            service: || Service::Network,
            path: "/v2.0/address-scopes",
            body: json!({ "name": "twin", "ip_version": 6 }),
            wraps: ("address_scope", "address_scopes"),
            end: "CREATE_COMPLETE",
        },
        Case {
            type_name: "OS::Nova::ServerGroup",
            properties: json!({ "name": "twin", "policies": ["affinity"] }),
            service: || Service::Compute,
            path: "/os-server-groups",
            body: json!({ "name": "twin", "policy": "affinity" }),
            wraps: ("server_group", "server_groups"),
            end: "CREATE_COMPLETE",
        },
        Case {
            type_name: "OS::Nova::KeyPair",
            properties: json!({ "name": "twin", "public_key": public_key }),
            service: || Service::Compute,
            path: "/os-keypairs",
            body: json!({ "name": "twin", "public_key": public_key }),
            wraps: ("keypair", "keypairs"),
            end: "CREATE_FAILED",
        },
    ]
}

/// The other's objects of a name, as the cloud lists them.
async fn twins(ground: &Ground, case: &Case) -> Vec<Value> {
    let request = Request::get((case.service)(), case.path);
    let listed: Value = ground.session().send(request).await.unwrap().json().unwrap();
    let objects = listed[case.wraps.1].as_array().unwrap().iter();
    let unwrapped = objects.map(|object| object.get(case.wraps.0).unwrap_or(object).clone());
    unwrapped.filter(|object| object["name"] == "twin").collect()
}

#[actix::test]
async fn an_object_that_only_looks_like_ours_is_never_taken_nor_deleted() {
    let refused = Fault::Status { code: 503, retry_after: None };
    for case in cases() {
        let faults = match case.end {
            "CREATE_COMPLETE" => vec![Fault::DropRequest, Fault::DropReply, refused.clone()],
            // That the name is taken is found out again and again, which takes its time.
            _ => vec![Fault::DropRequest],
        };
        for fault in faults {
            let place = format!("{}: the creation meets {fault:?}", case.type_name);
            let ground = Ground::new().await;
            let body = json!({ case.wraps.0: case.body });
            let request = Request::post((case.service)(), case.path).json(body);
            ground.session().send(request).await.unwrap();
            let before = twins(&ground, &case).await;
            assert_eq!(before.len(), 1, "{place}");

            let rule = FaultRule {
                method: Some("POST".into()),
                path: Some(case.path.into()),
                count: Some(1),
                fault: fault.clone(),
                ..FaultRule::default()
            };
            ground.sandbox.set_faults(vec![rule]).unwrap();
            let world = ground.start().await;
            let declared = json!({ "type": case.type_name, "properties": case.properties });
            let web = world.create("web", hot(json!({ "twin": declared }))).await.unwrap();
            let (end, reason) = (world.settled(&web).await, world.reason(web.stack).await);
            assert_eq!(end, case.end, "{place}: {reason}");
            let own = usize::from(case.end == "CREATE_COMPLETE");
            assert_eq!(twins(&ground, &case).await.len(), 1 + own, "{place}");
            let deleted = world.delete(web.stack).await.unwrap();
            assert_eq!(world.settled(&deleted).await, "DELETE_COMPLETE", "{place}");
            assert_eq!(twins(&ground, &case).await, before, "{place}");
            world.engine.shutdown().await;
        }
    }
}
