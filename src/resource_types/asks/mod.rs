//! What types ask of the world. A type's program is a plain function of what it is told and of the
//! answers that it has got so far: the first ask without an answer ends the run, and whoever runs
//! the program gets the answer and runs it again (`actors::executor`).

mod ask;
mod pages;
mod software;

use std::cell::{Cell, RefCell};
use std::time::Duration;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

pub use self::ask::{
    AlarmAsk, Answer, Ask, Neighbor, NeighborKnown, Place, SoftwareAnswer, SoftwareAsk,
};
pub use self::software::Software;
use super::failure::Failure;
use super::job::StackUser;
use crate::model::{ProjectId, Refusal, Secret};
use crate::openstack::{
    CfnPlaces, CloudError, Collection, Elsewhere, Microversion, Request, Response, Service,
};

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

#[cfg(test)]
impl Facts {
    /// Of a cloud that nothing is known of.
    pub(in crate::resource_types) fn at(now: DateTime<Utc>) -> Self {
        let (auth_url, cfn_places) = (String::new(), CfnPlaces::default());
        Self { now, stack_user_role: None, auth_url, region: None, cfn_places }
    }
}

/// A program that is being run: what was asked so far, and answered.
pub struct Run {
    pub(super) facts: Facts,
    pub(super) asked: Vec<(Ask, Result<Answer, CloudError>)>,
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

    /// The names of that project and of the user who calls.
    pub(super) fn names(&self) -> Result<(String, String), CloudError> {
        match self.ask(Ask::Names)? {
            Answer::Names { project, user } => Ok((project, user)),
            _ => Err(unlike()),
        }
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

    /// Calls the cloud as a stack's user, in his project.
    pub(super) fn send_as(
        &self,
        user: &StackUser,
        request: Request,
    ) -> Result<Response, CloudError> {
        response(self.ask(Ask::CallAsUser { user: user.clone(), request })?)
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
        Software::of(self, project.clone())
    }

    /// Tells the keeper of a project's alarms something.
    pub fn tell_alarm(&self, project: &ProjectId, ask: AlarmAsk) -> Result<(), Refusal> {
        match self.ask(Ask::Alarm { project: project.clone(), ask }) {
            Ok(Answer::Alarm(answer)) => answer,
            Ok(_) => Err(Refusal::unavailable(unlike().to_string())),
            Err(error) => Err(Refusal::unavailable(error.to_string())),
        }
    }

    /// The first of these objects that no other resource has, which is this one's from here on.
    pub(super) fn claim(
        &self,
        ids: Vec<String>,
        named: bool,
    ) -> Result<Option<String>, CloudError> {
        match self.ask(Ask::Claim { ids, named })? {
            Answer::Claimed(id) => Ok(id),
            _ => Err(unlike()),
        }
    }

    /// Whether another resource of the stack has the object of this id.
    pub(super) fn shares(&self, id: &str) -> Result<bool, CloudError> {
        match self.ask(Ask::Shares(id.to_owned()))? {
            Answer::Shares(shares) => Ok(shares),
            _ => Err(unlike()),
        }
    }

    /// Another resource of the stack, where it is there.
    pub(super) fn neighbor(&self, known: NeighborKnown) -> Result<Option<Neighbor>, CloudError> {
        match self.ask(Ask::Neighbor(known))? {
            Answer::Neighbor(neighbor) => Ok(neighbor),
            _ => Err(unlike()),
        }
    }

    /// What the other resources of a type are in the cloud that have this value for a property.
    pub(super) fn neighbors(
        &self,
        of_type: &'static str,
        property: &'static str,
        value: &str,
    ) -> Result<Vec<String>, CloudError> {
        match self.ask(Ask::Neighbors { of_type, property, value: value.to_owned() })? {
            Answer::Neighbors(ids) => Ok(ids),
            _ => Err(unlike()),
        }
    }

    /// The place that the resource's stack stands at: whoever runs its beats has reached it.
    pub(super) fn there(&self) -> There<'_> {
        There(self)
    }

    /// What that stack is made of, as the Heat there is told it.
    pub(super) fn child_definition(&self) -> Result<Value, Failure> {
        match self.ask(Ask::ChildDefinition)? {
            Answer::ChildDefinition(definition) => definition,
            _ => Err(unlike().into()),
        }
    }

    /// An id that nothing has yet.
    pub fn fresh_id(&self) -> Result<Uuid, CloudError> {
        match self.ask(Ask::FreshId)? {
            Answer::Id(id) => Ok(id),
            _ => Err(unlike()),
        }
    }

    /// An id for a purpose, the same for all of the project, which nobody else can tell.
    pub(super) fn shared_id(&self, purpose: &'static str) -> Result<Uuid, CloudError> {
        match self.ask(Ask::SharedId(purpose))? {
            Answer::Id(id) => Ok(id),
            _ => Err(unlike()),
        }
    }

    /// Waits.
    pub fn pause(&self, time: Duration) -> Result<(), CloudError> {
        done(self.ask(Ask::Pause(time))?)
    }

    /// When the run began.
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
