//! OS::Heat::SoftwareDeployment and OS::Heat::StructuredDeployment: bring a configuration to a
//! server and wait for what the server says of it. Each action derives a configuration of its own
//! from the one named, with the values of its inputs.

mod inputs;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use self::inputs::{TEMP_URL, ZAQAR, credentials, filled, inputs, proof, transport};
use super::signal_queue;
use super::swift_signal::read;
use super::temp_url::{self, Takes};
use crate::events::resource::Step;
use crate::model::{ConfigId, DeploymentId, JsonMap, Refusal};
use crate::openstack::{Method, Request, Service, path_segment};
use crate::resource_types::asks::Asks;
use crate::resource_types::declared::{Beating, Declared, done};
use crate::resource_types::failure::Failure;
use crate::resource_types::job::{Beat, Learned, Said, SignalOutcome, Signaled, Subject, Work};
use crate::resource_types::resource_type::{At, ResourceType};
use crate::resource_types::software::{ConfigContent, Deploy, SoftwareConfig};
use crate::resource_types::stack_user;
use crate::resource_types::stage::{Stages, stages};

/// The tool of a configuration that names none.
const UNGROUPED: &str = "Heat::Ungrouped";
/// Where the address of an object is kept that a server answers with.
const ADDRESS: &str = "swift_signal_url";

/// A deployment of one of the two types.
pub(crate) struct Deployed(pub(crate) DeploymentKind);

/// What a deployment makes of its configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum DeploymentKind {
    /// A text beside which inputs stand.
    Plain,
    /// A map that inputs are filled into.
    Structured,
}

/// What a step must remember: the configuration that is derived, and the one that it follows.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Plan {
    config: ConfigId,
    #[serde(default)]
    former: Option<ConfigId>,
}

stages! {
    /// What a deployment goes through.
    enum Stage {
        Plan = "plan" Looks,
        Empty = "empty" Changes,
        Deploy = "deploy" Changes,
        Wait = "wait" Looks,
        Remove = "remove" Changes,
        DropQueue = "drop_queue" Changes,
        DropObject = "drop_object" Changes,
        DropContainer = "drop_container" Changes,
        GiveUp = "give_up" Commands,
    }
}

impl Plan {
    fn to(self, stage: Stage) -> Step {
        stage.with(serde_json::to_value(self).unwrap_or_default())
    }
}

/// The word for an action, as configurations list it.
fn word(work: &Work) -> &'static str {
    match work {
        Work::Create => "CREATE",
        Work::Update { .. } => "UPDATE",
        Work::Delete => "DELETE",
        Work::Act(action) => action.as_str(),
    }
}

fn lists(actions: Option<&Value>, action: &str) -> bool {
    let actions = actions.and_then(Value::as_array);
    actions.is_some_and(|actions| actions.iter().any(|listed| listed == action))
}

impl Deployed {
    /// Whether inputs are filled into the configuration itself.
    fn is_structured(&self) -> bool {
        self.0 == DeploymentKind::Structured
    }

    /// Whether the configuration is applied at this action.
    fn applies(&self, source: &SoftwareConfig, given: &JsonMap, action: &str) -> bool {
        if source.group.as_deref() == Some("component") {
            let configs = source.content.config.get("configs").and_then(Value::as_array);
            let mut configs = configs.into_iter().flatten();
            return configs.any(|config| lists(config.get("actions"), action));
        }
        lists(given.get("actions"), action)
    }

    /// The configuration that the properties name; an empty one where they name none.
    fn source(
        &self,
        cloud: &Asks<'_>,
        subject: &Subject,
        given: &JsonMap,
    ) -> Result<SoftwareConfig, Failure> {
        match given.get("config").and_then(Value::as_str).filter(|id| !id.is_empty()) {
            Some(id) => Ok(cloud.software(&subject.project()).config(id)?),
            None => Ok(SoftwareConfig::default()),
        }
    }

