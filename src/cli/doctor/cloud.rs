//! The cloud: Keystone, who Hearth is there, the users of stacks, every service, and the clock.

use std::collections::BTreeSet;
use std::time::Duration;

use chrono::TimeDelta;
use futures::future::join_all;
use serde_json::Value;

use super::report::Report;
use crate::cli::data::{Files, with_causes};
use crate::cli::node;
use crate::clock::{Clock, SystemClock};
use crate::config::{CloudChoice, Settings};
use crate::openstack::{Cloud, CloudError, Request, Service, Session, Surveyed};
use crate::resource_types::Registry;

/// How long one question may take.
const ANSWER_WITHIN: Duration = Duration::from_secs(15);
/// What the service user has to be, one of them.
const SERVICE_ROLES: [&str; 2] = ["admin", "service"];
/// The services that most stacks need.
const USUAL: [Service; 4] = [Service::Compute, Service::Network, Service::Volume, Service::Image];
/// Hearth's own type in the catalog.
const ORCHESTRATION: &str = "orchestration";
/// From where on a clock is off, and from where on tokens and deadlines are misjudged.
const SKEW_NOTED: TimeDelta = TimeDelta::seconds(3);
const SKEW_MAX: TimeDelta = TimeDelta::seconds(30);

pub(super) async fn look(
    settings: &Settings,
    files: &Files,
    is_running: bool,
    report: &mut Report,
) {
    let Some(auth_url) = keystone(settings, files, is_running, report) else { return };
    let cloud = match node::cloud_once(settings, &auth_url) {
        Ok(cloud) => cloud,
        Err(error) => {
            report.wrong("keystone", with_causes(&error), "correct the settings of the cloud");
            return;
        }
    };
    let session = cloud.service_session();
    if !service_user(&session, &auth_url, report).await {
        return;
    }
    roles(&session, &cloud, settings, report).await;
    user_domain(&cloud, report).await;
    services(&session, is_running, report).await;
}

/// Where Keystone is, if it can be there.
fn keystone(
    settings: &Settings,
    files: &Files,
    is_running: bool,
    report: &mut Report,
) -> Option<String> {
    match (&settings.cloud, &settings.service) {
        (CloudChoice::OpenStack, Some(service)) => Some(service.auth_url.to_string()),
        (CloudChoice::SandboxAt(url), _) => Some(url.to_string()),
        (CloudChoice::Sandbox, _) if is_running => {
            let text = std::fs::read_to_string(files.data.clouds_yaml()).unwrap_or_default();
            let clouds: Value = serde_yaml::from_str(&text).unwrap_or_default();
            let url = clouds["clouds"]["hearth"]["auth"]["auth_url"].as_str().map(str::to_owned);
            if url.is_none() {
                report.wrong(
                    "keystone",
                    format!("{} does not say where it is", files.data.clouds_yaml().display()),
                    "start the server again, which writes the file",
                );
            }
            url
        }
        (CloudChoice::OpenStack | CloudChoice::Sandbox, _) => {
            report.note("keystone", "the sandbox starts with the server");
            None
        }
    }
}

/// Whether Hearth's own user gets a token.
async fn service_user(session: &Session, auth_url: &str, report: &mut Report) -> bool {
    let caller = match within(session.caller()).await {
        Ok(caller) => caller,
        Err(Failure::Cloud(error)) if error.status().is_some() => {
            report.fine("keystone", format!("{auth_url} answers"));
            report.wrong(
                "service user",
                error.to_string(),
                "correct username, password, project and domains of [keystone_authtoken]",
            );
            return false;
        }
        Err(error) => {
            report.wrong(
                "keystone",
                format!("{auth_url}: {error}"),
                "see that it runs, that auth_url is right and reached from this machine, and for \
                 https that [clients] ca_file has its authority",
            );
            return false;
        }
    };
    report.fine("keystone", format!("{auth_url} answers"));
    let says = format!("{} in {}", caller.user_name, caller.project_name);
    match caller.roles.iter().any(|role| SERVICE_ROLES.contains(&role.as_str())) {
        true => report.fine("service user", format!("{says}: {}", caller.roles.join(", "))),
        false => report.wrong(
            "service user",
            format!("{says} is neither admin nor service"),
            format!(
                "openstack role add --project {} --user {} service",
                caller.project_name, caller.user_name
            ),
        ),
    }
    true
}

/// The roles that trusts and stacks' users are given by name.
async fn roles(session: &Session, cloud: &Cloud, settings: &Settings, report: &mut Report) {
    let delegated = &settings.limits.delegated_roles;
    if delegated.is_empty() {
        report.fine("trust role", "trusts lend all roles of the token that they are made with");
    }
    let of_users = cloud.stack_user_role().map(|role| ("stack user role", role.to_owned()));
    let delegated = delegated.iter().map(|role| ("trust role", role.clone()));
    for (what, role) in delegated.chain(of_users) {
        let request = Request::get(Service::Identity, "/v3/roles").query("name", &role);
        let found = within(async { session.send(request).await?.json() }).await;
        match found.map(|body| body["roles"].as_array().map_or(0, Vec::len)) {
            Ok(0) => report.wrong(
                what,
                format!("Keystone has no role {role}"),
                format!("openstack role create {role}"),
            ),
            Ok(_) => report.fine(what, role),
            Err(error) => report.note(what, format!("{role}; it cannot be looked up: {error}")),
        }
    }
}

