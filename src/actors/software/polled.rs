//! A deployment that is answered with an object in Swift or a message in Zaqar: it is looked for the
//! answer whenever the deployment is shown, for there may be no resource that waits for it.

use chrono::{DateTime, FixedOffset, TimeDelta, Utc};
use percent_encoding::percent_decode_str;
use serde_json::Value;
use url::Url;

use super::DeploymentState;
use super::deployment::IN_PROGRESS;
use super::keeper::{SoftwareKeeper, unavailable};
use crate::actors::asks::RequestContext;
use crate::actors::credentials::check_home;
use crate::events::Position;
use crate::model::{DeploymentId, ProjectId, Refusal, Secret};
use crate::openstack::{Credentials, Method, Request, Service, Session, path_segment};
use crate::resource_types::software::ConfigContent;

impl SoftwareKeeper {
    /// Takes what a deployment's server left for it since it was last changed, as a signal: where that
    /// is on record. What cannot be read now is left for the next time.
    pub async fn poll(
        &self,
        who: &RequestContext,
        id: DeploymentId,
    ) -> Result<Option<Position>, Refusal> {
        let (project, id) = (&who.caller.project_id, id.to_string());
        let (found, created) = self.read_deployment(project, Some(&who.caller), &id).await?;
        let Some(cloud) = &self.services.cloud else { return Ok(None) };
        if found.state.status.as_deref() != Some(IN_PROGRESS) {
            return Ok(None);
        }
        let owner = &created.project_id;
        let config = found.state.config_id.unwrap_or_default().to_string();
        let config = self.config(owner, &config).await?.content;
        match input(&config, "deploy_signal_transport") {
            // A session of another project's caller does not see the object.
            Some("TEMP_URL_SIGNAL") if owner == project => {
                let Some(path) = object(&config) else { return Ok(None) };
                let details = self.put(&who.session(cloud, project), path, &found).await;
                let Some(details) = details else { return Ok(None) };
                let taken = self.take_signal(&found, owner, &details, who.meta()).await?;
                Ok(taken.map(|(_, position)| position))
            }
            Some("ZAQAR_SIGNAL") => {
                let Some((user, path)) = queue(&config) else { return Ok(None) };
                // An administrator of another cloud: that one is not shown the password.
                if check_home(&self.services, owner, &who.token).await.is_err() {
                    return Ok(None);
                }
                let session = cloud.home_of(&who.token).cloud.session(user);
                let Some(message) = self.posted(&session, &path, &found).await else {
                    return Ok(None);
                };
                let taken = self.take_signal(&found, owner, &message.details, who.meta()).await?;
                let Some((_, position)) = taken else { return Ok(None) };
                // It goes once it is on disk, so that it does not answer another time.
                self.services.log.durable(position).await.map_err(unavailable)?;
                let gone = Request::new(Method::Delete, messaging(), message.path);
                if let Err(error) = session.send(gone).await {
                    tracing::info!(deployment = id, %error, "an answer is left in its queue");
                }
                Ok(Some(position))
            }
            _ => Ok(None),
        }
    }

    /// What was put to an object since the deployment was last changed.
    async fn put(&self, session: &Session, path: String, found: &DeploymentState) -> Option<Value> {
        let request = Request::new(Method::Get, Service::ObjectStore, path);
        let answer = match session.send(request).await {
            Ok(answer) => answer,
            Err(error) => {
                if !error.is_not_found() {
                    tracing::info!(deployment = %found.id, %error, "a deployment's object is not read");
                }
                return None;
            }
        };
        let put = answer.header("last-modified");
        let put = put.and_then(|put| DateTime::parse_from_rfc2822(put).ok());
        // Swift tells whole seconds.
        let is_old = |(put, changed): (DateTime<FixedOffset>, DateTime<Utc>)| {
            put.timestamp() < changed.timestamp()
        };
        if put.zip(found.updated_at).is_some_and(is_old) {
            return None;
        }
        self.details(answer.bytes())
    }

