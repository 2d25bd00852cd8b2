//! AWS::S3::Bucket: a container, whose tags, access and pages are headers.

use serde_json::Value;

use super::text;
use crate::events::resource::Step;
use crate::openstack::{Method, Request, Service, path_segment};
use crate::resource_types::asks::Asks;
use crate::resource_types::declared::{Beating, Declared, done};
use crate::resource_types::failure::Failure;
use crate::resource_types::job::{Beat, Subject, Work};
use crate::resource_types::resource_type::{At, ResourceType};
use crate::resource_types::stage::{Stages, stages};
use crate::resource_types::types::swift::container::{address, objects};

pub(crate) struct Bucket;

/// Whoever likes.
const ANYBODY: &str = ".r:*";

stages! {
    /// What a bucket goes through. Its name is our own, so that it is put and deleted by that.
    enum Stage {
        Create = "create" Changes,
        Delete = "delete" Changes,
    }
}

impl ResourceType for Bucket {
    fn first(&self, declared: &Declared, work: &Work, subject: &Subject) -> Step {
        match work {
            Work::Create => Stage::Create.step(),
            Work::Delete => Stage::Delete.step(),
            Work::Update { .. } | Work::Act(_) => declared.first_step(work, subject),
        }
    }

    fn beat(&self, declared: &Declared, beating: &Beating<'_>) -> Result<Beat, Failure> {
        let Beating { cloud, subject, step, .. } = *beating;
        let name = subject.physical_id.as_ref().unwrap_or(&subject.physical_name);
        let request =
            |method| Request::new(method, Service::ObjectStore, format!("/{}", path_segment(name)));
        match Stage::of(step) {
            Some(Stage::Create) => {
                let headers = headers(cloud, subject)?;
                let put = headers
                    .into_iter()
                    .fold(request(Method::Put), |request, (key, value)| request.header(key, value));
                cloud.send(put)?;
                Ok(Beat::Done { learned: Declared::made(subject, Some(name.clone())) })
            }
            Some(Stage::Delete) => match cloud.send(request(Method::Delete)) {
                Err(error) if error.is_conflict() => match objects(cloud, name)? {
                    None => Ok(done()),
                    Some(objects) if objects.is_empty() => {
                        let progress = beating.progress();
                        progress.again_to_go(cloud.now(), error.into(), |it| it.to(Stage::Delete))
                    }
                    Some(_) => Err(Failure::UnsupportedAction(format!(
                        "The bucket you tried to delete is not empty ({name})."
                    ))),
                },
                Err(error) if !error.is_not_found() => match Failure::from(error) {
                    // Where there is no service, nothing was made.
                    error if error.is_without_service() && subject.physical_id.is_none() => {
                        Ok(done())
                    }
                    error => Err(error),
                },
                _ => Ok(done()),
            },
            None => declared.plain_beat(beating),
        }
    }

    fn attribute(&self, at: At<'_>, _object: &Value, name: &str) -> Result<Option<Value>, Failure> {
        address(at, name)
    }
}

/// The headers that say what the properties do.
fn headers(cloud: &Asks<'_>, subject: &Subject) -> Result<Vec<(String, String)>, Failure> {
    let given = &subject.properties;
    let mut headers = Vec::new();
    for tag in given.get("Tags").and_then(Value::as_array).into_iter().flatten() {
        if let (Some(key), Some(value)) = (tag["Key"].as_str(), tag["Value"].as_str()) {
            headers.push((format!("X-Container-Meta-S3-Tag-{key}"), value.to_owned()));
        }
    }
    if let Some(Value::Object(pages)) = given.get("WebsiteConfiguration") {
        for (page, key) in [("Index", "IndexDocument"), ("Error", "ErrorDocument")] {
            let document = text(pages, key).map(str::to_owned);
            headers.extend(document.map(|it| (format!("X-Container-Meta-Web-{page}"), it)));
        }
    }
    let access = text(given, "AccessControl").unwrap_or_default();
    let (project, user) = cloud.names()?;
    let owner = format!("{project}:{user}");
    let (read, write) = match access {
        "PublicRead" => (ANYBODY, owner.as_str()),
        "PublicReadWrite" => (ANYBODY, ANYBODY),
        "AuthenticatedRead" => (project.as_str(), owner.as_str()),
        _ => (owner.as_str(), owner.as_str()),
    };
    headers.push(("X-Container-Read".to_owned(), read.to_owned()));
    headers.push(("X-Container-Write".to_owned(), write.to_owned()));
    Ok(headers)
}
