//! OS::Swift::Container: made and described by headers, so that making it again does no harm. Swift
//! says nothing of a container that is there already; one of a user's name that was is taken as in
//! Heat, and stays when the resource goes.

use serde_json::Value;

use crate::events::resource::Step;
use crate::model::JsonMap;
use crate::openstack::{Method, Request, Service, path_segment};
use crate::resource_types::asks::Asks;
use crate::resource_types::declared::{Beating, Declared, PlainStage, done, next};
use crate::resource_types::failure::Failure;
use crate::resource_types::job::{Beat, Learned, Subject, Work};
use crate::resource_types::python;
use crate::resource_types::resource_type::{At, ResourceType};
use crate::resource_types::stage::{Stages, stages};

pub(crate) struct Container;

stages! {
    /// What a container goes through.
    enum Stage {
        Create = "create" Changes,
        Account = "account" Changes,
        Find = "find" Looks,
        Delete = "delete" Looks,
        Purge = "purge" Changes,
        Remove = "remove" Changes,
        Check = "check" Looks,
    }
}

/// How many objects go in one step: the executor lets it make no more than 2,000 calls.
const PURGED_AT_ONCE: usize = 500;

fn name(subject: &Subject) -> &str {
    users_name(subject).unwrap_or(&subject.physical_name)
}

fn users_name(subject: &Subject) -> Option<&str> {
    let named = subject.properties.get("name").and_then(Value::as_str);
    named.filter(|name| !name.is_empty())
}

