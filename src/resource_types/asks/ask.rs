//! What a program may ask, and the answers.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use crate::events::alarm::AlarmMade;
use crate::events::resource::Step;
use crate::model::{AlarmId, ConfigId, DeploymentId, ProjectId, Refusal, Secret};
use crate::openstack::{
    CloudError, Collection, Elsewhere, Microversion, Request, Response, Service,
};
use crate::resource_types::failure::Failure;
use crate::resource_types::job::{Beat, Learned, StackUser};
use crate::resource_types::software::{Deploy, Deployment, SoftwareConfig};

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
    /// The names of that project and of the user who calls.
    Names,
    /// The version that requests to a service are sent with.
    Microversion { service: Service, wanted: Option<Microversion> },
    /// Whether a service is somewhere else for another region or credential.
    Reach { to: Place, service: Service },
    /// A call to the place that was reached last.
    CallThere(Request),
    /// A call as the administrator of the domain of stacks' users.
    CallInDomain(Request),
    /// A call as one of that domain's users, in his project.
    CallAsUser { user: StackUser, request: Request },
    /// The id of that domain.
    DomainId,
    /// A token of one of its users in his project.
    UserToken { id: String, password: Secret<String>, project_id: String },
    /// Something of the software configurations and deployments of a project.
    Software { project: ProjectId, ask: SoftwareAsk },
    /// Of an alarm of a project's.
    Alarm { project: ProjectId, ask: AlarmAsk },
    /// Which of these objects no other resource has; the first of them is this resource's from
    /// here on. Ids that users give (`named`) tell apart the objects of a type in a project only.
    Claim { ids: Vec<String>, named: bool },
    /// Whether another resource of the stack has the object of this id.
    Shares(String),
    /// What there is of another resource of the stack.
    Neighbor(NeighborKnown),
    /// What the other resources of a type are in the cloud that have this value for a property.
    Neighbors { of_type: &'static str, property: &'static str, value: String },
    /// What the resource's stack is made of, as the Heat of another place is told it.
    ChildDefinition,
    /// An id that nothing has yet.
    FreshId,
    /// An id for a purpose that is the same whoever of the project asks for it, and that nobody else
    /// can tell: of what several may make at the same time, each makes the same.
    SharedId(&'static str),
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

/// What is asked of the keeper of alarms. All are safe to repeat.
#[derive(Clone, Debug, PartialEq)]
pub enum AlarmAsk {
    /// Make it, or bring it to the rule.
    Make(Box<AlarmMade>),
    Suspend(AlarmId),
    Resume(AlarmId),
    Delete(AlarmId),
}

/// By what another resource of the stack is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NeighborKnown {
    Name(String),
    /// What `get_resource` gives for it.
    Reference(String),
}

/// Another resource of the stack, for whom it stands beside.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Neighbor {
    /// The id of the user that the resource has made for itself, and of his project.
    pub user: Option<(String, String)>,
    /// Whether it says what users may ask about.
    pub is_policy: bool,
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
    Names {
        project: String,
        user: String,
    },
    Token(Secret<String>),
    Microversion(Option<Microversion>),
    /// Whether it is elsewhere.
    Reached(bool),
    Software(Result<SoftwareAnswer, Refusal>),
    Alarm(Result<(), Refusal>),
    /// The object that is this resource's, if there is one.
    Claimed(Option<String>),
    Shares(bool),
    /// None: there is no such resource.
    Neighbor(Option<Neighbor>),
    /// Physical ids.
    Neighbors(Vec<String>),
    ChildDefinition(Result<Value, Failure>),
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
            Ask::Call(request)
            | Ask::CallThere(request)
            | Ask::CallInDomain(request)
            | Ask::CallAsUser { request, .. } => request.changes(),
            Ask::Calls(requests) => requests.iter().any(Request::changes),
            Ask::Software { ask, .. } => ask.changes(),
            Ask::Alarm { .. } => true,
            Ask::Poll { .. }
            | Ask::Endpoint(_)
            | Ask::Project
            | Ask::Names
            | Ask::Microversion { .. }
            | Ask::Reach { .. }
            | Ask::DomainId
            | Ask::UserToken { .. }
            | Ask::Claim { .. }
            | Ask::Shares(_)
            | Ask::Neighbor(_)
            | Ask::Neighbors { .. }
            | Ask::ChildDefinition
            | Ask::FreshId
            | Ask::SharedId(_)
            | Ask::Pause(_) => false,
        }
    }

    /// What comes instead of it in a step that may not ask it: the same step, on record first as one
    /// that changes the cloud. One that commands may change what Hearth itself keeps.
    pub fn held_back(&self, step: &Step) -> Option<Beat> {
        let is_commanded =
            step.commands && matches!(self, Ask::Software { .. } | Ask::Alarm { .. });
        let may = step.mutates || is_commanded || !self.changes();
        let next = || Step { mutates: true, ..step.clone() };
        (!may).then(|| Beat::Next { learned: Learned::default(), next: next() })
    }
}

impl AlarmAsk {
    /// What it is called where asks are shown.
    pub(in crate::resource_types) fn name(&self) -> &'static str {
        match self {
            AlarmAsk::Make(_) => "make alarm",
            AlarmAsk::Suspend(_) => "suspend alarm",
            AlarmAsk::Resume(_) => "resume alarm",
            AlarmAsk::Delete(_) => "delete alarm",
        }
    }
}

impl SoftwareAsk {
    /// What it is called where asks are shown.
    pub(in crate::resource_types) fn name(&self) -> &'static str {
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
