//! A session: the cloud as one user in one project sees it.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use chrono::{DateTime, Utc};

use super::behalf::Behalf;
use super::cloud::{CfnPlaces, Cloud, versioned};
use super::error::CloudError;
use super::keystone::credentials::Credentials;
use super::keystone::login::Login;
use super::keystone::token::Token;
use super::microversion::Microversion;
use super::request::{Method, Request, Response};
use super::service::Service;
use super::transport::Call;
use crate::clock::Clock;
use crate::model::{Caller, ProjectId, Secret};

/// A cloud and the credentials to call it with. Clones share their token.
#[derive(Clone)]
pub struct Session {
    pub(super) bound: Option<Bound>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) behalf: Option<Behalf>,
    /// Whether a call of it may have changed the cloud.
    pub(super) changes: Arc<AtomicBool>,
}

#[derive(Clone)]
pub(super) struct Bound {
    pub(super) cloud: Cloud,
    pub(super) login: Arc<Login>,
}

impl Session {
    pub(super) fn new(cloud: Cloud, login: Arc<Login>) -> Self {
        let clock = cloud.clock();
        Self { bound: Some(Bound { cloud, login }), clock, behalf: None, changes: Arc::default() }
    }

    /// A session that reaches nothing, for work that needs no cloud.
    pub fn detached(clock: &Arc<dyn Clock>) -> Self {
        Self { bound: None, clock: Arc::clone(clock), behalf: None, changes: Arc::default() }
    }

    /// The same session for a request of ours, whose id the services log beside theirs.
    #[must_use]
    pub fn on_behalf(&self, behalf: Option<Behalf>) -> Self {
        Self { behalf, ..self.clone() }
    }

    /// Has all calls that some work leads to made for that request, to Keystone too.
    pub async fn covers<T>(&self, work: impl Future<Output = T>) -> T {
        Behalf::cover(self.behalf.clone(), work).await
    }

    /// The same session, which knows of its own calls alone whether they changed anything.
    #[must_use]
    pub fn fresh(&self) -> Self {
        Self { changes: Arc::default(), ..self.clone() }
    }

    /// Whether a call since then may have changed the cloud.
    pub fn has_changed(&self) -> bool {
        self.changes.load(Ordering::Relaxed)
    }

    /// The present moment.
    pub fn now(&self) -> DateTime<Utc> {
        self.clock.now()
    }

    /// Makes the call. A token that the service refuses is replaced once. One that it could not have
    /// checked is replaced for the next call: if that cannot be, Keystone says why.
    pub async fn send(&self, request: Request) -> Result<Response, CloudError> {
        let bound = self.bound()?;
        let token = bound.login.token(&bound.cloud).await?;
        let refused = match self.attempt(bound, &token, request.clone()).await {
            Err(error) if error.is_unauthorized() && bound.login.credentials.renewable() => token,
            Err(error) if error.is_unchecked() && bound.login.credentials.renewable() => {
                bound.login.forget(&token).await;
                bound.login.token(&bound.cloud).await?;
                return Err(error);
            }
            outcome => return outcome,
        };
        bound.login.forget(&refused).await;
        let token = bound.login.token(&bound.cloud).await?;
        self.attempt(bound, &token, request).await
    }

    /// Who the session acts as: with a trust, the one who gave it.
    pub async fn caller(&self) -> Result<Arc<Caller>, CloudError> {
        let bound = self.bound()?;
        Ok(Arc::clone(&bound.login.token(&bound.cloud).await?.caller))
    }

    /// A session of Hearth's own user in the same cloud; this one, where Hearth has none there.
    #[must_use]
    pub fn of_service(&self) -> Session {
        let cloud = self.bound.as_ref().map(|bound| &bound.cloud);
        match cloud.filter(|cloud| cloud.has_user()) {
            Some(cloud) => cloud.service_session(),
            None => self.clone(),
        }
    }

    /// The Keystone of its cloud; empty where it reaches none.
    pub fn auth_url(&self) -> &str {
        self.bound.as_ref().map_or("", |bound| bound.cloud.keystone())
    }

    /// The project that the calls are made in.
    pub async fn project_id(&self) -> Result<ProjectId, CloudError> {
        Ok(self.caller().await?.project_id.clone())
    }

    /// A token that holds for a while, to be used elsewhere.
    pub async fn token(&self) -> Result<Secret<String>, CloudError> {
        let bound = self.bound()?;
        Ok(bound.login.token(&bound.cloud).await?.text.clone())
    }

    /// The domain that the session works on, where it works on one.
    pub(super) async fn domain_id(&self) -> Result<Option<String>, CloudError> {
        let bound = self.bound()?;
        Ok(bound.login.token(&bound.cloud).await?.domain_id.clone())
    }

    /// Keystone's address with its version, as guests are told it: of the catalog where the
    /// settings say so and it is there.
    pub async fn guests_auth_url(&self) -> String {
        let Some(bound) = &self.bound else { return String::new() };
        let token = match bound.cloud.preference().guests {
            Some(_) => bound.login.token(&bound.cloud).await.ok(),
            None => None,
        };
        let told = token.and_then(|token| token.catalog.guests_keystone().map(versioned));
        let told = told.unwrap_or_else(|| bound.cloud.guests_auth_url().to_owned());
        told.trim_end_matches('/').to_owned()
    }

