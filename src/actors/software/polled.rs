//! A deployment that is answered with an object in Swift: it is looked for the object whenever the
//! deployment is shown, for there may be no resource that waits for it.

use chrono::DateTime;
use percent_encoding::percent_decode_str;
use serde_json::Value;
use url::Url;

use super::deployment::IN_PROGRESS;
use super::keeper::SoftwareKeeper;
use crate::actors::asks::RequestContext;
use crate::events::Position;
use crate::model::{DeploymentId, Refusal};
use crate::openstack::{Method, Request, Service, path_segment};
use crate::resource_types::software::ConfigContent;

impl SoftwareKeeper {
    /// Takes what was put to a deployment's object since it was last changed, as a signal: where that
    /// is on record. What cannot be read now is left for the next time.
    pub async fn poll(
        &self,
        who: &RequestContext,
        id: DeploymentId,
    ) -> Result<Option<Position>, Refusal> {
        let (project, id) = (&who.caller.project_id, id.to_string());
        let (found, created) = self.read_deployment(project, Some(&who.caller), &id).await?;
        // A session of another project's caller does not see the object.
        let is_under_way = found.state.status.as_deref() == Some(IN_PROGRESS);
        if !is_under_way || created.project_id != *project {
            return Ok(None);
        }
        let config = found.state.config_id.unwrap_or_default().to_string();
        let config = self.config(project, &config).await?;
        let (Some(path), Some(cloud)) = (object(&config.content), &self.services.cloud) else {
            return Ok(None);
        };
        let session = who.session(cloud, project);
        let request = Request::new(Method::Get, Service::ObjectStore, path);
        let answer = match session.send(request).await {
            Ok(answer) => answer,
            Err(error) => {
                if !error.is_not_found() {
                    tracing::info!(deployment = id, %error, "a deployment's object is not read");
                }
                return Ok(None);
            }
        };
        let put = answer.header("last-modified");
        let put = put.and_then(|put| DateTime::parse_from_rfc2822(put).ok());
        let is_old = put.zip(found.updated_at);
        // Swift tells whole seconds.
        let is_old = is_old.is_some_and(|(put, changed)| put.timestamp() < changed.timestamp());
        let word = answer.bytes();
        if is_old || word.is_empty() || word.len() > self.services.limits.max_signal_size {
            return Ok(None);
        }
        let Ok(details @ Value::Object(_)) = serde_json::from_slice(word) else { return Ok(None) };
        let taken = self.take_signal(&found, project, &details, who.meta()).await?;
        Ok(taken.map(|(_, position)| position))
    }
}

/// The path of the object that a server is told to answer with.
fn object(config: &ConfigContent) -> Option<String> {
    let input = |name: &str| {
        let found =
            config.inputs.iter().find(|input| input.get("name").is_some_and(|it| it == name));
        found?.get("value")?.as_str()
    };
    input("deploy_signal_transport").filter(|transport| *transport == "TEMP_URL_SIGNAL")?;
    let url = Url::parse(input("deploy_signal_id")?).ok()?;
    let mut parts = url.path_segments()?.rev();
    let (object, container) = (parts.next()?, parts.next()?);
    let named =
        |part: &str| percent_decode_str(part).decode_utf8().ok().map(|it| path_segment(&it));
    match (named(container)?, named(object)?) {
        (container, object) if container.is_empty() || object.is_empty() => None,
        (container, object) => Some(format!("/{container}/{object}")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(transport: &str, address: &str) -> Option<String> {
        let config = json!({ "inputs": [
            { "name": "deploy_signal_transport", "value": transport },
            { "name": "deploy_signal_id", "value": address },
        ] });
        object(&serde_json::from_value(config).unwrap())
    }

    #[test]
    fn an_object_is_named_by_the_end_of_its_address() {
        let told = |address| told("TEMP_URL_SIGNAL", address);
        let address = "http://swift/v1/AUTH_p/a%20b/c%2Fd?temp_url_sig=x&temp_url_expires=1";
        assert_eq!(told(address).as_deref(), Some("/a%20b/c%2Fd"));
        assert_eq!(told("http://swift/").as_deref(), None);
        assert_eq!(told("http://swift/only").as_deref(), None);
        assert_eq!(told("no address").as_deref(), None);
        assert_eq!(super::tests::told("CFN_SIGNAL", address), None);
    }
}
