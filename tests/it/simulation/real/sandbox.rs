//! The cloud that real types are played in: a sandbox without a server, asked as a session asks.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use chrono::TimeDelta;
use hearth::clock::{Clock, SimulatedClock};
use hearth::openstack::{
    Body, CloudError, Method, Microversion, Request, Response, Service, answered,
};
use hearth::resource_types::asks::{Answer, Ask, Facts};
use hearth::resource_types::recorded::life;
use hearth::sandbox::{PASSWORD, PlainRequest, SandboxConfig, UnservedSandbox};
use serde_json::{Value, json};

const AUTH_URL: &str = "http://sandbox.test/v3";
const USER: &str = "admin";
const PROJECT: &str = "demo";
/// The newest microversions that the sandbox has.
const NEWEST: [(Service, &str); 2] = [(Service::Compute, "2.93"), (Service::Volume, "3.70")];

pub(in crate::simulation) struct Sandbox {
    inner: UnservedSandbox,
    clock: Arc<SimulatedClock>,
    login: Login,
    /// What there was before the stack.
    pub(super) before: Value,
}

/// A token, and what came with it.
#[derive(Default)]
struct Login {
    token: String,
    project: String,
    catalog: Vec<(Service, String)>,
}

impl Sandbox {
    /// A cloud in which nothing has happened yet.
    pub(in crate::simulation) fn new(clock: Arc<SimulatedClock>) -> Self {
        // Making one costs much more than a copy.
        static PLANTED: OnceLock<std::sync::Mutex<UnservedSandbox>> = OnceLock::new();
        let planted = PLANTED.get_or_init(|| {
            let clock = Arc::new(SimulatedClock::new(1));
            UnservedSandbox::new(SandboxConfig::default(), clock).unwrap().into()
        });
        let inner = planted.lock().unwrap().copy(clock.clone());
        let mut sandbox = Self { inner, clock, login: Login::default(), before: Value::Null };
        sandbox.log_in();
        // The project's own group is there from the first look on.
        let look = Request::get(Service::Network, "/v2.0/security-groups");
        sandbox.send(&look).unwrap();
        sandbox
    }

    pub(super) fn facts(&self) -> Facts {
        Facts {
            now: self.clock.now(),
            stack_user_role: None,
            auth_url: AUTH_URL.to_owned(),
            region: None,
            cfn_places: Default::default(),
        }
    }

    pub(super) fn state(&mut self) -> Value {
        self.inner.state()
    }

    fn log_in(&mut self) {
        let domain = json!({ "id": "default" });
        let user = json!({ "name": USER, "domain": domain, "password": PASSWORD });
        let body = json!({ "auth": {
            "identity": { "methods": ["password"], "password": { "user": user } },
            "scope": { "project": { "name": PROJECT, "domain": domain } } } });
        let answer = self.inner.answer(PlainRequest {
            method: "POST",
            url: &format!("{AUTH_URL}/auth/tokens"),
            headers: vec![("content-type".to_owned(), "application/json".to_owned())],
            body: body.to_string().into(),
        });
        let token = answer.headers.iter().find(|(name, _)| name == "x-subject-token");
        let told: Value = serde_json::from_slice(&answer.body).unwrap();
        let entry = |entry: &Value| {
            let service = Service::of_type(entry["type"].as_str().unwrap());
            (service, entry["endpoints"][0]["url"].as_str().unwrap_or_default().to_owned())
        };
        self.login = Login {
            token: token.unwrap().1.clone(),
            project: told["token"]["project"]["id"].as_str().unwrap().to_owned(),
            catalog: told["token"]["catalog"].as_array().unwrap().iter().map(entry).collect(),
        };
    }

    fn endpoint(&self, service: &Service) -> Result<String, CloudError> {
        let found = self.login.catalog.iter().find(|(known, _)| known == service);
        found.map(|(_, url)| url.clone()).ok_or_else(|| CloudError::NoEndpoint {
            service: service.clone(),
            interface: "public".to_owned(),
            region: "any".to_owned(),
        })
    }

