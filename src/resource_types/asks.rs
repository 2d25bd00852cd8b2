//! What types ask of the world. A type's program is a plain function of what it is told and of the
//! answers that it has got so far: the first ask without an answer ends the run, and whoever runs
//! the program gets the answer and runs it again (`actors::executor`).

use std::cell::{Cell, RefCell};
use std::time::Duration;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use super::job::Attempt;
use super::kept;
use super::software::{Deploy, Deployment, SoftwareConfig};
use super::user_domain::UserDomain;
use crate::events::resource::AnswersKept;
use crate::model::{ConfigId, DeploymentId, ProjectId, Refusal, Secret};
use crate::openstack::{
    CfnPlaces, CloudError, Collection, Elsewhere, Microversion, Request, Response, Service,
};

/// Something that a program wants to know or to have done.
#[derive(Clone, Debug, PartialEq)]
pub enum Ask {
    /// A call to the cloud.
    Call(Request),
    /// Several calls at once: a program is run again with each answer, so that what it asks in
    /// a loop over what others decide the length of is asked together.
    Calls(Vec<Request>),
    /// An object as it is, looked up together with others of its collection that are waited for.
    Poll { collection: Collection, id: String },
    /// Where the catalog says a service is.
    Endpoint(Service),
    /// The project that calls are made in.
    Project,
    /// The version that requests to a service are sent with.
    Microversion { service: Service, wanted: Option<Microversion> },
    /// Whether a service is somewhere else for another region or credential.
    Reach { to: Place, service: Service },
    /// A call to the place that was reached last.
    CallThere(Request),
    /// A call as the administrator of the domain of stacks' users.
    CallInDomain(Request),
    /// The id of that domain.
    DomainId,
    /// A token of one of its users in his project.
    UserToken { id: String, password: Secret<String>, project_id: String },
    /// Something of the software configurations and deployments of a project.
    Software { project: ProjectId, ask: SoftwareAsk },
    /// An id that nothing has yet.
    FreshId,
    /// A while to wait.
    Pause(Duration),
}

/// What is asked of software configurations and deployments. All are safe to repeat.
#[derive(Clone, Debug, PartialEq)]
pub enum SoftwareAsk {
    Config(String),
    CreateConfig(ConfigId, SoftwareConfig),
    DeleteConfig(ConfigId),
    Deployment(String),
    Deploy(DeploymentId, Deploy),
    /// What a server said of a deployment.
    Signal(String, Value),
    GiveUp(String),
    DeleteDeployment(DeploymentId),
}

/// Another place than the session's own; see [`Elsewhere`].
#[derive(Clone, PartialEq, Eq)]
pub struct Place {
    region: Option<String>,
    credential: Option<String>,
    ca_cert: Option<String>,
    insecure: bool,
}

/// An answer; its kind is that of the ask.
#[derive(Clone, Debug)]
pub enum Answer {
    Response(Response),
    Responses(Vec<Result<Response, CloudError>>),
    Object(Value),
    Text(String),
    Token(Secret<String>),
    Microversion(Option<Microversion>),
    /// Whether it is elsewhere.
    Reached(bool),
    Software(Result<SoftwareAnswer, Refusal>),
    Id(Uuid),
    Done,
}

/// What is known of software configurations and deployments.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum SoftwareAnswer {
    Config(SoftwareConfig),
    Deployment(Deployment),
    /// The words for the event list, where the signal was worth some.
    Signaled(Option<String>),
    Done,
}

impl Ask {
    /// Whether it may change something outside.
    pub fn changes(&self) -> bool {
        match self {
            Ask::Call(request) | Ask::CallThere(request) | Ask::CallInDomain(request) => {
                !request.method.is_read()
            }
            Ask::Calls(requests) => requests.iter().any(|request| !request.method.is_read()),
            Ask::Software { ask, .. } => ask.changes(),
            Ask::Poll { .. }
            | Ask::Endpoint(_)
            | Ask::Project
            | Ask::Microversion { .. }
            | Ask::Reach { .. }
            | Ask::DomainId
            | Ask::UserToken { .. }
            | Ask::FreshId
            | Ask::Pause(_) => false,
        }
    }
}

