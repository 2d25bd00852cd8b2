//! A queue in Zaqar of a resource's own, for signals to it or for the agent in its server: it belongs
//! to the project of the stack's users, is used as the resource's own one, and is there with its
//! first message.

use serde_json::{Value, json};
use url::form_urlencoded;

use crate::model::JsonMap;
use crate::openstack::{Method, Request, Service, path_segment};
use crate::resource_types::asks::Asks;
use crate::resource_types::failure::Failure;
use crate::resource_types::job::{Queue, StackUser, Subject};
use crate::resource_types::stack_user;

/// Longest name of a queue.
const NAME_MAX: usize = 64;
/// How many messages a list asks for, which is all that Zaqar lists at a time.
const PAGE: &str = "20";
/// How many messages are read of a queue at once.
const READ_MAX: usize = 1_000;

/// Something that was posted.
pub(in crate::resource_types) struct Message {
    pub(in crate::resource_types) id: String,
    pub(in crate::resource_types) body: Value,
}

impl Message {
    /// What was posted, as a signal's details; nothing where nothing was.
    pub(super) fn details(self) -> Result<JsonMap, Failure> {
        match self.body {
            Value::Null => Ok(JsonMap::new()),
            Value::Object(details) => Ok(details),
            other => Err(Failure::Failed(format!("Failed to parse JSON data: {other}"))),
        }
    }
}

/// The queue of a resource, once it has a user.
pub(crate) fn of(subject: &Subject) -> Option<Queue> {
    StackUser::made(subject).map(|user| Queue { name: name(&subject.physical_name), user })
}

/// The end of the resource's physical name, in the characters that Zaqar takes.
fn name(physical_name: &str) -> String {
    let left_out = physical_name.chars().count().saturating_sub(NAME_MAX);
    let is_plain = |letter: &char| letter.is_ascii_alphanumeric() || "-_.".contains(*letter);
    let letters = physical_name.chars().skip(left_out);
    letters.map(|letter| if is_plain(&letter) { letter } else { '_' }).collect()
}

fn request(method: Method, queue: &Queue, rest: &str) -> Request {
    let path = format!("/v2/queues/{}{rest}", path_segment(&queue.name));
    Request::new(method, Service::of_type("messaging"), path)
}

/// What was posted and still lives, the oldest first.
pub(in crate::resource_types) fn messages(
    cloud: &Asks<'_>,
    queue: &Queue,
) -> Result<Vec<Message>, Failure> {
    let mut read = Vec::new();
    let mut marker: Option<String> = None;
    while read.len() < READ_MAX {
        // A message that another has claimed was posted all the same.
        let mut list = request(Method::Get, queue, "/messages")
            .query("limit", PAGE)
            .query("echo", "true")
            .query("include_claimed", "true");
        if let Some(marker) = &marker {
            list = list.query("marker", marker.as_str());
        }
        let listed = match cloud.send_as(&queue.user, list) {
            Ok(response) => response.json()?,
            Err(error) if error.is_not_found() => break,
            Err(error) => return Err(error.into()),
        };
        let before = read.len();
        for message in listed["messages"].as_array().into_iter().flatten() {
            let id = message["id"].as_str().unwrap_or_default().to_owned();
            read.push(Message { id, body: message["body"].clone() });
        }
        let next = next_marker(&listed);
        if read.len() == before || next.is_none() || next == marker {
            break;
        }
        marker = next;
    }
    Ok(read)
}

/// Where a list goes on, by its link.
fn next_marker(listed: &Value) -> Option<String> {
    let links = listed["links"].as_array()?;
    let next = links.iter().find(|link| link["rel"] == "next")?;
    let (_, query) = next["href"].as_str()?.split_once('?')?;
    let mut pairs = form_urlencoded::parse(query.as_bytes());
    pairs.find(|(name, _)| name == "marker").map(|(_, marker)| marker.into_owned())
}

/// Posts a message.
pub(crate) fn post(cloud: &Asks<'_>, queue: &Queue, message: Value) -> Result<(), Failure> {
    let post = request(Method::Post, queue, "/messages");
    cloud.send_as(&queue.user, post.json(json!({ "messages": [message] })))?;
    Ok(())
}

/// Deletes the queue with all that was posted to it.
pub(super) fn empty(cloud: &Asks<'_>, queue: &Queue) -> Result<(), Failure> {
    match cloud.send_as(&queue.user, request(Method::Delete, queue, "")) {
        Err(error) if !error.is_not_found() => Err(error.into()),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Deletes a resource's queue, before its user goes. One whose user is gone went before him.
pub(crate) fn remove(cloud: &Asks<'_>, subject: &Subject) -> Result<(), Failure> {
    let Some(queue) = of(subject) else { return Ok(()) };
    // He is kept out while his resource is suspended.
    stack_user::set_enabled(cloud, subject, true)?;
    match cloud.send_as(&queue.user, request(Method::Delete, &queue, "")) {
        Err(error) if !error.is_not_found() && !error.is_unauthorized() => Err(error.into()),
        Ok(_) | Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_has_a_name_that_zaqar_takes() {
        assert_eq!(name("web-a b-x1y2"), "web-a_b-x1y2");
        let long = format!("{}-end", "s".repeat(80));
        assert_eq!((name(&long).len(), name(&long).ends_with("s-end")), (64, true));
    }

    #[test]
    fn a_list_goes_on_where_its_link_says() {
        let link = |href: &str| json!({ "links": [{ "rel": "next", "href": href }] });
        let next = next_marker(&link("/v2/queues/q/messages?marker=a%2Fb&limit=20"));
        assert_eq!(next.as_deref(), Some("a/b"));
        assert_eq!(next_marker(&link("/v2/queues/q/messages")), None);
        assert_eq!(next_marker(&json!({ "links": [] })), None);
    }
}