    /// The configuration for one action, with the values of its inputs.
    fn derived(
        &self,
        source: &SoftwareConfig,
        subject: &Subject,
        given: &JsonMap,
        action: &str,
        credentials: Vec<JsonMap>,
    ) -> Result<SoftwareConfig, Failure> {
        let mut inputs = inputs(source, subject, given, action);
        inputs.extend(credentials);
        let config = match self.is_structured() {
            true => filled(&source.content.config, &inputs, given)?,
            false => source.content.config.clone(),
        };
        let empty = if self.is_structured() { json!({}) } else { "".into() };
        let named = given.get("name").and_then(Value::as_str).filter(|name| !name.is_empty());
        let name = named.map(str::to_owned).or_else(|| source.name.clone());
        Ok(SoftwareConfig {
            name: name.or_else(|| Some(subject.physical_name.clone())),
            group: Some(source.group.clone().unwrap_or_else(|| UNGROUPED.to_owned())),
            content: ConfigContent {
                config: if config.is_null() { empty } else { config },
                inputs,
                outputs: source.content.outputs.clone(),
                options: source.content.options.clone(),
            },
        })
    }

    /// Looks whether anything is deployed at this action, and by which configuration.
    fn plan(
        &self,
        declared: &Declared,
        cloud: &Asks<'_>,
        work: &Work,
        subject: &Subject,
    ) -> Result<Beat, Failure> {
        let software = cloud.software(&subject.project());
        let given = declared.properties(&subject.properties);
        let source = match self.source(cloud, subject, &given) {
            // What is deleted needs no configuration.
            Err(error) if error.is_not_found() && *work == Work::Delete => {
                SoftwareConfig::default()
            }
            other => other?,
        };
        let former = match &subject.physical_id {
            Some(id) => unless_gone(software.deployment(id))?,
            None => None,
        };
        if let (Work::Update { .. }, Some(former)) = (work, &former)
            && self.replaces(cloud, &source, subject, &given, former.config_id)?
        {
            // Heat's class gives no name here.
            let reason = "The Resource Unknown requires replacement.".to_owned();
            return Ok(Beat::Replace { reason });
        }
        let plan = Plan {
            config: ConfigId(cloud.fresh_id()?),
            former: former.as_ref().map(|former| former.config_id),
        };
        let next = match (self.applies(&source, &given, word(work)), work) {
            (true, _) if proof(&given).is_some_and(|proof| !stack_user::has(subject, proof)) => {
                stack_user::first(serde_json::to_value(plan).unwrap_or_default())
            }
            (true, _) => plan.to(before_deployed(&given)),
            (false, Work::Delete) => plan.to(Stage::Remove),
            (false, Work::Create | Work::Update { .. } | Work::Act(_)) => return Ok(done()),
        };
        Ok(Beat::Next { learned: Learned::default(), next })
    }

    /// Whether an input whose change wants a new deployment has another value than before.
    fn replaces(
        &self,
        cloud: &Asks<'_>,
        source: &SoftwareConfig,
        subject: &Subject,
        given: &JsonMap,
        former: ConfigId,
    ) -> Result<bool, Failure> {
        let former = cloud.software(&subject.project()).config(&former.to_string());
        let Some(former) = unless_gone(former)? else { return Ok(false) };
        let inputs = inputs(source, subject, given, "UPDATE");
        let mut watched =
            inputs.iter().filter(|input| input.get("replace_on_change") == Some(&json!(true)));
        Ok(watched.any(|input| {
            let before =
                former.content.inputs.iter().find(|it| it.get("name") == input.get("name"));
            before.is_some_and(|before| before.get("value") != input.get("value"))
        }))
    }