    /// The region that was chosen, where one was.
    pub fn region(&self) -> Option<&str> {
        self.bound.as_ref()?.cloud.region()
    }

    /// Where CloudFormation's API is, if not where the catalog says.
    pub fn cfn_places(&self) -> CfnPlaces {
        let bound = self.bound.as_ref();
        bound.map(|bound| bound.cloud.cfn_places().clone()).unwrap_or_default()
    }

    /// Where the catalog says the service is.
    pub async fn endpoint(&self, service: &Service) -> Result<String, CloudError> {
        let bound = self.bound()?;
        let token = bound.login.token(&bound.cloud).await?;
        bound.endpoint(&token, service)
    }

    /// The microversion that a request to the service is sent with: the one wanted, or the newest
    /// that Hearth knows, or what the cloud has if that is less.
    pub async fn microversion(
        &self,
        service: &Service,
        wanted: Option<Microversion>,
    ) -> Result<Option<Microversion>, CloudError> {
        let bound = self.bound()?;
        let token = bound.login.token(&bound.cloud).await?;
        let endpoint = bound.endpoint(&token, service)?;
        bound.microversion(&token, service, wanted, &endpoint).await
    }

    async fn attempt(
        &self,
        bound: &Bound,
        token: &Token,
        request: Request,
    ) -> Result<Response, CloudError> {
        let endpoint = bound.endpoint(token, &request.service)?;
        let project = token.caller.project_id.as_str();
        let microversion =
            bound.microversion(token, &request.service, request.microversion, &endpoint).await?;
        let (url, headers) = request.addressed(&endpoint, project, microversion);
        let mut call = Call::new(request.service.clone(), request.method, url);
        call.query = request.query;
        call.time_limit = request.time_limit;
        call.header("x-auth-token", token.text.reveal())?;
        if let Some(behalf) = &self.behalf {
            call.header("x-openstack-request-id", behalf.request_id.as_str())?;
        }
        call.behalf.clone_from(&self.behalf);
        for (name, value) in &headers {
            call.header(name, value)?;
        }
        call.carry(request.body)?;
        let changes = call.method != Method::Get && call.method != Method::Head;
        let answer = bound.cloud.transport().send(&call).await;
        if changes && answer.as_ref().map_or_else(CloudError::is_unanswered, |_| true) {
            self.changes.store(true, Ordering::Relaxed);
        }
        answer
    }

    pub(super) fn bound(&self) -> Result<&Bound, CloudError> {
        self.bound.as_ref().ok_or_else(|| {
            CloudError::Unsendable("No cloud is configured to make this call".to_owned())
        })
    }
}

impl Cloud {
    /// A session with credentials of any kind.
    pub fn session(&self, credentials: Credentials) -> Session {
        Session::new(self.clone(), Arc::new(Login::new(credentials)))
    }

    /// A session of Hearth's own user.
    pub fn service_session(&self) -> Session {
        Session::new(self.clone(), self.own_login())
    }

    /// A session with a token that somebody sent, while his request lasts.
    pub fn session_for_token(&self, token: &Secret<String>, project: &ProjectId) -> Session {
        let home = self.home_of(token);
        let (token, project) = (home.secret, project.clone());
        home.cloud.session(Credentials::Token { token, project })
    }

    /// A session in a user's name by his trust.
    pub fn session_for_trust(&self, trust: &Secret<String>, project: &ProjectId) -> Session {
        let home = self.home_of(trust);
        Session::new(home.cloud.clone(), home.cloud.trust_login(&home.secret, project))
    }
}

impl Bound {
    fn endpoint(&self, token: &Token, service: &Service) -> Result<String, CloudError> {
        if let Some(fixed) = self.cloud.fixed_endpoint(service) {
            return Ok(fixed.replace("%(project_id)s", token.caller.project_id.as_str()));
        }
        token.catalog.endpoint(service).map(str::to_owned).ok_or_else(|| {
            let preference = self.cloud.preference();
            CloudError::NoEndpoint {
                service: service.clone(),
                interface: preference.interface.clone(),
                region: preference.region.clone().unwrap_or_else(|| "any".to_owned()),
            }
        })
    }

    async fn microversion(
        &self,
        token: &Token,
        service: &Service,
        wanted: Option<Microversion>,
        endpoint: &str,
    ) -> Result<Option<Microversion>, CloudError> {
        let Some(wanted) = wanted.or_else(|| service.microversion()) else { return Ok(None) };
        let Some(range) = self.cloud.microversions(token, service, endpoint).await? else {
            return Ok(None);
        };
        match range.negotiate(wanted) {
            Some(agreed) => Ok(Some(agreed)),
            None => Err(CloudError::NoMicroversion {
                service: service.clone(),
                wanted: wanted.to_string(),
            }),
        }
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.bound {
            None => f.write_str("Session(detached)"),
            Some(bound) => write!(f, "Session({:?}, {:?})", bound.cloud, bound.login.credentials),
        }
    }
}
