//! The recorded answers, given to what Hearth asks.

use std::collections::BTreeMap;

use serde_json::Value;
use uuid::Uuid;

use super::life::World;
use super::made::Made;
use super::shown::{config, engine_call, shown};
use super::{Outcome, RecordedAnswer, RecordedRequest, RecordedType, Trouble, TroubleKind};
use crate::model::{Refusal, Secret};
use crate::openstack::{CloudError, Method, Request, Response, Service, answered};
use crate::resource_types::asks::{
    Answer, Ask, Neighbor, NeighborKnown, SoftwareAnswer, SoftwareAsk,
};
use crate::resource_types::software::{Deployment, SoftwareConfig};

/// Who answers as the services did.
pub(super) struct Recorded<'a> {
    recorded: &'a RecordedType,
    project: &'a str,
    operation: &'a str,
    /// The recorded requests of the operation that were answered already, by their place among all.
    used: Vec<(bool, usize)>,
    /// The last answer to a method and path, in the whole life.
    last: BTreeMap<(String, String), usize>,
    requests: Vec<RecordedRequest>,
    lookups: Vec<RecordedRequest>,
    made: Made,
    trouble: Option<Trouble>,
    /// How much was asked so far that changes something, how much that looks, and how many beats were
    /// made.
    changes: usize,
    looks: usize,
    beats: usize,
    /// The last change of each kind that was carried out, by method and path.
    effects: BTreeMap<String, Option<Value>>,
    configs: BTreeMap<String, SoftwareConfig>,
    deployments: BTreeMap<String, Deployment>,
    ids: u128,
}

impl<'a> Recorded<'a> {
    pub(super) fn new(
        recorded: &'a RecordedType,
        project: &'a str,
        trouble: Option<Trouble>,
    ) -> Self {
        Self {
            recorded,
            project,
            operation: "",
            used: Vec::new(),
            last: BTreeMap::new(),
            requests: Vec::new(),
            lookups: Vec::new(),
            made: Made::of(recorded),
            trouble,
            changes: 0,
            looks: 0,
            beats: 0,
            effects: BTreeMap::new(),
            configs: BTreeMap::new(),
            deployments: BTreeMap::new(),
            ids: 0,
        }
    }

    pub(super) fn begin(&mut self, operation: &'a str) {
        self.operation = operation;
        self.used.clear();
    }

    /// What was asked since then: the requests, and among them the lookups.
    pub(super) fn asked(&mut self) -> (Vec<RecordedRequest>, Vec<RecordedRequest>) {
        (std::mem::take(&mut self.requests), std::mem::take(&mut self.lookups))
    }