    fn deploy(
        &self,
        declared: &Declared,
        cloud: &Asks<'_>,
        work: &Work,
        subject: &Subject,
        plan: Plan,
    ) -> Result<Beat, Failure> {
        let software = cloud.software(&subject.project());
        let given = declared.properties(&subject.properties);
        let source = self.source(cloud, subject, &given)?;
        let credentials = credentials(cloud, subject, &given)?;
        let derived = self.derived(&source, subject, &given, word(work), credentials)?;
        software.create_config(plan.config, derived)?;
        let (status, status_reason) = match is_awaited(&given) {
            true => ("IN_PROGRESS", "Deploy data available"),
            false => ("COMPLETE", "Not waiting for outputs signal"),
        };
        let id = own_id(subject);
        let server = given.get("server").and_then(Value::as_str).unwrap_or_default();
        let deploy = Deploy {
            config_id: plan.config,
            server_id: server.to_owned(),
            stack_user_project_id: stack_user::project_of(cloud, subject)?,
            action: word(work).to_owned(),
            input_values: given.get("input_values").filter(|it| !it.is_null()).cloned(),
            status,
            status_reason,
        };
        software.deploy(id, deploy)?;
        if let Some(former) = plan.former.filter(|former| *former != plan.config) {
            software.delete_config(former)?;
        }
        let learned = Learned { physical_id: Some(id.to_string()), ..Learned::default() };
        Ok(Beat::Next { learned, next: plan.to(Stage::Wait) })
    }

    fn wait(
        &self,
        declared: &Declared,
        cloud: &Asks<'_>,
        work: &Work,
        subject: &Subject,
        plan: Plan,
    ) -> Result<Beat, Failure> {
        let given = declared.properties(&subject.properties);
        let end = || match work {
            Work::Delete => {
                Beat::Next { learned: Learned::default(), next: plan.to(Stage::Remove) }
            }
            Work::Create | Work::Update { .. } | Work::Act(_) => done(),
        };
        if !is_awaited(&given) {
            return Ok(end());
        }
        let id = subject.physical_id.clone().unwrap_or_default();
        let software = cloud.software(&subject.project());
        let mut found = software.deployment(&id)?;
        if *work == Work::Delete && !server_exists(cloud, &found.server_id)? {
            return Ok(end());
        }
        if found.status.as_deref() == Some("IN_PROGRESS")
            && let Some(word) = answer_left(cloud, subject, &given)?
        {
            software.signal_deployment(&id, &word.into())?;
            found = software.deployment(&id)?;
        }
        match found.status.as_deref() {
            Some("COMPLETE") => Ok(end()),
            Some("FAILED") => {
                let reason = found.status_reason.unwrap_or_default();
                let text = format!("Deployment to server failed: {reason}");
                Err(Failure::Failed(text))
            }
            _ => Ok(Beat::Wait { after: None }),
        }
    }

    fn give_up(&self, cloud: &Asks<'_>, subject: &Subject) -> Result<Beat, Failure> {
        if let Some(id) = &subject.physical_id {
            cloud.software(&subject.project()).give_up_deployment(id)?;
        }
        Ok(done())
    }

    fn remove(
        &self,
        declared: &Declared,
        cloud: &Asks<'_>,
        subject: &Subject,
    ) -> Result<Beat, Failure> {
        let software = cloud.software(&subject.project());
        let id = own_id(subject);
        let found = unless_gone(software.deployment(&id.to_string()))?;
        // The deployment goes last: who comes after a crash finds its configuration by it.
        if let Some(found) = found {
            software.delete_config(found.config_id)?;
        }
        software.delete_deployment(id)?;
        let given = declared.properties(&subject.properties);
        match transport(&given) {
            TEMP_URL => return Ok(next(Stage::DropObject)),
            ZAQAR => return Ok(next(Stage::DropQueue)),
            _ => {}
        }
        if proof(&given).is_none() {
            return Ok(done());
        }
        Ok(Beat::Done { learned: stack_user::remove(cloud, subject)? })
    }
}

/// The id of the resource's deployment, which is the resource's own.
fn own_id(subject: &Subject) -> DeploymentId {
    DeploymentId(subject.resource_id.unwrap_or_default().0)
}

