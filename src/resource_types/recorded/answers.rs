//! The recorded answers, given to what Hearth asks.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use uuid::Uuid;

use super::life::World;
use super::{RecordedAnswer, RecordedRequest, RecordedType};
use crate::model::{JsonMap, Refusal, Secret};
use crate::openstack::{Body, CloudError, Method, Request, Response, Service, answered};
use crate::resource_types::asks::{Answer, Ask, SoftwareAnswer, SoftwareAsk};
use crate::resource_types::software::{ConfigContent, Deployment, SoftwareConfig};

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
    /// What was deleted since: lists that are answered later have it no more.
    gone: BTreeSet<String>,
    /// What was made since, by its collection: its lists have it from then on.
    made: BTreeMap<String, Vec<Value>>,
    /// The same as it is shown, by its path.
    shown: BTreeMap<String, Value>,
    configs: BTreeMap<String, SoftwareConfig>,
    deployments: BTreeMap<String, Deployment>,
    ids: u128,
}

impl<'a> Recorded<'a> {
    pub(super) fn new(recorded: &'a RecordedType, project: &'a str) -> Self {
        Self {
            recorded,
            project,
            operation: "",
            used: Vec::new(),
            last: BTreeMap::new(),
            requests: Vec::new(),
            lookups: Vec::new(),
            gone: BTreeSet::new(),
            made: BTreeMap::new(),
            shown: BTreeMap::new(),
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
        for with_query in [true, false] {
            let mut found = None;
            for is_lookup in [true, false] {
                for (index, one) in self.of_operation(is_lookup).iter().enumerate() {
                    if !is_same(one, with_query) {
                        continue;
                    }
                    let is_used = self.used.contains(&(is_lookup, index));
                    found = found.filter(|_| is_used).or(Some((is_lookup, index)));
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
            None => self.unrecorded(&asked),
        };
        self.keep_true(&asked, &mut answer);
        let asked = RecordedRequest { answer: None, ..asked };
        match found {
            Some((_, true)) => self.lookups.push(asked),
            Some((_, false)) | None => self.requests.push(asked),
        }
        answer
    }

    /// Notes what a change leads to, and brings lists that are answered later up to it.
    fn keep_true(&mut self, asked: &RecordedRequest, answer: &mut RecordedAnswer) {
        let Some(body) = answer.body.as_object_mut() else {
            if asked.method == "DELETE" {
                self.gone.extend(asked.path.rsplit('/').next().map(str::to_owned));
            }
            return;
        };
        let id = |item: &Value| {
            ["id", "port_id"].iter().find_map(|key| Some(item[*key].as_str()?.to_owned()))
        };
        if asked.method == "POST" {
            let object = body.values().next().filter(|it| it.is_object());
            if let Some(id) = object.and_then(id) {
                self.shown.insert(format!("{}/{id}", asked.path), Value::Object(body.clone()));
            }
            self.made.entry(asked.path.clone()).or_default().extend(object.cloned());
        }
        for list in body.values_mut().filter_map(Value::as_array_mut) {
            for made in self.made.get(&asked.path).into_iter().flatten() {
                if !list.iter().any(|item| id(item) == id(made)) {
                    list.push(made.clone());
                }
            }
            list.retain(|item| id(item).is_none_or(|id| !self.gone.contains(&id)));
        }
    }

    /// What nobody asked then: an empty list of a collection, no object, and what is sent is done.
    fn unrecorded(&mut self, asked: &RecordedRequest) -> RecordedAnswer {
        let is_collection = self.recorded.requests.values().flatten().any(|one| {
            one.method == "POST"
                && (one.path == asked.path || format!("{}/detail", one.path) == asked.path)
        });
        match asked.method.as_str() {
            "GET" if is_collection || !asked.query.is_empty() => {
                RecordedAnswer { status: 200, body: json!({}), ..RecordedAnswer::default() }
            }
            "GET" if self.shown.contains_key(&asked.path) => {
                let body = self.shown[&asked.path].clone();
                RecordedAnswer { status: 200, body, ..RecordedAnswer::default() }
            }
            "GET" | "HEAD" => RecordedAnswer { status: 404, ..RecordedAnswer::default() },
            "POST" => {
                let mut body = asked.body.clone().unwrap_or_default();
                if let Some(Value::Object(object)) =
                    body.as_object_mut().and_then(|body| body.values_mut().next())
                {
                    object.insert("id".to_owned(), "sup".into());
                }
                RecordedAnswer { status: 201, body, ..RecordedAnswer::default() }
            }
            _ => RecordedAnswer { status: 204, ..RecordedAnswer::default() },
        }
    }

    fn send(&mut self, request: &Request) -> Result<Response, CloudError> {
        let asked = self.shown(request);
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

    /// A request as recordings show it.
    fn shown(&self, request: &Request) -> RecordedRequest {
        let mut headers = BTreeMap::new();
        for (name, value) in &request.headers {
            headers.insert(name.to_lowercase(), value.clone());
        }
        if let Some(version) = request.microversion {
            headers.insert("openstack-api-version".to_owned(), version.to_string());
        }
        let body = match &request.body {
            Body::None => None,
            Body::Json(body) => Some(body.clone()),
            Body::Bytes { content_type, bytes } => {
                headers.insert("content-type".to_owned(), content_type.clone());
                let text = || String::from_utf8_lossy(bytes).into_owned();
                Some(serde_json::from_slice(bytes).unwrap_or_else(|_| text().into()))
            }
        };
        if matches!(request.body, Body::Json(_)) {
            headers.insert("content-type".to_owned(), "application/json".to_owned());
        }
        let mut query = JsonMap::new();
        for (name, value) in &request.query {
            let value = match query.shift_remove(name) {
                None => Value::from(value.as_str()),
                Some(Value::Array(mut all)) => {
                    all.push(value.as_str().into());
                    Value::Array(all)
                }
                Some(one) => json!([one, value]),
            };
            query.insert(name.clone(), value);
        }
        RecordedRequest {
            service: request.service.as_str().to_owned(),
            method: request.method.as_str().to_owned(),
            path: self.path(request),
            query,
            headers,
            body,
            answer: None,
        }
    }

    /// The path below the catalog's address of the service.
    fn path(&self, request: &Request) -> String {
        let path = request.path.trim_end_matches('/');
        let path = path.split_once('?').map_or(path, |(path, _)| path);
        let of_project = |version: &str| format!("/{version}/{}{path}", self.project);
        let is_versioned = path
            .strip_prefix("/v")
            .is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()));
        match &request.service {
            Service::Compute if !is_versioned => format!("/v2.1{path}"),
            Service::Volume if !is_versioned => of_project("v3"),
            Service::ObjectStore => format!("/v1/AUTH_{}{path}", self.project),
            Service::Other(name) if &**name == "orchestration" && !is_versioned => of_project("v1"),
            _ => path.to_owned(),
        }
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
        let asked = self.engine_call(ask);
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

    /// An ask of the engine as recordings show it.
    fn engine_call(&self, ask: &SoftwareAsk) -> RecordedRequest {
        let of = |id: &dyn ToString| json!({ "arg0": id.to_string() });
        // An id that Heat makes up, and Hearth has of the resource.
        const OWN: &str = "{own}";
        let (path, body) = match ask {
            SoftwareAsk::Config(id) => ("show_software_config", of(id)),
            SoftwareAsk::CreateConfig(_, config) => ("create_software_config", sent(config)),
            SoftwareAsk::DeleteConfig(id) => ("delete_software_config", of(id)),
            SoftwareAsk::Deployment(_) => ("show_software_deployment", of(&OWN)),
            SoftwareAsk::Deploy(id, deploy) => {
                let mut body = json!({
                    "deployment_id": OWN,
                    "config_id": deploy.config_id.to_string(),
                    "action": deploy.action,
                    "input_values": deploy.input_values,
                    "status": deploy.status,
                    "status_reason": deploy.status_reason,
                });
                if self.deployments.contains_key(&id.to_string()) {
                    ("update_software_deployment", body)
                } else {
                    body["server_id"] = deploy.server_id.as_str().into();
                    ("create_software_deployment", body)
                }
            }
            SoftwareAsk::Signal(id, details) => {
                ("signal_software_deployment", json!({ "arg0": id, "details": details }))
            }
            SoftwareAsk::GiveUp(id) => ("update_software_deployment", of(id)),
            SoftwareAsk::DeleteDeployment(_) => ("delete_software_deployment", of(&OWN)),
        };
        RecordedRequest {
            service: "engine".to_owned(),
            method: "CALL".to_owned(),
            path: path.to_owned(),
            body: Some(body),
            ..RecordedRequest::default()
        }
    }
}

fn config(body: &Value) -> SoftwareConfig {
    let text = |name: &str| body[name].as_str().map(str::to_owned);
    let content: Option<ConfigContent> = serde_json::from_value(body.clone()).ok();
    SoftwareConfig {
        name: text("name"),
        group: text("group"),
        content: content.unwrap_or_default(),
    }
}

fn sent(config: &SoftwareConfig) -> Value {
    let mut body = json!({
        "name": config.name,
        "group": config.group,
        "config": config.content.config,
        "inputs": config.content.inputs,
        "outputs": config.content.outputs,
        "options": config.content.options,
    });
    if let Some(body) = body.as_object_mut() {
        body.retain(|_, value| *value != json!([]) && *value != json!({}) && !value.is_null());
    }
    body
}

impl World for Recorded<'_> {
    fn answer(&mut self, ask: &Ask) -> Result<Answer, CloudError> {
        Ok(match ask {
            Ask::Call(request) | Ask::CallThere(request) | Ask::CallInDomain(request) => {
                Answer::Response(self.send(request)?)
            }
            Ask::Poll { collection, id } => {
                let path = format!("{}/{id}", collection.items);
                let request = Request::new(Method::Get, collection.service.clone(), path);
                Answer::Object(self.send(&request)?.json()?[&*collection.member].take())
            }
            Ask::Endpoint(service) => Answer::Text(match service {
                Service::ObjectStore => {
                    format!("http://object-store.test/v1/AUTH_{}", self.project)
                }
                other => format!("http://{other}.test"),
            }),
            Ask::Project => Answer::Text(self.project.to_owned()),
            Ask::Microversion { service, wanted } => {
                Answer::Microversion(wanted.or_else(|| service.microversion()))
            }
            Ask::Reach { .. } => Answer::Reached(false),
            Ask::DomainId => Answer::Text("dom".to_owned()),
            Ask::UserToken { .. } => Answer::Token(Secret::new("token".to_owned())),
            Ask::Software { ask, .. } => Answer::Software(self.software(ask)),
            Ask::FreshId => Answer::Id(self.fresh_id()),
            Ask::Pause(_) => Answer::Done,
        })
    }
}