impl SoftwareAsk {
    /// What it is called where asks are shown.
    pub(super) fn name(&self) -> &'static str {
        match self {
            SoftwareAsk::Config(_) => "software config",
            SoftwareAsk::CreateConfig(..) => "create software config",
            SoftwareAsk::DeleteConfig(_) => "delete software config",
            SoftwareAsk::Deployment(_) => "software deployment",
            SoftwareAsk::Deploy(..) => "deploy",
            SoftwareAsk::Signal(..) => "signal software deployment",
            SoftwareAsk::GiveUp(_) => "give up software deployment",
            SoftwareAsk::DeleteDeployment(_) => "delete software deployment",
        }
    }

    fn changes(&self) -> bool {
        !matches!(self, SoftwareAsk::Config(_) | SoftwareAsk::Deployment(_))
    }
}

impl Place {
    /// As a session takes it.
    pub fn borrowed(&self) -> Elsewhere<'_> {
        Elsewhere {
            region: self.region.as_deref(),
            credential: self.credential.as_deref(),
            ca_cert: self.ca_cert.as_deref(),
            insecure: self.insecure,
        }
    }
}

impl From<&Elsewhere<'_>> for Place {
    fn from(to: &Elsewhere<'_>) -> Self {
        Self {
            region: to.region.map(str::to_owned),
            credential: to.credential.map(str::to_owned),
            ca_cert: to.ca_cert.map(str::to_owned),
            insecure: to.insecure,
        }
    }
}

impl std::fmt::Debug for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.borrowed())
    }
}

/// What a program may know without asking.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// When the run began.
    pub now: DateTime<Utc>,
    /// The role of stacks' users, where there is a domain for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stack_user_role: Option<String>,
    /// Keystone's address with its version, as clients are told it.
    pub auth_url: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// Where CloudFormation's API is, if not where the catalog says.
    #[serde(default, skip_serializing_if = "CfnPlaces::is_empty")]
    pub cfn_places: CfnPlaces,
}

/// A program that is being run: what was asked so far, and answered.
pub struct Run {
    facts: Facts,
    asked: Vec<(Ask, Result<Answer, CloudError>)>,
}

impl Run {
    pub fn new(facts: Facts) -> Self {
        Self { facts, asked: Vec::new() }
    }

    /// What the program comes to; the error is its next ask.
    pub fn go_on<T>(&self, program: impl Fn(&Asks<'_>) -> T) -> Result<T, Box<Ask>> {
        let asks = Asks {
            facts: &self.facts,
            asked: &self.asked,
            next: Cell::new(0),
            pending: RefCell::new(None),
        };
        let outcome = program(&asks);
        match asks.pending.into_inner() {
            None => Ok(outcome),
            Some(ask) => Err(Box::new(ask)),
        }
    }

    /// How much was asked.
    pub fn asked(&self) -> usize {
        self.asked.len()
    }

    /// Notes the answer to the next ask.
    pub fn answered(&mut self, ask: Box<Ask>, answer: Result<Answer, CloudError>) {
        self.asked.push((*ask, answer));
    }

    /// What was answered, as the log keeps it; `None` where nothing was asked.
    pub fn kept(&self, attempt: Attempt) -> Option<AnswersKept> {
        let answers = kept::kept(self.asked.iter().map(|(ask, answer)| (ask, answer)));
        (!answers.is_empty()).then(|| AnswersKept {
            searched: attempt == Attempt::Unanswered,
            facts: serde_json::to_value(&self.facts).unwrap_or_default(),
            answers,
        })
    }
}

/// What a program asks by: the facts, and the answers to its asks in their order.
pub struct Asks<'a> {
    facts: &'a Facts,
    asked: &'a [(Ask, Result<Answer, CloudError>)],
    next: Cell<usize>,
    pending: RefCell<Option<Ask>>,
}

