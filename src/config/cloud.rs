//! Which cloud the resources are made in, and how it is reached.

use std::path::PathBuf;
use std::time::Duration;

use url::Url;

use super::{ConfigError, Layers};
use crate::model::Secret;

/// Which cloud the resources are made in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CloudChoice {
    /// The look-alike in this process.
    Sandbox,
    /// A look-alike that runs elsewhere: its Keystone.
    SandboxAt(Url),
    /// An OpenStack: see `ServiceCredentials`.
    OpenStack,
}

impl CloudChoice {
    pub(super) fn from_layers(layers: &Layers) -> Result<CloudChoice, ConfigError> {
        let elsewhere: Option<Url> = layers.parsed("hearth", "sandbox", "a URL")?;
        let choice: Option<CloudName> = layers.parsed("hearth", "cloud", "sandbox or openstack")?;
        Ok(match (choice.unwrap_or(CloudName::Sandbox), elsewhere) {
            (CloudName::OpenStack, _) => CloudChoice::OpenStack,
            (CloudName::Sandbox, Some(url)) => CloudChoice::SandboxAt(url),
            (CloudName::Sandbox, None) => CloudChoice::Sandbox,
        })
    }
}

enum CloudName {
    Sandbox,
    OpenStack,
}

impl std::str::FromStr for CloudName {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "sandbox" => Ok(CloudName::Sandbox),
            "openstack" => Ok(CloudName::OpenStack),
            _ => Err(()),
        }
    }
}

/// A Keystone domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Domain {
    Id(String),
    Name(String),
}

/// The service user that checks tokens and is given trusts: `[keystone_authtoken]`, and
/// `[trustee]` for what is missing there.
#[derive(Clone, Debug)]
pub struct ServiceCredentials {
    pub auth_url: Url,
    pub username: String,
    pub password: Secret<String>,
    pub project_name: String,
    pub user_domain: Option<Domain>,
    pub project_domain: Option<Domain>,
}

/// The domain in which stacks have users of their own, and who administers it.
#[derive(Clone, Debug)]
pub struct StackUsers {
    pub domain: Domain,
    /// `stack_domain_admin`.
    pub admin: String,
    pub password: Secret<String>,
    /// `heat_stack_user_role`: what the users may do.
    pub role: String,
}

/// Heat's role of stacks' users.
const STACK_USER_ROLE: &str = "heat_stack_user";

impl StackUsers {
    /// Those of one group; the role has the same name in every cloud.
    pub(super) fn of_group(
        layers: &Layers,
        group: &str,
    ) -> Result<Option<StackUsers>, ConfigError> {
        let text = |name: &str| layers.text(group, name);
        let id = text("stack_user_domain_id").map(Domain::Id);
        let name = text("stack_user_domain_name").map(Domain::Name);
        let (admin, password) = (text("stack_domain_admin"), text("stack_domain_admin_password"));
        let role = layers.text("DEFAULT", "heat_stack_user_role");
        let role = role.unwrap_or_else(|| STACK_USER_ROLE.to_owned());
        let Some(domain) = id.or(name) else { return Ok(None) };
        let missing = |name: &str| ConfigError::Missing {
            name: format!("[{group}] {name}"),
            why: "the domain of stacks' users is administered with it",
        };
        Ok(Some(StackUsers {
            domain,
            admin: admin.ok_or_else(|| missing("stack_domain_admin"))?,
            password: Secret::new(password.ok_or_else(|| missing("stack_domain_admin_password"))?),
            role,
        }))
    }
}

/// The project of service users, where none is named.
const SERVICE_PROJECT: &str = "service";

/// The groups that may hold the service user's credentials, the first that does being used.
const CREDENTIAL_GROUPS: [&str; 2] = ["keystone_authtoken", "trustee"];

impl ServiceCredentials {
    pub(super) fn from_layers(
        layers: &Layers,
        cloud: &CloudChoice,
    ) -> Result<Option<ServiceCredentials>, ConfigError> {
        if *cloud != CloudChoice::OpenStack {
            return Ok(None);
        }
        let text = |name: &str| first(|group| layers.text(group, name));
        let needed = |name: &str| {
            text(name).ok_or_else(|| ConfigError::Missing {
                name: format!("[keystone_authtoken] {name}"),
                why: "a real cloud is called with the service user's credentials",
            })
        };
        let mut auth_url = None;
        for (group, name) in [
            ("keystone_authtoken", "auth_url"),
            ("trustee", "auth_url"),
            ("clients_keystone", "auth_uri"),
        ] {
            let given: Option<Url> = layers.parsed(group, name, "a URL")?;
            auth_url = auth_url.or(given);
        }
        let Some(auth_url) = auth_url else {
            needed("auth_url")?;
            return Ok(None);
        };
        let domain = |kind: &str| {
            let id = text(&format!("{kind}_domain_id")).map(Domain::Id);
            let name = text(&format!("{kind}_domain_name")).map(Domain::Name);
            id.or(name)
        };
        Ok(Some(ServiceCredentials {
            auth_url,
            username: needed("username")?,
            password: Secret::new(needed("password")?),
            project_name: text("project_name").unwrap_or_else(|| SERVICE_PROJECT.to_owned()),
            user_domain: domain("user"),
            project_domain: domain("project"),
        }))
    }