    fn of_operation(&self, is_lookup: bool) -> &'a [RecordedRequest] {
        let all = if is_lookup { &self.recorded.lookups } else { &self.recorded.requests };
        all.get(self.operation).map_or(&[], Vec::as_slice)
    }

    /// The answer that was recorded, and whether to a lookup: to the next request that is the same
    /// and was not answered yet, or to the last one that is the same.
    fn recorded_answer(&mut self, asked: &RecordedRequest) -> Option<(usize, bool)> {
        let is_same = |one: &RecordedRequest, with_query: bool| {
            one.method == asked.method
                && one.path == asked.path
                && (!with_query || one.query == asked.query)
        };
        let mut is_made_later = false;
        for with_query in [true, false] {
            let mut found = None;
            for is_lookup in [true, false] {
                for (index, one) in self.of_operation(is_lookup).iter().enumerate() {
                    let is_used = self.used.contains(&(is_lookup, index));
                    if one.method == "POST"
                        && asked.method == "GET"
                        && one.path == asked.path
                        && !is_used
                    {
                        // What was seen after a change is not to be seen before it.
                        is_made_later = true;
                        break;
                    }
                    if !is_same(one, with_query) {
                        continue;
                    }
                    found = Some((is_lookup, index));
                    if !is_used {
                        self.used.push((is_lookup, index));
                        let answer = one.answer?;
                        return Some((answer, is_lookup));
                    }
                }
            }
            if let Some((is_lookup, index)) = found {
                return Some((self.of_operation(is_lookup)[index].answer?, is_lookup));
            }
            // The same question of another operation tells more than another question of this one.
            let everywhere = self.recorded.lookups.values().chain(self.recorded.requests.values());
            let mut same = everywhere.flatten().filter(|one| is_same(one, with_query));
            if asked.method == "GET"
                && !asked.query.is_empty()
                && !is_made_later
                && let Some(one) = same.next()
            {
                return Some((one.answer?, true));
            }
        }
        let last = self.last.get(&(asked.method.clone(), asked.path.clone()));
        last.map(|answer| (*answer, false))
    }

    /// The answer to a request, which is noted.
    fn called(&mut self, asked: RecordedRequest) -> RecordedAnswer {
        let found = self.recorded_answer(&asked);
        let mut answer = match found {
            Some((index, _)) => {
                self.last.insert((asked.method.clone(), asked.path.clone()), index);
                self.recorded.answers.get(index).cloned().unwrap_or_default()
            }
            None => self.made.answer(&asked),
        };
        self.made.correct(&asked, &mut answer);
        self.made.note(&asked, &mut answer);
        if asked.method != "GET" && asked.method != "HEAD" && !asked.path.starts_with("show_") {
            let what = format!("{} {}", asked.method, asked.path);
            self.effects.insert(what, asked.body.clone());
        }
        let asked = RecordedRequest { answer: None, ..asked };
        match found {
            Some((_, true)) => self.lookups.push(asked),
            Some((_, false)) | None => self.requests.push(asked),
        }
        answer
    }

    fn send(&mut self, request: &Request) -> Result<Response, CloudError> {
        let asked = shown(request, self.project);
        let url = format!("http://{}.test{}", asked.service, asked.path);
        let answer = self.called(asked);
        let headers: Vec<(String, String)> = answer.headers.into_iter().collect();
        let body = match answer.body {
            Value::Null => String::new(),
            Value::String(text) => text,
            body => body.to_string(),
        };
        answered(request, &url, answer.status, &headers, body.into())
    }

    /// The id that the engine gave then to what is made next.
    fn fresh_id(&mut self) -> Uuid {
        let given = self.of_operation(false).iter().enumerate().find(|(index, one)| {
            one.path == "create_software_config" && !self.used.contains(&(false, *index))
        });
        let answer = given.and_then(|(_, one)| self.recorded.answers.get(one.answer?));
        let id = answer.and_then(|answer| Uuid::try_parse(answer.body["id"].as_str()?).ok());
        if let Some(id) = id {
            return id;
        }
        self.ids += 1;
        Uuid::from_u128(0x3333_3333_0000_4000_8000_0000_0000_0000 + self.ids)
    }

    /// Configurations and deployments are the engine's own, and kept here.
    fn software(&mut self, ask: &SoftwareAsk) -> Result<SoftwareAnswer, Refusal> {
        let is_deployed = match ask {
            SoftwareAsk::Deploy(id, _) => self.deployments.contains_key(&id.to_string()),
            _ => false,
        };
        let asked = engine_call(ask, is_deployed);
        let answer = self.called(asked);
        let missing = |what: &str, id: &str| {
            Refusal::new("NotFound", format!("{what} with id {id} not found"))
        };
        match ask {
            SoftwareAsk::Config(id) => match self.configs.get(id) {
                Some(config) => Ok(SoftwareAnswer::Config(config.clone())),
                None if answer.status < 400 && answer.body.is_object() => {
                    Ok(SoftwareAnswer::Config(config(&answer.body)))
                }
                None => Err(missing("Software config", id)),
            },
            SoftwareAsk::CreateConfig(id, config) => {
                self.configs.insert(id.to_string(), config.clone());
                Ok(SoftwareAnswer::Done)
            }
            SoftwareAsk::DeleteConfig(id) => {
                self.configs.remove(&id.to_string());
                Ok(SoftwareAnswer::Done)
            }
            SoftwareAsk::Deployment(id) => match self.deployments.get(id) {
                Some(deployment) => Ok(SoftwareAnswer::Deployment(deployment.clone())),
                None => Err(missing("Deployment", id)),
            },
            SoftwareAsk::Deploy(id, deploy) => {
                let deployment = Deployment {
                    config_id: deploy.config_id,
                    server_id: deploy.server_id.clone(),
                    action: Some(deploy.action.clone()),
                    // As if the server had answered at once.
                    status: Some("COMPLETE".to_owned()),
                    ..Deployment::default()
                };
                self.deployments.insert(id.to_string(), deployment);
                Ok(SoftwareAnswer::Done)
            }
            SoftwareAsk::Signal(..) => Ok(SoftwareAnswer::Signaled(None)),
            SoftwareAsk::GiveUp(_) => Ok(SoftwareAnswer::Done),
            SoftwareAsk::DeleteDeployment(id) => {
                self.deployments.remove(&id.to_string());
                Ok(SoftwareAnswer::Done)
            }
        }
    }

    fn carried_out(&mut self, ask: &Ask) -> Result<Answer, CloudError> {
        Ok(match ask {
            Ask::Call(request)
            | Ask::CallThere(request)
            | Ask::CallInDomain(request)
            | Ask::CallAsUser { request, .. } => Answer::Response(self.send(request)?),
            Ask::Calls(requests) => {
                Answer::Responses(requests.iter().map(|request| self.send(request)).collect())
            }
            Ask::Poll { collection, id } => {
                let path = format!("{}/{id}", collection.items);
                let request = Request::new(Method::Get, collection.service.clone(), path);
                Answer::Object(collection.object(self.send(&request)?.json()?))
            }
            Ask::Endpoint(service) => Answer::Text(match service {
                Service::ObjectStore => {
                    format!("http://object-store.test/v1/AUTH_{}", self.project)
                }
                other => format!("http://{other}.test"),
            }),
            Ask::Project => Answer::Text(self.project.to_owned()),
            Ask::Names => Answer::Names { project: "p".to_owned(), user: "u".to_owned() },
            Ask::Microversion { service, wanted } => {
                Answer::Microversion(wanted.or_else(|| service.microversion()))
            }
            Ask::Reach { .. } => Answer::Reached(false),
            Ask::DomainId => Answer::Text("dom".to_owned()),
            Ask::UserToken { .. } => Answer::Token(Secret::new("token".to_owned())),
            Ask::Software { ask, .. } => Answer::Software(self.software(ask)),
            // The real Heat has none any more.
            Ask::Alarm { .. } => Answer::Alarm(Ok(())),
            // There is no other resource.
            Ask::Claim { ids, .. } => Answer::Claimed(ids.first().cloned()),
            Ask::Shares(_) => Answer::Shares(false),
            // Its user is known by its reference there.
            Ask::Neighbor(NeighborKnown::Reference(reference)) => {
                let user = Some((reference.clone(), "sup".to_owned()));
                Answer::Neighbor(Some(Neighbor { user, ..Neighbor::default() }))
            }
            Ask::Neighbor(NeighborKnown::Name(_)) => Answer::Neighbor(None),
            Ask::Neighbors { .. } => Answer::Neighbors(Vec::new()),
            // Nothing stands elsewhere there.
            Ask::ChildDefinition => Answer::ChildDefinition(Ok(Value::Null)),
            Ask::FreshId | Ask::SharedId(_) => Answer::Id(self.fresh_id()),
            Ask::Pause(_) => Answer::Done,
        })
    }

    /// What came of it: how often something was to be changed or looked at and how many beats that
    /// took, what was made and is left, and the last change of each kind.
    pub(super) fn outcome(&self) -> Outcome {
        Outcome {
            changes: self.changes,
            looks: self.looks,
            beats: self.beats,
            left: self.made.left().cloned().collect(),
            effects: self.effects.clone(),
        }
    }
}

