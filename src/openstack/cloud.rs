//! The cloud as this process knows it: one pooled client, Hearth's own credentials, the limits,
//! and what was learned of tokens, trusts and versions.

mod others;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;

use super::catalog::{Preference, version_document};
use super::egress::Egress;
use super::error::CloudError;
use super::keystone::credentials::{Credentials, Domain};
use super::keystone::domain_known::{self, UserDomainSettings};
use super::keystone::login::Login;
use super::keystone::token::Token;
use super::keystone::validations::{Fingerprint, Validations, fingerprint};
use super::limits::{
    CloudLimits, PLACES_MAX, SIGNATURES_IN_FLIGHT_MAX, TRUST_SESSIONS_MAX, VERSIONS_KEPT_SECS,
};
use super::microversion::MicroversionRange;
use super::request::Method;
use super::service::Service;
use super::transport::{Believed, Call, Transport, certificates};
use crate::clock::Clock;
use crate::metrics::{Measured, Page};
use crate::model::{AllowedTarget, ProjectId, Secret};
use crate::traces::Tracer;

pub(super) use others::Other;
use others::Others;

/// What an operator says of the cloud.
#[derive(Clone, Debug)]
pub struct CloudSettings {
    /// Keystone, with or without `/v3`.
    pub auth_url: String,
    /// Keystone as guests reach it, where that is another address
    /// (`www_authenticate_uri`).
    pub guests_auth_url: Option<String>,
    /// The interface of the catalog's Keystone that guests are told of before that one
    /// (`server_keystone_endpoint_type`).
    pub guests_interface: Option<String>,
    /// Hearth's own user.
    pub username: String,
    pub password: Secret<String>,
    pub project_name: String,
    pub user_domain: Domain,
    pub project_domain: Domain,
    /// None takes the first region that has the service.
    pub region: Option<String>,
    /// `public`, `internal` or `admin`.
    pub interface: String,
    /// Endpoints that stand in for the catalog's.
    pub endpoint_overrides: BTreeMap<Service, String>,
    /// Certificates to trust besides the system's, as PEM.
    pub ca_file: Option<Vec<u8>>,
    /// Checks no certificate.
    pub insecure: bool,
    /// Where stacks have users of their own.
    pub stack_users: Option<UserDomainSettings>,
    pub limits: CloudLimits,
    /// Where other clouds may be beside the internet.
    pub fetch_allow: Vec<AllowedTarget>,
    pub cfn_places: CfnPlaces,
    /// The clouds, by their names, whose users sign requests, where it is not this one alone.
    pub signers: Option<Vec<(String, CloudSettings)>>,
    /// The Keystones of which a caller who comes with a password has to name one.
    pub entrances: Option<Vec<String>>,
    /// Who is told of each call.
    pub tracer: Tracer,
}

/// Where agents and alarms reach CloudFormation's API, and whoever signals with a token the
/// Orchestration API, if not where the catalog says, and how.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CfnPlaces {
    /// For signals (`heat_waitcondition_server_url`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_conditions: Option<String>,
    /// For metadata (`heat_metadata_server_url`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<String>,
    /// Where they put metric data (`heat_watch_server_url`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watch: Option<String>,
    /// The Orchestration API (`url` of `[clients_heat]`), with Heat's mark for the project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub orchestration: Option<String>,
    /// Where this process serves it, for a catalog without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listener: Option<String>,
    /// Whether agents are to reach it by TLS (`instance_connection_is_secure`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_secure: Option<String>,
    /// Whether they check who answers (`instance_connection_https_validate_certificates`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validates: Option<String>,
}

