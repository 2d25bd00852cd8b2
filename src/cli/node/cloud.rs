//! From settings to the cloud that resources are made in.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use url::Url;

use super::{Addresses, SANDBOX_REGION, StartError, sandbox_password};
use crate::clock::{Clock, SystemClock};
use crate::config::{self, CloudChoice, ServiceCredentials, Settings, SigningCloud, StackUsers};
use crate::openstack::{self, CfnPlaces, Cloud, CloudSettings, UserDomainSettings};
use crate::sandbox::{
    GuestLimits, Latencies, RunningSandbox, Sandbox, SandboxConfig, SandboxError,
};
use crate::traces::Tracer;

/// The service user that every sandbox has.
const SANDBOX_SERVICE_USER: &str = "hearth";
const SANDBOX_SERVICE_PROJECT: &str = "service";

/// The sandbox in this process, where that is the cloud.
pub(super) fn start_sandbox(
    settings: &Settings,
    at: Addresses,
    state: std::path::PathBuf,
    clock: Arc<dyn Clock>,
) -> Result<Option<RunningSandbox>, StartError> {
    if settings.cloud != CloudChoice::Sandbox {
        return Ok(None);
    }
    let config = SandboxConfig {
        listen: settings.sandbox_listen,
        data: Some(state),
        hearth_url: Some(format!("{}://{}", super::scheme(settings), at.api)),
        cfn_url: at.cfn.map(|cfn| format!("{}://{cfn}", super::scheme(settings))),
        latencies: latencies(settings),
        guests: settings.sandbox_guests.then(GuestLimits::default),
        without: settings.sandbox_without.clone(),
        password: sandbox_password(settings),
        region: SANDBOX_REGION.to_owned(),
        ..SandboxConfig::default()
    };
    match Sandbox::start_with_clock(config, clock) {
        Err(SandboxError::Listen { address, source }) => {
            Err(StartError::Listen { address, says: "--sandbox-listen", source })
        }
        started => Ok(Some(started?)),
    }
}

fn latencies(settings: &Settings) -> Latencies {
    let usual = Latencies::default();
    let delays = &settings.sandbox_delays;
    Latencies {
        request: delays.request.unwrap_or(usual.request),
        server: delays.server.unwrap_or(usual.server),
        server_delete: delays.server_delete.unwrap_or(usual.server_delete),
        volume: delays.volume.unwrap_or(usual.volume),
        attachment: delays.attachment.unwrap_or(usual.attachment),
        floating_ip: delays.floating_ip.unwrap_or(usual.floating_ip),
        ..usual
    }
}

/// What the client of the cloud needs to know of this process.
#[derive(Default)]
pub(super) struct Known<'a> {
    pub(super) sandbox: Option<&'a RunningSandbox>,
    pub(super) cfn_address: Option<SocketAddr>,
    pub(super) tracer: Tracer,
}

/// The client of the cloud, and where its Keystone is.
pub(super) fn connect(
    settings: &Settings,
    known: Known<'_>,
    clock: Arc<dyn Clock>,
) -> Result<(Arc<Cloud>, String), StartError> {
    let mut cloud = match (&settings.cloud, &settings.service, known.sandbox) {
        (CloudChoice::OpenStack, Some(service), _) => of_service(service),
        (CloudChoice::SandboxAt(url), ..) => of_sandbox(url.as_str(), settings),
        (_, _, Some(sandbox)) => of_sandbox(&sandbox.auth_url, settings),
        (CloudChoice::OpenStack | CloudChoice::Sandbox, ..) => {
            return Err(StartError::NoCredentials);
        }
    };
    if let Some(users) = &settings.stack_users {
        cloud.stack_users = Some(user_domain(users));
    }
    cloud.cfn_places = CfnPlaces {
        wait_conditions: settings.wait_condition_url.as_ref().map(Url::to_string),
        metadata: settings.metadata_url.as_ref().map(Url::to_string),
        watch: settings.watch_url.as_ref().map(Url::to_string),
        orchestration: settings.clients.orchestration_url.as_ref().map(Url::to_string),
        listener: known.cfn_address.map(|address| {
            format!("{}://{}/v1", super::scheme(settings), super::reachable(address))
        }),
        is_secure: Some(settings.agents_are_secure.clone()),
        validates: Some(settings.agents_validate.clone()),
    };
    cloud.region.clone_from(&settings.clients.region);
    if let Some(interface) = &settings.clients.endpoint_type {
        cloud.interface.clone_from(interface);
    }
    let clients = &settings.clients;
    cloud.guests_auth_url =
        clients.guests_auth_url.clone().or_else(|| clients.authenticate_url.clone());
    cloud.guests_interface.clone_from(&clients.guests_interface);
    cloud.tracer = known.tracer;
    cloud.insecure = settings.clients.insecure;
    cloud.fetch_allow.clone_from(&settings.limits.fetch_allow);
    cloud.ca_file = settings.clients.ca_file.as_deref().map(read).transpose()?;
    if let Some(repeats) = settings.limits.client_retries {
        cloud.limits.call_attempts = repeats.saturating_add(1);
    }
    if let Some(kept) = settings.clients.token_cache_time {
        cloud.limits.token_cache_time = kept;
    }
    let signers = settings.signers.as_ref();
    let signers = signers.map(|all| all.iter().map(|it| of_signer(it, &cloud)).collect());
    cloud.signers = signers.transpose()?;
    cloud.entrances.clone_from(&settings.entrances);
    let auth_url = cloud.auth_url.clone();
    Ok((Arc::new(Cloud::new(cloud, clock)?), auth_url))
}

