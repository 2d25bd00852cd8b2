//! What a new cloud holds: the users, projects, roles, networks, flavors and images that
//! templates and clients find on an OpenStack made for trying things out.

use serde_json::{Value, json};

use super::cloud::Cloud;
use super::doc::Doc;
use super::keystone::{Domain, Grant, Project, Role, SYSTEM, User};
use super::neutron::{self, NETWORKS, ROUTERS, SUBNETS};
use super::{cinder, collections, glance, nova};
use crate::model::JsonMap;

const ROLES: [&str; 6] =
    ["admin", "member", "reader", "service", "heat_stack_owner", "heat_stack_user"];

/// The domain of the users that stacks have.
const STACK_USERS: &str = "heat";
const STACK_USERS_ADMIN: &str = "heat_domain_admin";

/// User, home project, and the roles there.
const USERS: [(&str, &str, &[&str]); 5] = [
    ("admin", "admin", &["admin", "member", "reader", "heat_stack_owner"]),
    ("demo", "demo", &["member", "reader", "heat_stack_owner"]),
    ("alt_demo", "alt_demo", &["member", "reader", "heat_stack_owner"]),
    ("hearth", "service", &["admin", "service"]),
    ("heat", "service", &["admin", "service"]),
];

/// Name, id, MiB of memory, GiB of disk, processors.
const FLAVORS: [(&str, &str, i64, i64, i64); 9] = [
    ("m1.tiny", "1", 512, 1, 1),
    ("m1.small", "2", 2048, 20, 1),
    ("m1.medium", "3", 4096, 40, 2),
    ("m1.large", "4", 8192, 80, 4),
    ("m1.xlarge", "5", 16_384, 160, 8),
    ("m1.nano", "42", 128, 1, 1),
    ("m1.micro", "84", 192, 1, 1),
    ("m1.heat_int", "451", 512, 4, 1),
    ("m1.heat_micro", "452", 128, 1, 1),
];

const IMAGES: [(&str, &str); 3] = [
    ("cirros", "cirros"),
    ("cirros-0.5.2-x86_64-disk", "cirros"),
    ("Fedora-Cloud-Base", "fedora-coreos"),
];

/// Bare metal nodes.
const NODES: [&str; 2] = ["metal-1", "metal-2"];

/// Fills an empty cloud.
pub(super) fn plant(cloud: &mut Cloud) {
    people(cloud);
    networks(cloud);
    for (name, id, ram, disk, vcpus) in FLAVORS {
        nova::plant_flavor(cloud, id, name, ram, disk, vcpus);
    }
    if let Some(admin) = project_id(cloud, "admin") {
        for (name, distro) in IMAGES {
            glance::plant(cloud, &admin, name, distro);
        }
    }
    cinder::plant_type(cloud, "__DEFAULT__", json!({}));
    cinder::plant_type(cloud, "file", json!({"volume_backend_name": "file"}));
    let specs = json!({"volume_backend_name": "file", "multiattach": "<is> True"});
    cinder::plant_type(cloud, "multi", specs);
    for name in NODES {
        let node = json!({
            "uuid": cloud.fresh_uuid(), "name": name, "driver": "fake-hardware", "driver_info": {},
            "properties": {}, "extra": {}, "resource_class": "baremetal", "maintenance": false,
            "provision_state": "available", "power_state": "power off",
        });
        if let Value::Object(node) = node {
            collections::plant(cloud, ("baremetal", "node"), node);
        }
    }
}

fn people(cloud: &mut Cloud) {
    domain(cloud, "default", "Default", "The default domain");
    for name in ROLES {
        let role = Role {
            id: cloud.fresh_hex(),
            name: name.to_owned(),
            domain_id: None,
            description: None,
        };
        cloud.keystone.roles.insert(&role.id.clone(), role);
    }
    for name in ["admin", "demo", "alt_demo", "service"] {
        let project = Project {
            id: cloud.fresh_hex(),
            name: name.to_owned(),
            domain_id: "default".to_owned(),
            description: String::new(),
            enabled: true,
            parent_id: None,
            tags: Vec::new(),
        };
        cloud.keystone.projects.insert(&project.id.clone(), project);
    }
    plant_stack_users(cloud);
    for (name, project, roles) in USERS {
        let id = user(cloud, name, "default");
        for role in roles {
            grant(cloud, &id, project, role);
        }
        if name == "admin" {
            // The administrator works in every project.
            for project in ["demo", "alt_demo", "service"] {
                grant(cloud, &id, project, "admin");
            }
            grant_on(cloud, &id, SYSTEM, "admin");
        }
    }
}