impl CfnPlaces {
    /// Whether nothing is said but by the catalog.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl CloudSettings {
    /// The settings of a cloud that differ in nothing but where it is and who Hearth is there.
    pub fn new(auth_url: &str, username: &str, password: Secret<String>, project: &str) -> Self {
        Self {
            auth_url: auth_url.to_owned(),
            guests_auth_url: None,
            guests_interface: None,
            username: username.to_owned(),
            password,
            project_name: project.to_owned(),
            user_domain: Domain::Name("Default".to_owned()),
            project_domain: Domain::Name("Default".to_owned()),
            region: None,
            interface: "public".to_owned(),
            endpoint_overrides: BTreeMap::new(),
            ca_file: None,
            insecure: false,
            stack_users: None,
            limits: CloudLimits::default(),
            fetch_allow: Vec::new(),
            cfn_places: CfnPlaces::default(),
            signers: None,
            entrances: None,
            tracer: Tracer::default(),
        }
    }
}

/// A cloud and Hearth's own way into it. Clones are the same.
#[derive(Clone)]
pub struct Cloud {
    inner: Arc<Inner>,
}

/// Where a cloud is, and who Hearth is there.
pub(super) struct Place {
    /// Ends in `/v3/`.
    pub(super) auth_url: String,
    /// The same as guests are told it.
    pub(super) guests_auth_url: String,
    pub(super) preference: Preference,
    pub(super) transport: Arc<Transport>,
    pub(super) service: Arc<Login>,
}

struct Inner {
    place: Place,
    endpoint_overrides: BTreeMap<Service, String>,
    user_domain: Option<domain_known::Known>,
    cfn_places: CfnPlaces,
    others: Others,
    validations: Validations,
    /// Signed requests that Keystone has vouched for.
    signatures: Validations,
    /// Those that it is asked about.
    signature_gate: Semaphore,
    /// Names and passwords of callers that it has taken.
    passwords: Validations,
    token_cache_time: Duration,
    trusts: Mutex<Trusts>,
    versions: Mutex<HashMap<String, Arc<tokio::sync::Mutex<Option<Versions>>>>>,
    /// Other regions, and other clouds.
    places: Mutex<HashMap<Fingerprint, Cloud>>,
    clock: Arc<dyn Clock>,
}

impl Inner {
    fn at(place: Place, clock: Arc<dyn Clock>) -> Self {
        Self {
            place,
            endpoint_overrides: BTreeMap::new(),
            user_domain: None,
            cfn_places: CfnPlaces::default(),
            others: Others::default(),
            validations: Validations::default(),
            signatures: Validations::default(),
            signature_gate: Semaphore::new(SIGNATURES_IN_FLIGHT_MAX),
            passwords: Validations::default(),
            token_cache_time: CloudLimits::default().token_cache_time,
            trusts: Mutex::default(),
            versions: Mutex::default(),
            places: Mutex::default(),
            clock,
        }
    }
}

/// The logins of trusts, so that their tokens are got once in their lifetime.
#[derive(Default)]
struct Trusts {
    logins: HashMap<Fingerprint, Arc<Login>>,
    order: VecDeque<Fingerprint>,
}

#[derive(Clone, Copy)]
struct Versions {
    range: Option<MicroversionRange>,
    until: DateTime<Utc>,
}

impl Cloud {
    /// Prepares the client; nothing is asked of the cloud yet.
    pub fn new(settings: CloudSettings, clock: Arc<dyn Clock>) -> Result<Cloud, CloudError> {
        let service = Credentials::Password {
            username: settings.username.clone(),
            password: settings.password.clone(),
            user_domain: settings.user_domain.clone(),
            project_name: settings.project_name.clone(),
            project_domain: settings.project_domain.clone(),
        };
        Self::of(service, settings, clock)
    }