/// Whether there is a container.
fn is_there(cloud: &Asks<'_>, container: &str) -> Result<bool, Failure> {
    match cloud.send(request(Method::Head, container)) {
        Ok(_) => Ok(true),
        Err(error) if error.is_not_found() => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn request(method: Method, container: &str) -> Request {
    Request::new(method, Service::ObjectStore, format!("/{}", path_segment(container)))
}

/// `X-Container-Meta-KEY` for each key of the property.
fn with_metadata(mut request: Request, properties: &JsonMap, property: &str) -> Request {
    for (key, value) in properties.get(property).and_then(Value::as_object).into_iter().flatten() {
        request = request.header(format!("{property}-{key}"), python::text(value));
    }
    request
}

/// The names of the objects in the container; none when it is gone.
pub(in crate::resource_types::types) fn objects(
    cloud: &Asks<'_>,
    container: &str,
) -> Result<Option<Vec<String>>, Failure> {
    match cloud.send(request(Method::Get, container).query("format", "json")) {
        Ok(response) => {
            let listed = response.json()?;
            let names = listed.as_array().into_iter().flatten();
            Ok(Some(names.filter_map(|it| it["name"].as_str().map(str::to_owned)).collect()))
        }
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The attributes that say where the container is.
pub(in crate::resource_types::types) fn address(
    at: At<'_>,
    name: &str,
) -> Result<Option<Value>, Failure> {
    if !matches!(name, "DomainName" | "RootURL" | "WebsiteURL") {
        return Ok(None);
    }
    let container = at.subject.physical_id.as_deref().unwrap_or_default();
    let root = at.cloud.endpoint(&Service::ObjectStore)?;
    let host = url::Url::parse(&root).ok();
    let host = host.as_ref().and_then(|root| root.host_str()).unwrap_or_default();
    Ok(Some(match name {
        "RootURL" => root.as_str().into(),
        "WebsiteURL" => format!("{}/{container}", root.trim_end_matches('/')).into(),
        _ => host.into(),
    }))
}

impl ResourceType for Container {
    fn first(&self, declared: &Declared, work: &Work, subject: &Subject) -> Step {
        match work {
            Work::Create if users_name(subject).is_some() => PlainStage::NoteOthers.step(),
            _ => declared.first_step(work, subject),
        }
    }

    fn beat(&self, declared: &Declared, beating: &Beating<'_>) -> Result<Beat, Failure> {
        let Beating { cloud, subject, step, .. } = *beating;
        let given = declared.properties(&subject.properties);
        let container = subject.physical_id.as_deref().unwrap_or_else(|| name(subject));
        if PlainStage::of(step) == Some(PlainStage::NoteOthers) {
            // What the resource has replaced is its own.
            let is_former = subject.replaces.iter().any(|id| id == container);
            let is_others = !is_former && is_there(cloud, container)?;
            let there = is_others.then(|| container.to_owned()).into_iter().collect();
            return Ok(Declared::noted(subject, there, Stage::Create.step()));
        }
        match Stage::of(step) {
            Some(Stage::Find | Stage::Delete) if Declared::is_others(subject, container) => {
                Ok(done())
            }
            // One of a user's name is looked for beforehand, so it was not made without that; and
            // another resource may have made it since.
            Some(Stage::Find)
                if users_name(subject).is_some() && !Declared::may_be_sent(subject) =>
            {
                Ok(done())
            }
            Some(Stage::Find)
                if users_name(subject).is_some()
                    && cloud.claim(vec![container.to_owned()], true)?.is_none() =>
            {
                Ok(done())
            }
            // The container of this name is its successor's by now.
            Some(Stage::Delete) if users_name(subject).is_some() && cloud.shares(container)? => {
                Ok(done())
            }
            Some(Stage::Create) => {
                let mut put =
                    with_metadata(request(Method::Put, container), &given, "X-Container-Meta");
                for header in ["X-Container-Read", "X-Container-Write"] {
                    if let Some(value) = given.get(header).filter(|value| !value.is_null()) {
                        put = put.header(header, python::text(value));
                    }
                }
                cloud.send(put)?;
                let learned = Declared::put(subject, Some(container.to_owned()));
                let account = given.get("X-Account-Meta").and_then(Value::as_object);
                if account.is_some_and(|account| !account.is_empty()) {
                    return Ok(next(learned, Stage::Account.step()));
                }
                Ok(Beat::Done { learned })
            }
            Some(Stage::Account) => {
                let post = Request::post(Service::ObjectStore, "");
                cloud.send(with_metadata(post, &given, "X-Account-Meta"))?;
                Ok(done())
            }
            // The physical id is our own, so a container without one was not made, or its answer
            // was lost; the deletion finds out.
            Some(Stage::Find | Stage::Delete) => match objects(cloud, container)? {
                None => Ok(done()),
                Some(names) if names.is_empty() => {
                    Ok(next(Learned::default(), Stage::Remove.step()))
                }
                Some(_) if Stage::of(step) == Some(Stage::Find) => {
                    // Somebody else's container of the same name.
                    Ok(done())
                }
                Some(_) if given.get("PurgeOnDelete") == Some(&Value::Bool(true)) => {
                    Ok(next(Learned::default(), Stage::Purge.step()))
                }
                Some(_) => Err(Failure::UnsupportedAction(format!(
                    "Deleting non-empty container ({container}) when PurgeOnDelete is False"
                ))),
            },
            Some(Stage::Purge) => {
                for object in objects(cloud, container)?.into_iter().flatten().take(PURGED_AT_ONCE)
                {
                    // Slashes in an object's name are part of its path.
                    let object: Vec<String> = object.split('/').map(path_segment).collect();
                    let path = format!("/{}/{}", path_segment(container), object.join("/"));
                    match cloud.send(Request::delete(Service::ObjectStore, path)) {
                        Ok(_) => {}
                        Err(error) if error.is_not_found() => {}
                        Err(error) => return Err(error.into()),
                    }
                }
                // Another look tells whether there are more.
                Ok(next(Learned::default(), Stage::Delete.step()))
            }
            Some(Stage::Remove) => match cloud.send(request(Method::Delete, container)) {
                Ok(_) => Ok(done()),
                Err(error) if error.is_not_found() => Ok(done()),
                Err(error) if error.is_conflict() => {
                    beating
                        .progress()
                        .again_to_go(cloud.now(), error.into(), |p| p.to(Stage::Delete))
                }
                Err(error) => Err(error.into()),
            },
            Some(Stage::Check) => {
                cloud.send(request(Method::Head, container))?;
                Ok(done())
            }
            _ => declared.plain_beat(beating),
        }
    }

    fn observes(&self, _subject: &Subject, name: &str, _update_allowed: bool) -> bool {
        matches!(name, "X-Container-Read" | "X-Container-Write" | "X-Container-Meta")
    }

    /// Its headers.
    fn object(&self, at: At<'_>) -> Result<Option<Value>, Failure> {
        let At { cloud, subject, .. } = at;
        let container = subject.physical_id.as_deref().unwrap_or_default();
        let response = match cloud.send(request(Method::Head, container)) {
            Ok(response) => response,
            Err(error) if error.is_not_found() => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let headers = response.headers().map(|(name, value)| (name.to_owned(), value.into()));
        Ok(Some(Value::Object(headers.collect())))
    }

    /// Of the metadata the keys that the property has.
    fn live(
        &self,
        _at: At<'_>,
        object: &Value,
        name: &str,
        wanted: &Value,
    ) -> Result<Option<Value>, Failure> {
        let header = |name: String| object.get(name.to_lowercase()).cloned();
        let Value::Object(wanted) = wanted else {
            return Ok(Some(header(name.to_owned()).unwrap_or_default()));
        };
        let known =
            wanted.keys().filter_map(|key| Some((key.clone(), header(format!("{name}-{key}"))?)));
        Ok(Some(Value::Object(known.collect())))
    }

    fn attribute(&self, at: At<'_>, _object: &Value, name: &str) -> Result<Option<Value>, Failure> {
        let At { cloud, subject, .. } = at;
        let container = subject.physical_id.as_deref().unwrap_or_default();
        if let Some(address) = address(at, name)? {
            return Ok(Some(address));
        }
        let response = cloud.send(request(Method::Head, container))?;
        let header = |name: &str| Value::from(response.header(name).unwrap_or_default());
        Ok(Some(match name {
            "ObjectCount" => header("x-container-object-count"),
            "BytesUsed" => header("x-container-bytes-used"),
            _ => response
                .headers()
                .map(|(name, value)| (name.to_owned(), Value::from(value)))
                .collect::<JsonMap>()
                .into(),
        }))
    }
}