impl Asks<'_> {
    fn ask(&self, ask: Ask) -> Result<Answer, CloudError> {
        let index = self.next.get();
        match self.asked.get(index) {
            Some((asked, answer)) if *asked == ask => {
                self.next.set(index + 1);
                answer.clone()
            }
            Some(_) => Err(unlike()),
            None => {
                self.pending.borrow_mut().get_or_insert(ask);
                Err(CloudError::Unsendable("The answer has not come yet".to_owned()))
            }
        }
    }

    /// Calls the cloud.
    pub fn send(&self, request: Request) -> Result<Response, CloudError> {
        response(self.ask(Ask::Call(request))?)
    }

    /// Makes several calls; the answers are in their order.
    pub fn send_all(
        &self,
        requests: Vec<Request>,
    ) -> Result<Vec<Result<Response, CloudError>>, CloudError> {
        match self.ask(Ask::Calls(requests))? {
            Answer::Responses(responses) => Ok(responses),
            _ => Err(unlike()),
        }
    }

    /// The object as it is now; looked up together with others that are waited for.
    pub fn poll_one(&self, collection: &Collection, id: &str) -> Result<Value, CloudError> {
        match self.ask(Ask::Poll { collection: collection.clone(), id: id.to_owned() })? {
            Answer::Object(object) => Ok(object),
            _ => Err(unlike()),
        }
    }

    /// Where the catalog says the service is.
    pub fn endpoint(&self, service: &Service) -> Result<String, CloudError> {
        text(self.ask(Ask::Endpoint(service.clone()))?)
    }

    /// The project that the calls are made in.
    pub fn project_id(&self) -> Result<ProjectId, CloudError> {
        text(self.ask(Ask::Project)?).map(ProjectId)
    }

    /// The microversion that a request to the service is sent with.
    pub fn microversion(
        &self,
        service: &Service,
        wanted: Option<Microversion>,
    ) -> Result<Option<Microversion>, CloudError> {
        match self.ask(Ask::Microversion { service: service.clone(), wanted })? {
            Answer::Microversion(version) => Ok(version),
            _ => Err(unlike()),
        }
    }

    /// The service at another place; `None` where that is this very one.
    pub fn elsewhere(
        &self,
        to: &Elsewhere<'_>,
        service: &Service,
    ) -> Result<Option<There<'_>>, CloudError> {
        match self.ask(Ask::Reach { to: to.into(), service: service.clone() })? {
            Answer::Reached(is_elsewhere) => Ok(is_elsewhere.then_some(There(self))),
            _ => Err(unlike()),
        }
    }

    /// The domain of stacks' users, where there is one.
    pub fn user_domain(&self) -> Option<UserDomain<'_>> {
        self.stack_user_role().is_some().then_some(UserDomain(self))
    }

    /// The role of stacks' users, where there is a domain for them.
    pub(super) fn stack_user_role(&self) -> Option<&str> {
        self.facts.stack_user_role.as_deref()
    }

    /// Calls the cloud as the administrator of the domain of stacks' users.
    pub(super) fn send_in_domain(&self, request: Request) -> Result<Response, CloudError> {
        response(self.ask(Ask::CallInDomain(request))?)
    }

    /// The id of the domain of stacks' users.
    pub(super) fn domain_id(&self) -> Result<String, CloudError> {
        text(self.ask(Ask::DomainId)?)
    }

    /// A token of a stack's user in his project.
    pub fn user_token(
        &self,
        id: &str,
        password: &Secret<String>,
        project_id: &str,
    ) -> Result<Secret<String>, CloudError> {
        let token = self.ask(Ask::UserToken {
            id: id.to_owned(),
            password: password.clone(),
            project_id: project_id.to_owned(),
        })?;
        match token {
            Answer::Token(token) => Ok(token),
            _ => Err(unlike()),
        }
    }

    /// The software configurations and deployments of a project.
    pub fn software(&self, project: &ProjectId) -> Software<'_> {
        Software { asks: self, project: project.clone() }
    }

    /// An id that nothing has yet.
    pub fn fresh_id(&self) -> Result<Uuid, CloudError> {
        match self.ask(Ask::FreshId)? {
            Answer::Id(id) => Ok(id),
            _ => Err(unlike()),
        }
    }

    /// Waits.
    pub fn pause(&self, time: Duration) -> Result<(), CloudError> {
        done(self.ask(Ask::Pause(time))?)
    }

    /// The present moment, by the cloud's clock.
    pub fn now(&self) -> DateTime<Utc> {
        self.facts.now
    }

    /// Keystone's address with its version, as clients are told it.
    pub fn auth_url(&self) -> &str {
        &self.facts.auth_url
    }

    /// The region that was chosen, where one was.
    pub fn region(&self) -> Option<&str> {
        self.facts.region.as_deref()
    }

    /// Where CloudFormation's API is, if not where the catalog says.
    pub(super) fn cfn_places(&self) -> &CfnPlaces {
        &self.facts.cfn_places
    }
}