async fn user_domain(cloud: &Cloud, report: &mut Report) {
    const WHAT: &str = "user domain";
    let Some(domain) = cloud.user_domain() else {
        report.warning(
            WHAT,
            "none is set: stacks have no users for those who signal them",
            "set stack_user_domain_name, stack_domain_admin and stack_domain_admin_password",
        );
        return;
    };
    match within(domain.id()).await {
        Ok(id) => report.fine(WHAT, format!("its administrator reaches {id}")),
        Err(error) => report.wrong(
            WHAT,
            format!("its administrator is not let in: {error}"),
            "correct stack_user_domain_name or _id, stack_domain_admin and \
             stack_domain_admin_password, or make them as Heat's installation guide says",
        ),
    }
}

async fn services(session: &Session, is_running: bool, report: &mut Report) {
    let mut all = vec![Service::Identity];
    all.extend(USUAL);
    let mut others = BTreeSet::new();
    if let Ok(registry) = Registry::built_in() {
        let named = registry.declarations().filter_map(|it| it.service.as_deref());
        others.extend(named.map(Service::of_type).filter(|service| !all.contains(service)));
    }
    all.extend(others);
    all.push(Service::of_type(ORCHESTRATION));
    let asked = all.iter().map(|service| within(session.survey(service)));
    let mut absent = Vec::new();
    for (service, found) in all.iter().zip(join_all(asked).await) {
        let what = service.to_string();
        match found {
            Ok(Surveyed { endpoint, version, date }) => {
                let version = version.map(|version| format!(", {version}")).unwrap_or_default();
                report.fine(what, format!("{endpoint}{version}"));
                if *service == Service::Identity {
                    clock(date, report);
                }
            }
            Err(Failure::Cloud(CloudError::NoEndpoint { .. })) => match is_needed(service) {
                true => missing(what, report),
                false => absent.push(what),
            },
            Err(error) if what == ORCHESTRATION && !is_running => {
                report.note(what, format!("the server does not run: {error}"));
            }
            Err(error) => report.wrong(
                what,
                error.to_string(),
                "see that it runs, and that the catalog (`openstack catalog list`) has the address \
                 at which this machine reaches it; [clients] endpoint_type chooses another one",
            ),
        }
    }
    if !absent.is_empty() {
        let says = format!("the catalog has no {}: nothing can be made there", absent.join(", "));
        report.note("other services", says);
    }
}

/// Whether most stacks or all clients need it.
fn is_needed(service: &Service) -> bool {
    USUAL.contains(service) || service.as_str() == ORCHESTRATION
}

fn missing(service: String, report: &mut Report) {
    let says = "the catalog has no endpoint of it";
    if service == ORCHESTRATION {
        report.warning(
            service,
            format!("{says}: clients do not find Hearth"),
            "openstack endpoint create orchestration public 'http://HOST:8004/v1/%(project_id)s'",
        );
    } else {
        let advice = "add it to the catalog, or set the region of region_name_for_services right";
        report.warning(service, says, advice);
    }
}

fn clock(date: Option<chrono::DateTime<chrono::Utc>>, report: &mut Report) {
    const WHAT: &str = "clock";
    let Some(date) = date else {
        report.note(WHAT, "Keystone does not say what time it is");
        return;
    };
    // Keystone's is cut to whole seconds.
    let ahead = SystemClock.now() - date;
    let says = format!("this machine is {} s from Keystone", ahead.num_seconds());
    let advice = "have both follow a time server: tokens and deadlines are judged by the clock";
    if ahead.abs() > SKEW_MAX {
        report.wrong(WHAT, says, advice);
    } else if ahead.abs() > SKEW_NOTED {
        report.warning(WHAT, says, advice);
    } else {
        report.fine(WHAT, says);
    }
}

/// Why a question has no answer.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Cloud(#[from] CloudError),
    #[error("no answer within {} s", ANSWER_WITHIN.as_secs())]
    Late,
}

async fn within<T>(asked: impl Future<Output = Result<T, CloudError>>) -> Result<T, Failure> {
    match tokio::time::timeout(ANSWER_WITHIN, asked).await {
        Ok(answer) => Ok(answer?),
        Err(_) => Err(Failure::Late),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::doctor::report::Verdict;

    #[test]
    fn a_clock_that_is_off_is_told() {
        let verdict = |seconds| {
            let mut report = Report::default();
            clock(Some(SystemClock.now() + TimeDelta::seconds(seconds)), &mut report);
            report.worst()
        };
        assert_eq!(verdict(0), Verdict::Fine);
        assert_eq!(verdict(-10), Verdict::Warning);
        assert_eq!(verdict(10), Verdict::Warning);
        assert_eq!(verdict(3600), Verdict::Wrong);
    }
}