fn is_awaited(given: &JsonMap) -> bool {
    transport(given) != "NO_SIGNAL"
}

/// The step before a server is told: the place for its answer is empty until then.
fn before_deployed(given: &JsonMap) -> Stage {
    if [TEMP_URL, ZAQAR].contains(&transport(given)) { Stage::Empty } else { Stage::Deploy }
}

/// What the server left where it was told to; `None` before it did.
fn answer_left(
    cloud: &Asks<'_>,
    subject: &Subject,
    given: &JsonMap,
) -> Result<Option<JsonMap>, Failure> {
    match (transport(given), signal_queue::of(subject)) {
        (TEMP_URL, _) => temp_url::word(cloud, subject)?.map(|word| read(&word)).transpose(),
        (ZAQAR, Some(queue)) => {
            let first = signal_queue::messages(cloud, &queue)?.into_iter().next();
            first.map(|message| message.details()).transpose()
        }
        _ => Ok(None),
    }
}

/// What was asked of the engine; `None` where it is gone.
fn unless_gone<T>(asked: Result<T, Refusal>) -> Result<Option<T>, Failure> {
    match asked.map_err(Failure::from) {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error),
    }
}

fn next(stage: Stage) -> Beat {
    Beat::Next { learned: Learned::default(), next: stage.step() }
}

fn server_exists(cloud: &Asks<'_>, id: &str) -> Result<bool, Failure> {
    let path = format!("/servers/{}", path_segment(id));
    match cloud.send(Request::new(Method::Get, Service::Compute, path)) {
        Ok(_) => Ok(true),
        Err(error) if error.is_not_found() => Ok(false),
        Err(error) => Err(error.into()),
    }
}

impl ResourceType for Deployed {
    fn first(&self, _declared: &Declared, _work: &Work, _subject: &Subject) -> Step {
        Plan::default().to(Stage::Plan)
    }

    fn beat(&self, declared: &Declared, beating: &Beating<'_>) -> Result<Beat, Failure> {
        let Beating { cloud, work, subject, step, .. } = *beating;
        let plan: Plan = serde_json::from_value(step.state.clone()).unwrap_or_default();
        let then = || plan.to(before_deployed(&declared.properties(&subject.properties)));
        if let Some(proof) = proof(&declared.properties(&subject.properties))
            && let Some(beat) = stack_user::make(cloud, subject, step, proof, then)
        {
            return beat;
        }
        match Stage::of(step) {
            Some(Stage::Plan) => self.plan(declared, cloud, work, subject),
            Some(Stage::Empty) if transport(&declared.properties(&subject.properties)) == ZAQAR => {
                if let Some(queue) = signal_queue::of(subject) {
                    signal_queue::empty(cloud, &queue)?;
                }
                Ok(Beat::Next { learned: Learned::default(), next: plan.to(Stage::Deploy) })
            }
            Some(Stage::Empty) => {
                let address = temp_url::make(cloud, subject, Takes::One)?;
                let data = [(ADDRESS.to_owned(), address.into())].into();
                let learned = Learned { data, ..Learned::default() };
                Ok(Beat::Next { learned, next: plan.to(Stage::Deploy) })
            }
            Some(Stage::Deploy) => self.deploy(declared, cloud, work, subject, plan),
            Some(Stage::Wait) => self.wait(declared, cloud, work, subject, plan),
            Some(Stage::Remove) => self.remove(declared, cloud, subject),
            Some(Stage::DropQueue) => {
                signal_queue::remove(cloud, subject)?;
                Ok(Beat::Done { learned: stack_user::remove(cloud, subject)? })
            }
            Some(Stage::DropObject) if temp_url::delete_what_is_there(cloud, subject)? => {
                Ok(next(Stage::DropObject))
            }
            Some(Stage::DropObject) => Ok(next(Stage::DropContainer)),
            Some(Stage::DropContainer) => {
                temp_url::delete_container(cloud, subject)?;
                Ok(done())
            }
            Some(Stage::GiveUp) => self.give_up(cloud, subject),
            None => Ok(done()),
        }
    }