/// The client of a cloud that is already there, which asks everything once.
pub(super) fn once(settings: &Settings, auth_url: &str) -> Result<Cloud, StartError> {
    let mut settings = settings.clone();
    settings.limits.client_retries = Some(0);
    if settings.cloud == CloudChoice::Sandbox {
        let url = auth_url.parse().map_err(|_| StartError::NoCredentials)?;
        settings.cloud = CloudChoice::SandboxAt(url);
    }
    let (cloud, _) = connect(&settings, Known::default(), Arc::new(SystemClock))?;
    Ok(cloud.as_ref().clone())
}

fn read(path: &Path) -> Result<Vec<u8>, StartError> {
    let file = |source| StartError::File { path: path.to_path_buf(), source };
    std::fs::read(path).map_err(file)
}

/// Another cloud whose users sign requests, which is handled as the first one is. Whoever Hearth is
/// there, it is nobody that it is elsewhere: no cloud is sent another's passwords.
fn of_signer(
    signer: &SigningCloud,
    like: &CloudSettings,
) -> Result<(String, CloudSettings), StartError> {
    let there = of_service(&signer.service);
    let ca_file = signer.ca_file.as_deref().map(read).transpose()?;
    let cloud = CloudSettings {
        auth_url: there.auth_url,
        guests_auth_url: None,
        username: there.username,
        password: there.password,
        project_name: there.project_name,
        user_domain: there.user_domain,
        project_domain: there.project_domain,
        stack_users: signer.stack_users.as_ref().map(user_domain),
        ca_file: ca_file.or_else(|| like.ca_file.clone()),
        insecure: signer.insecure || like.insecure,
        ..like.clone()
    };
    Ok((signer.name.clone(), cloud))
}

fn of_sandbox(auth_url: &str, settings: &Settings) -> CloudSettings {
    let password = sandbox_password(settings);
    let stack_users = UserDomainSettings::of_sandbox(password.clone());
    let cloud =
        CloudSettings::new(auth_url, SANDBOX_SERVICE_USER, password, SANDBOX_SERVICE_PROJECT);
    CloudSettings { stack_users: Some(stack_users), ..cloud }
}

fn of_service(service: &ServiceCredentials) -> CloudSettings {
    let mut cloud = CloudSettings::new(
        service.auth_url.as_str(),
        &service.username,
        service.password.clone(),
        &service.project_name,
    );
    if let Some(domain) = &service.user_domain {
        cloud.user_domain = named(domain);
    }
    if let Some(domain) = &service.project_domain {
        cloud.project_domain = named(domain);
    }
    cloud
}

fn user_domain(users: &StackUsers) -> UserDomainSettings {
    UserDomainSettings {
        domain: named(&users.domain),
        admin: users.admin.clone(),
        password: users.password.clone(),
        role: users.role.clone(),
    }
}

fn named(domain: &config::Domain) -> openstack::Domain {
    match domain {
        config::Domain::Id(id) => openstack::Domain::Id(id.clone()),
        config::Domain::Name(name) => openstack::Domain::Name(name.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Secret;

    #[test]
    fn a_listed_cloud_is_sent_no_password_of_the_own_one() {
        let secret = |text: &str| Secret::new(text.to_owned());
        let own = CloudSettings {
            stack_users: Some(UserDomainSettings::of_sandbox(secret("own"))),
            ..CloudSettings::new("http://here", "heat", secret("own"), "service")
        };
        let service = ServiceCredentials {
            auth_url: "http://east".parse().unwrap(),
            username: "heat".to_owned(),
            password: secret("theirs"),
            project_name: "service".to_owned(),
            user_domain: None,
            project_domain: None,
        };
        let east = SigningCloud {
            name: "east".to_owned(),
            service,
            stack_users: None,
            ca_file: None,
            insecure: false,
        };
        let (_, there) = of_signer(&east, &own).unwrap();
        assert_eq!(there.password.reveal(), "theirs");
        assert!(there.stack_users.is_none());
        let users = StackUsers {
            domain: config::Domain::Name("heat".to_owned()),
            admin: "admin".to_owned(),
            password: secret("theirs, too"),
            role: "heat_stack_user".to_owned(),
        };
        let east = SigningCloud { stack_users: Some(users), ..east };
        let (_, there) = of_signer(&east, &own).unwrap();
        assert_eq!(there.stack_users.unwrap().password.reveal(), "theirs, too");
    }
}
