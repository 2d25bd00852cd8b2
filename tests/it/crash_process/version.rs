//! Versions of a stack's template: what changes from one to the next is changed in place, by
//! replacement, added or taken away, and some of them fail.

use crate::support::chance::Chance;
use serde_json::{Map, Value, json};

/// What a template asks for.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Version {
    /// Told by the stack's description, to know it again.
    pub(super) number: u64,
    /// Changes the subnet by replacement, and the port with it. Never one that was there before:
    /// a subnet that is still to be deleted would be in its way.
    pub(super) cidr: u64,
    /// Changes the network in place.
    pub(super) up: bool,
    /// Changes the security group in place.
    pub(super) purpose: u64,
    /// Changes the volume in place. (Its size would not do: no rollback can shrink it.)
    pub(super) content: u64,
    /// Changes the server in place.
    pub(super) note: u64,
    /// Changes the random string by replacement.
    pub(super) length: u64,
    /// Whether there is a second port.
    pub(super) second_port: bool,
    /// Whether its last resource fails.
    pub(super) fails: bool,
}

impl Version {
    pub(super) fn first(chance: &mut Chance) -> Self {
        Self {
            number: chance.below(1 << 40),
            cidr: chance.below(1 << 16),
            up: true,
            purpose: chance.below(100),
            content: chance.below(100),
            note: chance.below(100),
            length: 8 + chance.below(4),
            second_port: chance.one_in(2),
            fails: chance.one_in(4),
        }
    }

    /// A version after this one.
    pub(super) fn next(&self, chance: &mut Chance) -> Self {
        let mut next = Self { number: chance.below(1 << 40), ..self.clone() };
        if chance.one_in(2) {
            next.cidr = chance.below(1 << 16);
        }
        if chance.one_in(2) {
            next.up = !self.up;
        }
        if chance.one_in(2) {
            next.purpose = chance.below(100);
        }
        if chance.one_in(2) {
            next.content = chance.below(100);
        }
        if chance.one_in(2) {
            next.note = chance.below(100);
        }
        if chance.one_in(3) {
            next.length = 8 + chance.below(4);
        }
        if chance.one_in(2) {
            next.second_port = !self.second_port;
        }
        next.fails = chance.one_in(4);
        next
    }

    pub(super) fn description(&self) -> String {
        format!("version {}", self.number)
    }

    pub(super) fn cidr_text(&self) -> String {
        format!("10.{}.{}.0/24", self.cidr >> 8, self.cidr & 255)
    }

    pub(super) fn purpose_text(&self) -> String {
        format!("purpose {}", self.purpose)
    }

    pub(super) fn content_text(&self) -> String {
        format!("content {}", self.content)
    }

    pub(super) fn note_text(&self) -> String {
        self.note.to_string()
    }

    /// The names of its resources.
    pub(super) fn names(&self) -> Vec<String> {
        self.resources().keys().cloned().collect()
    }

    pub(super) fn template(&self) -> Value {
        json!({
            "heat_template_version": "2021-04-16",
            "description": self.description(),
            "resources": self.resources(),
            "outputs": {"ip": {"value": {"get_attr": ["port", "fixed_ips", 0, "ip_address"]}}},
        })
    }

    fn resources(&self) -> Map<String, Value> {
        let port = json!({
            "type": "OS::Neutron::Port",
            "properties": {
                "network": {"get_resource": "net"},
                "fixed_ips": [{"subnet": {"get_resource": "subnet"}}],
                "security_groups": [{"get_resource": "group"}],
            },
        });
        let mut resources = json!({
            "net": {
                "type": "OS::Neutron::Net",
                "properties": {"admin_state_up": self.up},
            },
            "subnet": {
                "type": "OS::Neutron::Subnet",
                "properties": {"network": {"get_resource": "net"}, "cidr": self.cidr_text()},
            },
            "group": {
                "type": "OS::Neutron::SecurityGroup",
                "properties": {
                    "description": self.purpose_text(),
                    "rules": [{"protocol": "tcp", "port_range_min": 22, "port_range_max": 22}],
                },
            },
            "port": port,
            "volume": {
                "type": "OS::Cinder::Volume",
                "properties": {"size": 1, "description": self.content_text()},
            },
            "server": {
                "type": "OS::Nova::Server",
                "properties": {
                    "flavor": "m1.tiny",
                    "image": "cirros",
                    "networks": [{"port": {"get_resource": "port"}}],
                    "metadata": {"note": self.note_text()},
                },
            },
            "attachment": {
                "type": "OS::Cinder::VolumeAttachment",
                "properties": {
                    "instance_uuid": {"get_resource": "server"},
                    "volume_id": {"get_resource": "volume"},
                },
            },
            "word": {
                "type": "OS::Heat::RandomString",
                "properties": {"length": self.length},
            },
        });
        let resources = resources.as_object_mut().unwrap();
        if self.second_port {
            resources.insert("port2".to_owned(), port);
        }
        if self.fails {
            let last = json!({
                "type": "OS::Heat::TestResource",
                "depends_on": ["server", "volume"],
                "properties": {"fail": true},
            });
            resources.insert("last".to_owned(), last);
        }
        resources.clone()
    }
}