/// Another place than the session's own.
pub struct There<'a>(&'a Asks<'a>);

impl There<'_> {
    /// Calls the cloud there.
    pub fn send(&self, request: Request) -> Result<Response, CloudError> {
        response(self.0.ask(Ask::CallThere(request))?)
    }
}

/// The software configurations and deployments of a project.
pub struct Software<'a> {
    asks: &'a Asks<'a>,
    project: ProjectId,
}

impl Software<'_> {
    fn ask(&self, ask: SoftwareAsk) -> Result<SoftwareAnswer, Refusal> {
        match self.asks.ask(Ask::Software { project: self.project.clone(), ask }) {
            Ok(Answer::Software(answer)) => answer,
            Ok(_) => Err(Refusal::unavailable(unlike().to_string())),
            Err(error) => Err(Refusal::unavailable(error.to_string())),
        }
    }

    fn tell(&self, ask: SoftwareAsk) -> Result<(), Refusal> {
        self.ask(ask).map(|_| ())
    }

    pub fn config(&self, id: &str) -> Result<SoftwareConfig, Refusal> {
        match self.ask(SoftwareAsk::Config(id.to_owned()))? {
            SoftwareAnswer::Config(config) => Ok(config),
            _ => Err(Refusal::unavailable(unlike().to_string())),
        }
    }

    pub fn create_config(&self, id: ConfigId, config: SoftwareConfig) -> Result<(), Refusal> {
        self.tell(SoftwareAsk::CreateConfig(id, config))
    }

    /// One that is gone already is no error.
    pub fn delete_config(&self, id: ConfigId) -> Result<(), Refusal> {
        self.tell(SoftwareAsk::DeleteConfig(id))
    }

    pub fn deployment(&self, id: &str) -> Result<Deployment, Refusal> {
        match self.ask(SoftwareAsk::Deployment(id.to_owned()))? {
            SoftwareAnswer::Deployment(deployment) => Ok(deployment),
            _ => Err(Refusal::unavailable(unlike().to_string())),
        }
    }

    /// Makes the deployment, or brings it to the configuration if it has another.
    pub fn deploy(&self, id: DeploymentId, deploy: Deploy) -> Result<(), Refusal> {
        self.tell(SoftwareAsk::Deploy(id, deploy))
    }

    /// Notes what a server said of a deployment; the words for the event list. `None`: it is not
    /// under way.
    pub fn signal_deployment(&self, id: &str, details: &Value) -> Result<Option<String>, Refusal> {
        match self.ask(SoftwareAsk::Signal(id.to_owned(), details.clone()))? {
            SoftwareAnswer::Signaled(words) => Ok(words),
            _ => Err(Refusal::unavailable(unlike().to_string())),
        }
    }

    /// Nobody waits any longer for what a server says of a deployment.
    pub fn give_up_deployment(&self, id: &str) -> Result<(), Refusal> {
        self.tell(SoftwareAsk::GiveUp(id.to_owned()))
    }

    /// One that is gone already is no error.
    pub fn delete_deployment(&self, id: DeploymentId) -> Result<(), Refusal> {
        self.tell(SoftwareAsk::DeleteDeployment(id))
    }
}

fn response(answer: Answer) -> Result<Response, CloudError> {
    match answer {
        Answer::Response(response) => Ok(response),
        _ => Err(unlike()),
    }
}

fn text(answer: Answer) -> Result<String, CloudError> {
    match answer {
        Answer::Text(text) => Ok(text),
        _ => Err(unlike()),
    }
}

fn done(answer: Answer) -> Result<(), CloudError> {
    match answer {
        Answer::Done => Ok(()),
        _ => Err(unlike()),
    }
}

/// A program that asks for something else when it is run again, or an answer of another kind.
fn unlike() -> CloudError {
    CloudError::Unsendable("The answer is not to what was asked".to_owned())
}