    /// The same with other credentials of Hearth's own user.
    fn of(
        service: Credentials,
        settings: CloudSettings,
        clock: Arc<dyn Clock>,
    ) -> Result<Cloud, CloudError> {
        let others = Others::of(&settings, &clock)?;
        let unusable = |reason| CloudError::Unsendable(format!("ca_file: {reason}"));
        let pem = settings.ca_file.as_deref();
        let believed = Believed {
            certificates: pem.map(certificates).transpose().map_err(unusable)?.unwrap_or_default(),
            insecure: settings.insecure,
        };
        let token_cache_time = settings.limits.token_cache_time;
        let egress = Egress::new(&settings.fetch_allow);
        let (limits, tracer) = (settings.limits, settings.tracer);
        let transport = Transport::new(limits, believed, egress, Arc::clone(&clock), tracer)?;
        let place = Place {
            auth_url: versioned(&settings.auth_url),
            guests_auth_url: versioned(
                settings.guests_auth_url.as_deref().unwrap_or(&settings.auth_url),
            ),
            preference: Preference {
                interface: settings.interface,
                region: settings.region,
                guests: settings.guests_interface,
            },
            transport: Arc::new(transport),
            service: Arc::new(Login::new(service)),
        };
        let mut inner = Inner::at(place, clock);
        inner.endpoint_overrides = settings.endpoint_overrides;
        inner.token_cache_time = token_cache_time;
        inner.user_domain = settings.stack_users.map(Into::into);
        inner.cfn_places = settings.cfn_places;
        inner.others = others;
        Ok(Cloud { inner: Arc::new(inner) })
    }

    /// The region that was chosen, where one was.
    pub fn region(&self) -> Option<&str> {
        self.inner.place.preference.region.as_deref()
    }

    /// Where CloudFormation's API is, if not where the catalog says.
    pub fn cfn_places(&self) -> &CfnPlaces {
        &self.inner.cfn_places
    }

    /// Another place, which is kept under a key of everything that it is made of.
    pub(super) fn at(
        &self,
        key: &Secret<String>,
        place: impl FnOnce(&Place) -> Result<Place, CloudError>,
    ) -> Result<Cloud, CloudError> {
        let key = fingerprint(key);
        let mut places = self.inner.places.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = places.get(&key) {
            return Ok(known.clone());
        }
        let inner = Inner::at(place(&self.inner.place)?, Arc::clone(&self.inner.clock));
        let cloud = Cloud { inner: Arc::new(inner) };
        if places.len() >= PLACES_MAX {
            places.clear();
        }
        places.insert(key, cloud.clone());
        Ok(cloud)
    }

    /// The login of Hearth's own user.
    pub(super) fn own_login(&self) -> Arc<Login> {
        Arc::clone(&self.inner.place.service)
    }

    /// The login of a trust. The same trust gets the same one, and so the same token, for as long
    /// as it holds.
    pub(super) fn trust_login(&self, trust: &Secret<String>, project: &ProjectId) -> Arc<Login> {
        let key = fingerprint(trust);
        let mut trusts = self.inner.trusts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(login) = trusts.logins.get(&key) {
            return Arc::clone(login);
        }
        let credentials = Credentials::Trust { trust: trust.clone(), project: project.clone() };
        let login = Arc::new(Login::new(credentials));
        trusts.logins.insert(key, Arc::clone(&login));
        trusts.order.push_back(key);
        while trusts.order.len() > TRUST_SESSIONS_MAX {
            if let Some(oldest) = trusts.order.pop_front() {
                trusts.logins.remove(&oldest);
            }
        }
        login
    }

    /// Drops the login of a trust that is given back.
    pub(super) fn forget_trust(&self, trust: &Secret<String>) {
        let key = fingerprint(trust);
        let mut trusts = self.inner.trusts.lock().unwrap_or_else(PoisonError::into_inner);
        if trusts.logins.remove(&key).is_some() {
            trusts.order.retain(|known| *known != key);
        }
    }