impl World for Recorded<'_> {
    fn answer(&mut self, ask: &Ask) -> Result<Answer, CloudError> {
        if !ask.changes() {
            let number = self.looks;
            self.looks += usize::from(is_look(ask));
            let trouble = Trouble { what: TroubleKind::LookRefused, at: number };
            let is_refused = is_look(ask) && self.trouble == Some(trouble);
            // Neither that it is not there nor that it is not ours.
            return if is_refused { Err(refused(422)) } else { self.carried_out(ask) };
        }
        let number = self.changes;
        self.changes += 1;
        match self.trouble {
            Some(Trouble { what: TroubleKind::RequestLost, at }) if at == number => {}
            Some(Trouble { what: TroubleKind::AnswerLost, at }) if at == number => {
                drop(self.carried_out(ask));
            }
            Some(Trouble { what: TroubleKind::Refused, at }) if at == number => {
                return Err(refused(403));
            }
            Some(_) | None => return self.carried_out(ask),
        }
        if let Ask::Software { .. } = ask {
            return Ok(Answer::Software(Err(Refusal::unavailable("It is lost.".to_owned()))));
        }
        let (url, reason) = ("http://service.test".to_owned(), "It is lost".to_owned());
        Err(CloudError::Unanswered { url, reason })
    }

    fn kills(&mut self) -> bool {
        let number = self.beats;
        self.beats += 1;
        self.trouble == Some(Trouble { what: TroubleKind::Killed, at: number })
    }
}

/// Whether a service is asked what there is.
fn is_look(ask: &Ask) -> bool {
    match ask {
        Ask::Call(_)
        | Ask::CallThere(_)
        | Ask::CallInDomain(_)
        | Ask::CallAsUser { .. }
        | Ask::Calls(_)
        | Ask::Poll { .. } => !ask.changes(),
        _ => false,
    }
}

fn refused(status: u16) -> CloudError {
    CloudError::Answered {
        status,
        class: "Forbidden".into(),
        message: "Nobody may do this.".to_owned(),
        retry_after: None,
    }
}