    fn cancellation_cleanup(&self, step: &Step) -> Option<Step> {
        (Stage::of(step) == Some(Stage::Wait)).then(|| Stage::GiveUp.step())
    }

    fn is_secret(&self, _declared: &Declared, _name: &str) -> bool {
        true
    }

    fn signal(&self, _subject: &Subject, _details: &Value) -> Signaled {
        Signaled::Work
    }

    fn carry_out_signal(
        &self,
        cloud: &Asks<'_>,
        subject: &Subject,
        details: &Value,
    ) -> Result<SignalOutcome, Failure> {
        // The deployment is there before its id is on record.
        let id = subject.physical_id.clone().unwrap_or_else(|| own_id(subject).to_string());
        let said = match cloud.software(&subject.project()).signal_deployment(&id, details) {
            Ok(Some(event)) => Said::Result(event),
            Ok(None) => Said::Details,
            // Nothing is deployed yet: Heat's signal falls on the floor too.
            Err(refusal) if refusal.class == "NotFound" => Said::Nothing,
            Err(refusal) => return Err(refusal.into()),
        };
        Ok(SignalOutcome { said, ..SignalOutcome::default() })
    }

    fn attributes(&self, at: At<'_>, wanted: &[String]) -> Result<JsonMap, Failure> {
        let At { cloud, subject, .. } = at;
        let Some(id) = &subject.physical_id else { return Ok(JsonMap::new()) };
        let found = cloud.software(&subject.project()).deployment(id)?;
        if wanted.is_empty() {
            return Ok(found.output_values);
        }
        let value = |name: &String| found.output_values.get(name).cloned().unwrap_or_default();
        Ok(wanted.iter().map(|name| (name.clone(), value(name))).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::{Clock, SimulatedClock};
    use crate::model::ResourceId;
    use crate::resource_types::asks::{Answer, Ask, Facts, Run, SoftwareAnswer, SoftwareAsk};

    /// What a signal to a resource comes to whose deployment answers so.
    fn signaled(
        physical_id: Option<&str>,
        answer: Result<SoftwareAnswer, Refusal>,
    ) -> Result<SignalOutcome, Failure> {
        let subject = Subject {
            resource_id: Some(ResourceId::default()),
            physical_id: physical_id.map(str::to_owned),
            ..Subject::default()
        };
        let carry_out = |cloud: &Asks<'_>| {
            Deployed(DeploymentKind::Plain).carry_out_signal(cloud, &subject, &Value::Null)
        };
        let mut run = Run::new(Facts::at(SimulatedClock::new(1).now()));
        let ask = run.go_on(carry_out).unwrap_err();
        let signal = SoftwareAsk::Signal(ResourceId::default().to_string(), Value::Null);
        assert_eq!(*ask, Ask::Software { project: subject.project(), ask: signal });
        run.answered(ask, Ok(Answer::Software(answer)));
        run.go_on(carry_out).unwrap()
    }

    #[test]
    fn a_signal_reaches_a_deployment_whose_id_is_not_on_record_yet() {
        let heard = || Ok(SoftwareAnswer::Signaled(Some("succeeded".to_owned())));
        let own = ResourceId::default().to_string();
        for physical_id in [None, Some(own.as_str())] {
            let outcome = signaled(physical_id, heard()).unwrap();
            assert_eq!(outcome.said, Said::Result("succeeded".to_owned()));
        }
    }

    #[test]
    fn a_signal_falls_on_the_floor_where_nothing_is_deployed_alone() {
        let missing = Refusal::new("NotFound", "There is no such deployment");
        assert_eq!(signaled(None, Err(missing)).unwrap().said, Said::Nothing);
        let silent = signaled(None, Err(Refusal::unavailable("silence")));
        assert!(silent.unwrap_err().is_transient());
    }
}