    /// The microversions that a service has at an endpoint; `None` where it has none.
    pub(super) async fn microversions(
        &self,
        token: &Token,
        service: &Service,
        endpoint: &str,
    ) -> Result<Option<MicroversionRange>, CloudError> {
        let url = version_document(endpoint, service);
        let slot = {
            let mut versions = self.inner.versions.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(versions.entry(url.clone()).or_default())
        };
        let mut known = slot.lock().await;
        if let Some(versions) = *known
            && self.now() < versions.until
        {
            return Ok(versions.range);
        }
        let mut call = Call::new(service.clone(), Method::Get, url);
        // Cinder shows its versions to those alone who have a token.
        call.header("x-auth-token", token.text.reveal())?;
        let range = match self.transport().send(&call).await {
            Ok(answer) => answer.json().ok().as_ref().and_then(MicroversionRange::read),
            Err(error) if error.is_transient() => return Err(error),
            Err(error) if error.is_unauthorized() => return Err(error),
            // A service that shows no version document has no microversions.
            Err(_) => None,
        };
        let until = self.now() + TimeDelta::seconds(VERSIONS_KEPT_SECS);
        *known = Some(Versions { range, until });
        Ok(range)
    }

    /// The endpoint that settings put in place of the catalog's. Keystone is where it is asked
    /// for tokens.
    pub(super) fn fixed_endpoint(&self, service: &Service) -> Option<&str> {
        let set = self.inner.endpoint_overrides.get(service).map(String::as_str);
        set.or_else(|| {
            (*service == Service::Identity).then_some(self.inner.place.auth_url.as_str())
        })
    }

    pub(super) fn auth_url(&self, path: &str) -> String {
        format!("{}{path}", self.keystone())
    }

    /// Ends in `/v3/`.
    pub(super) fn keystone(&self) -> &str {
        &self.inner.place.auth_url
    }

    pub(super) fn guests_auth_url(&self) -> &str {
        &self.inner.place.guests_auth_url
    }

    pub(super) fn preference(&self) -> &Preference {
        &self.inner.place.preference
    }

    pub(super) fn transport(&self) -> &Transport {
        &self.inner.place.transport
    }

    /// How long Keystone's word on a token counts.
    pub fn token_cache_time(&self) -> Duration {
        self.inner.token_cache_time
    }

    pub(super) fn validations(&self) -> &Validations {
        &self.inner.validations
    }

    pub(super) fn passwords(&self) -> &Validations {
        &self.inner.passwords
    }

    pub(super) fn others(&self) -> &Others {
        &self.inner.others
    }

    pub(super) fn signatures(&self) -> &Validations {
        &self.inner.signatures
    }

    pub(super) fn signature_gate(&self) -> &Semaphore {
        &self.inner.signature_gate
    }

    pub(super) fn known_user_domain(&self) -> Option<&domain_known::Known> {
        self.inner.user_domain.as_ref()
    }

    /// Whether Hearth has a user of its own there.
    pub(super) fn has_user(&self) -> bool {
        !matches!(self.inner.place.service.credentials, Credentials::Nothing)
    }

    pub(super) fn service_login(&self) -> &Login {
        &self.inner.place.service
    }

    pub(super) fn now(&self) -> DateTime<Utc> {
        self.inner.clock.now()
    }

    pub(super) fn clock(&self) -> Arc<dyn Clock> {
        Arc::clone(&self.inner.clock)
    }
}

impl Measured for Cloud {
    fn measure(&self, page: &mut Page) {
        self.transport().measure(page);
    }
}

impl fmt::Debug for Cloud {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cloud({})", self.inner.place.auth_url)
    }
}

/// Keystone's URL with its version, and a slash at the end. Settings may name version 2.0, which
/// Keystone no longer has.
pub(super) fn versioned(auth_url: &str) -> String {
    let url = auth_url.trim_end_matches('/');
    let root = url.strip_suffix("/v3").or_else(|| url.strip_suffix("/v2.0")).unwrap_or(url);
    format!("{root}/v3/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keystone_is_found_with_and_without_its_version() {
        for url in ["http://h:5000", "http://h:5000/", "http://h:5000/v3", "http://h:5000/v2.0/"] {
            assert_eq!(versioned(url), "http://h:5000/v3/");
        }
        assert_eq!(versioned("https://h/identity"), "https://h/identity/v3/");
    }
}