    /// The same out of one group, for another cloud.
    pub(super) fn of_group(
        layers: &Layers,
        group: &str,
    ) -> Result<ServiceCredentials, ConfigError> {
        let text = |name: &str| layers.text(group, name);
        let missing = |name: &str| ConfigError::Missing {
            name: format!("[{group}] {name}"),
            why: "the cloud is asked by a user of its own whose a signed request is",
        };
        let needed = |name: &str| text(name).ok_or_else(|| missing(name));
        let domain = |kind: &str| {
            let id = text(&format!("{kind}_domain_id")).map(Domain::Id);
            id.or(text(&format!("{kind}_domain_name")).map(Domain::Name))
        };
        let auth_url: Option<Url> = layers.parsed(group, "auth_url", "a URL")?;
        Ok(ServiceCredentials {
            auth_url: auth_url.ok_or_else(|| missing("auth_url"))?,
            username: needed("username")?,
            password: Secret::new(needed("password")?),
            project_name: text("project_name").unwrap_or_else(|| SERVICE_PROJECT.to_owned()),
            user_domain: domain("user"),
            project_domain: domain("project"),
        })
    }
}

fn first<T>(mut given: impl FnMut(&str) -> Option<T>) -> Option<T> {
    // Every group is asked, so that none of them is listed as unused.
    let mut found = None;
    for group in CREDENTIAL_GROUPS {
        let value = given(group);
        found = found.or(value);
    }
    found
}

/// How the cloud's services are called.
#[derive(Clone, Debug, Default)]
pub struct ClientSettings {
    /// The region whose endpoints are used; the catalog's only one where none is named.
    pub region: Option<String>,
    /// `public`, `internal` or `admin`.
    pub endpoint_type: Option<String>,
    /// A bundle of certificates beside the system's.
    pub ca_file: Option<PathBuf>,
    /// Takes any certificate.
    pub insecure: bool,
    /// `www_authenticate_uri`: the Keystone that a client without a token is sent to.
    pub authenticate_url: Option<String>,
    /// `auth_uri` of `[clients_keystone]`: the Keystone that guests are told of.
    pub guests_auth_url: Option<String>,
    /// `url` of `[clients_heat]`: the Orchestration API at which resources are signaled.
    pub orchestration_url: Option<Url>,
    /// `server_keystone_endpoint_type`: the interface of the catalog's Keystone that they are told
    /// of before that one.
    pub guests_interface: Option<String>,
    /// `token_cache_time`: how long Keystone's word on a token counts, where it is said; nothing
    /// and less is not at all.
    pub token_cache_time: Option<Duration>,
}

impl ClientSettings {
    pub(super) fn from_layers(layers: &Layers) -> Result<ClientSettings, ConfigError> {
        let region = layers.text("DEFAULT", "region_name_for_services");
        let ca_file = layers.text("clients", "ca_file");
        let kept: Option<i64> =
            layers.parsed("keystone_authtoken", "token_cache_time", "a whole number")?;
        Ok(ClientSettings {
            region: region.or_else(|| layers.text("keystone_authtoken", "region_name")),
            endpoint_type: layers
                .text("clients", "endpoint_type")
                .map(|kind| kind.trim_end_matches("URL").to_owned()),
            ca_file: ca_file.or(layers.text("keystone_authtoken", "cafile")).map(PathBuf::from),
            insecure: layers.flag("clients", "insecure")?.unwrap_or(false),
            authenticate_url: layers.text("keystone_authtoken", "www_authenticate_uri"),
            guests_auth_url: layers.text("clients_keystone", "auth_uri"),
            orchestration_url: super::web_url(layers, "clients_heat", "url")?,
            guests_interface: layers
                .choice(
                    "DEFAULT",
                    "server_keystone_endpoint_type",
                    &["", "public", "internal", "admin"],
                    "public, internal, admin or empty",
                )?
                .filter(|interface| !interface.is_empty())
                .map(str::to_owned),
            token_cache_time: kept.map(|secs| Duration::from_secs(secs.try_into().unwrap_or(0))),
        })
    }
}