/// The domain of the users that stacks have, which a cloud of an older version lacks.
pub(super) fn plant_stack_users(cloud: &mut Cloud) {
    if cloud.keystone.domains.contains(STACK_USERS) {
        return;
    }
    domain(cloud, STACK_USERS, "heat", "The users of stacks");
    let admin = user(cloud, STACK_USERS_ADMIN, STACK_USERS);
    grant_on(cloud, &admin, STACK_USERS, "admin");
}

/// Gives everybody who was here from the start the password of this start: one that an earlier
/// start had opens nothing any more.
pub(super) fn set_passwords(cloud: &mut Cloud) {
    let password = cloud.config.password.reveal().clone();
    let is_ours = |user: &User| match user.domain_id.as_str() {
        "default" => USERS.iter().any(|(name, ..)| *name == user.name),
        STACK_USERS => user.name == STACK_USERS_ADMIN,
        _ => false,
    };
    let outdated = cloud.keystone.users.values().filter(|user| is_ours(user));
    let outdated = outdated.filter(|user| user.password != password);
    let outdated: Vec<User> = outdated.cloned().collect();
    for user in outdated {
        let id = user.id.clone();
        cloud.keystone.users.insert(&id, User { password: password.clone(), ..user });
    }
}

fn domain(cloud: &mut Cloud, id: &str, name: &str, description: &str) {
    let domain = Domain {
        id: id.to_owned(),
        name: name.to_owned(),
        description: description.to_owned(),
        enabled: true,
    };
    cloud.keystone.domains.insert(id, domain);
}

fn user(cloud: &mut Cloud, name: &str, domain: &str) -> String {
    let user = User {
        id: cloud.fresh_hex(),
        name: name.to_owned(),
        domain_id: domain.to_owned(),
        password: cloud.config.password.reveal().clone(),
        email: Some(format!("{name}@sandbox.test")),
        description: String::new(),
        default_project_id: None,
        enabled: true,
    };
    let id = user.id.clone();
    cloud.keystone.users.insert(&id, user);
    id
}

fn grant(cloud: &mut Cloud, user_id: &str, project: &str, role: &str) {
    let Some(project_id) = project_id(cloud, project) else { return };
    grant_on(cloud, user_id, &project_id, role);
}

/// `place` is the id of a project or of a domain, or the system.
fn grant_on(cloud: &mut Cloud, user_id: &str, place: &str, role: &str) {
    let Some(role) = cloud.keystone.roles.values().find(|known| known.name == role) else { return };
    let role_id = role.id.clone();
    let id = format!("{user_id} {place} {role_id}");
    let grant = Grant {
        user_id: user_id.to_owned(),
        group_id: None,
        project_id: place.to_owned(),
        role_id,
    };
    cloud.keystone.grants.insert(&id, grant);
}

fn project_id(cloud: &Cloud, name: &str) -> Option<String> {
    let project = cloud.keystone.projects.values().find(|project| project.name == name)?;
    Some(project.id.clone())
}

/// `public` is the way out; demo has a network behind a router on it.
fn networks(cloud: &mut Cloud) {
    let Some(admin) = project_id(cloud, "admin") else { return };
    let Some(demo) = project_id(cloud, "demo") else { return };
    let public = neutron::plant(
        cloud,
        NETWORKS,
        &admin,
        json!({
            "name": "public",
            "router:external": true,
            "is_default": true,
            "mtu": 1500,
            "provider:network_type": "flat",
            "provider:physical_network": "public",
        }),
    );
    neutron::plant(
        cloud,
        SUBNETS,
        &admin,
        json!({
            "name": "public-subnet",
            "network_id": text(&public, "id"),
            "ip_version": 4,
            "cidr": "172.24.4.0/22",
            "gateway_ip": "172.24.4.1",
            "enable_dhcp": false,
            "allocation_pools": [{"start": "172.24.4.2", "end": "172.24.7.254"}],
        }),
    );
    let private = neutron::plant(cloud, NETWORKS, &demo, json!({"name": "private"}));
    let subnet = neutron::plant(
        cloud,
        SUBNETS,
        &demo,
        json!({
            "name": "private-subnet",
            "network_id": text(&private, "id"),
            "ip_version": 4,
            "cidr": "10.0.0.0/22",
            "gateway_ip": "10.0.0.1",
        }),
    );
    let router = neutron::plant(
        cloud,
        ROUTERS,
        &demo,
        json!({
            "name": "router1",
            "external_gateway_info": {"network_id": text(&public, "id")},
        }),
    );
    neutron::plant_interface(cloud, &demo, text(&router, "id"), text(&subnet, "id"));
}

fn text<'a>(row: &'a Option<JsonMap>, key: &str) -> &'a str {
    row.as_ref().map(|row| row.text(key)).unwrap_or_default()
}
