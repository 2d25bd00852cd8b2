//! Looking up objects of the cloud by name or id: where a property wants an id, and where a custom
//! constraint wants something that exists.

use serde_json::Value;

use crate::openstack::{CloudError, Request, Service, path_segment};
use crate::resource_types::asks::Asks;
use crate::resource_types::driver::DriverError;

/// How one kind of object is found.
struct Finder {
    name: &'static str,
    /// Its type in the catalog.
    service: &'static str,
    path: &'static str,
    /// The key around a list, and around a single object.
    list: &'static str,
    one: &'static str,
    by: By,
    /// The word for it in Heat's messages.
    entity: &'static str,
}

/// The ways of finding.
enum By {
    /// Filtered lists, by id and then by name, as Neutron's client does it.
    Filters,
    /// A look at the id, then a list that is searched for the name.
    IdThenList(&'static str),
    /// A look at the id and nothing else.
    Id,
    /// A list that is searched for id and name.
    List,
    /// What looks like an id is one; a name is looked for among the project's own.
    Own,
}

macro_rules! finders {
    ($($name:literal: $service:literal $path:literal $list:literal $one:literal $by:expr, $entity:literal;)*) => {
        const FINDERS: &[Finder] = &[$(Finder {
            name: $name,
            service: $service,
            path: $path,
            list: $list,
            one: $one,
            by: $by,
            entity: $entity,
        }),*];
    };
}

finders! {
    "cinder.backup": "volumev3" "/backups" "backups" "backup" By::Id, "Volume backup";
    "cinder.snapshot": "volumev3" "/snapshots" "snapshots" "snapshot" By::Id, "VolumeSnapshot";
    "cinder.volume": "volumev3" "/volumes" "volumes" "volume" By::Id, "Volume";
    "cinder.vtype": "volumev3" "/types" "volume_types" "volume_type" By::List, "VolumeType";
    "glance.image": "image" "/v2/images" "images" "" By::IdThenList("/v2/images"), "Image";
    "keystone.project": "identity" "/v3/projects" "projects" "project"
        By::IdThenList("/v3/projects"), "KeystoneProject";
    "keystone.user": "identity" "/v3/users" "users" "user" By::IdThenList("/v3/users"), "KeystoneUser";
    "neutron.address_scope": "network" "/v2.0/address-scopes" "address_scopes" "address_scope"
        By::Filters, "address_scope";
    "neutron.flow_classifier": "network" "/v2.0/sfc/flow_classifiers" "flow_classifiers"
        "flow_classifier" By::IdThenList("/v2.0/sfc/flow_classifiers"), "flow_classifier";
    "neutron.network": "network" "/v2.0/networks" "networks" "network" By::Filters, "network";
    "neutron.own_security_group": "network" "/v2.0/security-groups" "security_groups"
        "security_group" By::Own, "Resource";
    "neutron.port": "network" "/v2.0/ports" "ports" "port" By::Filters, "port";
    "neutron.port_pair": "network" "/v2.0/sfc/port_pairs" "port_pairs" "port_pair"
        By::IdThenList("/v2.0/sfc/port_pairs"), "port_pair";
    "neutron.port_pair_group": "network" "/v2.0/sfc/port_pair_groups" "port_pair_groups"
        "port_pair_group" By::IdThenList("/v2.0/sfc/port_pair_groups"), "port_pair_group";
    "neutron.qos_policy": "network" "/v2.0/qos/policies" "policies" "policy" By::Filters, "policy";
    "neutron.router": "network" "/v2.0/routers" "routers" "router" By::Filters, "router";
    "neutron.security_group": "network" "/v2.0/security-groups" "security_groups" "security_group"
        By::Filters, "security_group";
    "neutron.segment": "network" "/v2.0/segments" "segments" "segment" By::Filters, "segment";
    "neutron.subnet": "network" "/v2.0/subnets" "subnets" "subnet" By::Filters, "subnet";
    "neutron.subnetpool": "network" "/v2.0/subnetpools" "subnetpools" "subnetpool"
        By::Filters, "subnetpool";
    "neutron.taas.tap_service": "network" "/v2.0/taas/tap_services" "tap_services" "tap_service"
        By::Filters, "tap_service";
    "nova.flavor": "compute" "/flavors" "flavors" "flavor" By::IdThenList("/flavors/detail"), "Flavor";
    "nova.keypair": "compute" "/os-keypairs" "keypairs" "keypair" By::Id, "Key";
    "nova.server": "compute" "/servers" "servers" "server" By::Id, "Server";
    "octavia.availabilityzoneprofile": "load-balancer" "/v2.0/lbaas/availabilityzoneprofiles"
        "availability_zone_profiles" "availability_zone_profile"
        By::IdThenList("/v2.0/lbaas/availabilityzoneprofiles"), "AvailabilityZoneProfile";
    "octavia.flavorprofile": "load-balancer" "/v2.0/lbaas/flavorprofiles" "flavorprofiles"
        "flavorprofile" By::IdThenList("/v2.0/lbaas/flavorprofiles"), "FlavorProfile";
}

/// The id of the object that has the name or the id.
pub(crate) fn find(cloud: &Asks<'_>, finder: &str, wanted: &str) -> Result<String, DriverError> {
    let known = FINDERS.iter().find(|known| known.name == finder).ok_or_else(|| {
        DriverError::fatal("InvalidSchemaError", format!("there is no finder {finder:?}"))
    })?;
    known.find(cloud, wanted)
}

/// Whether nothing has the name or id that was looked up.
pub(crate) fn is_missing(error: &DriverError) -> bool {
    let classes = ["NotFound", "EntityNotFound", "EntityMatchNotFound"];
    !error.transient && classes.contains(&error.class.as_str())
}

/// Whether there is a finder of this name.
pub(crate) fn exists(finder: &str) -> bool {
    FINDERS.iter().any(|known| known.name == finder)
}

/// The names of all finders.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    FINDERS.iter().map(|known| known.name)
}