    /// Makes a call. A token that has run out is replaced.
    pub(super) fn send(&mut self, request: &Request) -> Result<Response, CloudError> {
        match self.attempt(request) {
            Err(error) if error.is_unauthorized() => {
                self.log_in();
                self.attempt(request)
            }
            outcome => outcome,
        }
    }

    fn attempt(&mut self, request: &Request) -> Result<Response, CloudError> {
        let endpoint = self.endpoint(&request.service)?;
        let version = agreed(&request.service, request.microversion);
        let (url, mut headers) = request.addressed(&endpoint, &self.login.project, version);
        headers.push(("x-auth-token".to_owned(), self.login.token.clone()));
        let (kind, body) = match &request.body {
            Body::None => (None, Bytes::new()),
            Body::Json(value) => (Some("application/json"), Bytes::from(value.to_string())),
            Body::Bytes { content_type, bytes } => (Some(content_type.as_str()), bytes.clone()),
        };
        headers.extend(kind.map(|kind| ("content-type".to_owned(), kind.to_owned())));
        let mut address = url::Url::parse(&url).unwrap();
        if !request.query.is_empty() {
            address.query_pairs_mut().extend_pairs(&request.query);
        }
        let method = request.method.as_str();
        let plain = PlainRequest { method, url: address.as_str(), headers, body };
        let answer = self.inner.answer(plain);
        answered(request, &url, answer.status, &answer.headers, answer.body)
    }

    /// Answers an ask; `send` makes the calls in it.
    pub(super) fn answer_by(
        &mut self,
        ask: &Ask,
        send: &mut impl FnMut(&mut Self, &Request) -> Result<Response, CloudError>,
    ) -> Result<Answer, CloudError> {
        Ok(match ask {
            Ask::Call(request) => Answer::Response(send(self, request)?),
            Ask::Calls(requests) => {
                Answer::Responses(requests.iter().map(|request| send(self, request)).collect())
            }
            Ask::Poll { collection, id } => {
                let path = format!("{}/{id}", collection.items);
                let request = Request::new(Method::Get, collection.service.clone(), path);
                Answer::Object(collection.object(send(self, &request)?.json()?))
            }
            Ask::Endpoint(service) => Answer::Text(self.endpoint(service)?),
            Ask::Project => Answer::Text(self.login.project.clone()),
            Ask::Microversion { service, wanted } => Answer::Microversion(agreed(service, *wanted)),
            Ask::Reach { .. } => Answer::Reached(false),
            Ask::FreshId => Answer::Id(self.clock.fresh_id()),
            // There is one project.
            Ask::SharedId(_) => Answer::Id(uuid::Uuid::from_u128(1)),
            Ask::Pause(time) => {
                self.clock.advance(TimeDelta::from_std(*time).unwrap());
                Answer::Done
            }
            other => return Err(CloudError::Unsendable(format!("nobody answers {other:?}"))),
        })
    }
}

/// The microversion that a request is sent with.
fn agreed(service: &Service, wanted: Option<Microversion>) -> Option<Microversion> {
    let wanted = wanted.or_else(|| service.microversion())?;
    let newest = NEWEST.iter().find(|(known, _)| known == service);
    let newest = newest.map_or(wanted, |(_, newest)| newest.parse().unwrap());
    Some(wanted.min(newest))
}

/// Answers whatever it is asked: nothing goes wrong.
impl life::World for Sandbox {
    fn answer(&mut self, ask: &Ask) -> Result<Answer, CloudError> {
        self.answer_by(ask, &mut |sandbox, request| sandbox.send(request))
    }

    /// Never; but time passes from beat to beat.
    fn kills(&mut self) -> bool {
        self.clock.advance(TimeDelta::seconds(5));
        false
    }
}