    /// The first message of a queue that answers the deployment.
    async fn posted(
        &self,
        session: &Session,
        queue: &str,
        found: &DeploymentState,
    ) -> Option<Message> {
        // A message that another has claimed was posted all the same.
        let list = Request::get(messaging(), format!("{queue}/messages"))
            .query("limit", MESSAGES_READ_MAX)
            .query("echo", "true")
            .query("include_claimed", "true");
        let listed = match session.send(list).await.and_then(|answer| answer.json()) {
            Ok(listed) => listed,
            Err(error) => {
                if !error.is_not_found() {
                    tracing::info!(deployment = %found.id, %error, "a deployment's queue is not read");
                }
                return None;
            }
        };
        let now = self.services.clock.now();
        // Zaqar tells whole seconds, too.
        let is_old = |message: &Value| {
            let age = message["age"].as_i64().and_then(TimeDelta::try_seconds);
            let posted = age.and_then(|age| now.checked_sub_signed(age));
            posted.zip(found.updated_at).is_some_and(|it| it.0.timestamp() < it.1.timestamp())
        };
        let mut messages = listed["messages"].as_array()?.iter().filter(|it| !is_old(it));
        messages.find_map(|message| {
            let path = format!("{queue}/messages/{}", path_segment(message["id"].as_str()?));
            let details = self.details(message["body"].to_string().as_bytes())?;
            Some(Message { path, details })
        })
    }

    /// What a server says, where it is an answer and no longer than a signal may be.
    fn details(&self, word: &[u8]) -> Option<Value> {
        let is_answer = !word.is_empty() && word.len() <= self.services.limits.max_signal_size;
        let details = is_answer.then(|| serde_json::from_slice(word).ok())??;
        matches!(details, Value::Object(_)).then_some(details)
    }
}

/// How many messages are looked through, which is all that Zaqar lists at a time.
const MESSAGES_READ_MAX: &str = "20";

/// A message that answers a deployment.
struct Message {
    path: String,
    details: Value,
}

fn messaging() -> Service {
    Service::of_type("messaging")
}

/// The value of an input that tells a server how it is to answer.
fn input<'a>(config: &'a ConfigContent, name: &str) -> Option<&'a str> {
    let found = config.inputs.iter().find(|input| input.get("name").is_some_and(|it| it == name));
    found?.get("value")?.as_str()
}

/// The path of the queue that a server is told to post its answer to, and as whom it posts.
fn queue(config: &ConfigContent) -> Option<(Credentials, String)> {
    // No name of a queue is a step of a path.
    let is_none = |text: &str| matches!(text, "" | "." | "..");
    let part = |name: &str| input(config, name).filter(|it| !is_none(it)).map(str::to_owned);
    let user = Credentials::User {
        id: part("deploy_user_id")?,
        password: Secret::new(part("deploy_password")?),
        project: ProjectId(part("deploy_project_id")?),
    };
    let path = format!("/v2/queues/{}", path_segment(&part("deploy_queue_id")?));
    Some((user, path))
}

/// The path of the object that a server is told to answer with.
fn object(config: &ConfigContent) -> Option<String> {
    let url = Url::parse(input(config, "deploy_signal_id")?).ok()?;
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

    fn told(inputs: &[(&str, &str)]) -> ConfigContent {
        let inputs = inputs.iter().map(|(name, value)| json!({ "name": name, "value": value }));
        serde_json::from_value(json!({ "inputs": inputs.collect::<Vec<_>>() })).unwrap()
    }

    #[test]
    fn an_object_is_named_by_the_end_of_its_address() {
        let told = |address| object(&told(&[("deploy_signal_id", address)]));
        let address = "http://swift/v1/AUTH_p/a%20b/c%2Fd?temp_url_sig=x&temp_url_expires=1";
        assert_eq!(told(address).as_deref(), Some("/a%20b/c%2Fd"));
        assert_eq!(told("http://swift/").as_deref(), None);
        assert_eq!(told("http://swift/only").as_deref(), None);
        assert_eq!(told("no address").as_deref(), None);
    }

    #[test]
    fn a_queue_is_read_as_its_servers_user_who_has_to_be_known() {
        let known = [
            ("deploy_user_id", "u"),
            ("deploy_password", "p"),
            ("deploy_project_id", "q"),
            ("deploy_queue_id", "a/b"),
        ];
        let (_, path) = queue(&told(&known)).unwrap();
        assert_eq!(path, "/v2/queues/a%2Fb");
        for missing in 0..known.len() {
            let mut inputs = known;
            inputs[missing].1 = "";
            assert!(queue(&told(&inputs)).is_none(), "{}", known[missing].0);
        }
        let [user, password, project, _] = known;
        assert!(queue(&told(&[user, password, project, ("deploy_queue_id", "..")])).is_none());
    }
}