impl Finder {
    fn find(&self, cloud: &Asks<'_>, wanted: &str) -> Result<String, DriverError> {
        match self.by {
            By::Filters => {
                for filter in ["id", "name"] {
                    // A name goes to the filter of ids as well; Neutron takes any text there.
                    let request = self.get(self.path).query(filter, wanted).query("fields", "id");
                    let found = self.listed(cloud, request)?;
                    if let Some(id) = self.only(&found, wanted)? {
                        return Ok(id);
                    }
                }
                Err(self.missing(wanted))
            }
            By::Id => self.by_id(cloud, wanted)?.ok_or_else(|| self.missing(wanted)),
            By::IdThenList(path) => {
                if let Some(id) = self.by_id(cloud, wanted)? {
                    return Ok(id);
                }
                let mut request = self.get(path);
                if self.service == "compute" {
                    // Private flavors are listed only when they are asked for.
                    request = request.query("is_public", "None");
                } else {
                    request = request.query("name", wanted);
                }
                self.search(cloud, request, wanted)
            }
            By::Own if uuid::Uuid::parse_str(wanted).is_ok() => Ok(wanted.to_owned()),
            By::Own => {
                let project = cloud.project_id()?;
                let request = self.get(self.path).query("project_id", project.as_str());
                self.search(cloud, request, wanted)
            }
            By::List => {
                let request = self.get(self.path).query("is_public", "None");
                self.search(cloud, request, wanted)
            }
        }
    }

    fn get(&self, path: &str) -> Request {
        Request::get(Service::of_type(self.service), path)
    }

    fn by_id(&self, cloud: &Asks<'_>, id: &str) -> Result<Option<String>, DriverError> {
        // Glance looks at ids only where they look like one.
        if self.service == "image" && uuid::Uuid::parse_str(id).is_err() {
            return Ok(None);
        }
        let request = self.get(&format!("{}/{}", self.path, path_segment(id)));
        match cloud.send(request) {
            Ok(response) => {
                let body = response.json()?;
                let object = body.get(self.one).unwrap_or(&body);
                Ok(Some(object["id"].as_str().unwrap_or(id).to_owned()))
            }
            Err(error) if error.is_not_found() || error.status() == Some(400) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn listed(&self, cloud: &Asks<'_>, request: Request) -> Result<Vec<Value>, CloudError> {
        let mut body = cloud.send(request)?.json()?;
        match body.get_mut(self.list).map(Value::take) {
            Some(Value::Array(list)) => Ok(list),
            _ => Ok(Vec::new()),
        }
    }

    fn search(
        &self,
        cloud: &Asks<'_>,
        request: Request,
        wanted: &str,
    ) -> Result<String, DriverError> {
        let mut found = self.listed(cloud, request)?;
        found.retain(|object| object["name"] == wanted || object["id"] == wanted);
        self.only(&found, wanted)?.ok_or_else(|| self.missing(wanted))
    }

    fn only(&self, found: &[Value], wanted: &str) -> Result<Option<String>, DriverError> {
        match found {
            [] => Ok(None),
            [one] => Ok(one["id"].as_str().map(str::to_owned)),
            _ => Err(self.ambiguous(wanted)),
        }
    }

    fn missing(&self, wanted: &str) -> DriverError {
        let entity = self.entity;
        match (&self.by, self.service) {
            (By::Filters, _) | (By::IdThenList(_), "network") => DriverError::fatal(
                "NotFound",
                format!("Unable to find {entity} with name or id '{wanted}'"),
            ),
            (_, "image") => DriverError::fatal(
                "EntityMatchNotFound",
                format!("No {entity} matching {{'name': '{wanted}'}}."),
            ),
            (By::IdThenList(_), "compute") => DriverError::fatal(
                "NotFound",
                format!("No {entity} matching {{'name': '{wanted}'}}. (HTTP 404)"),
            ),
            _ => DriverError::fatal(
                "EntityNotFound",
                format!("The {entity} ({wanted}) could not be found."),
            ),
        }
    }

    fn ambiguous(&self, wanted: &str) -> DriverError {
        let entity = self.entity;
        match self.by {
            By::Filters | By::IdThenList(_) if self.service == "network" => DriverError::fatal(
                "NeutronClientNoUniqueMatch",
                format!(
                    "Multiple {entity} matches found for name '{wanted}', use an ID to be more \
                     specific."
                ),
            ),
            By::Own => DriverError::fatal(
                "PhysicalResourceNameAmbiguity",
                format!("Multiple physical resources were found with name ({wanted})."),
            ),
            _ => DriverError::fatal(
                "EntityUniqueMatchNotFound",
                format!("No {entity} unique match found for {{'name': '{wanted}'}}."),
            ),
        }
    }
}
