//! Answers as the log keeps them, so that a type's program can be run again by what it was told.

use std::collections::BTreeMap;
use std::fmt;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use super::asks::{Answer, Ask, Neighbor, NeighborKnown, Run, SoftwareAnswer};
use super::job::Attempt;
use crate::events::resource::{AnswersKept, KeptAnswer};
use crate::model::{Refusal, Secret};
use crate::openstack::{CloudError, Request, Response, answered};

/// The most that is kept of one answer, in bytes of JSON.
const ANSWER_MAX: usize = 64 * 1024;
/// The most answers that are kept of one beat, and how many bytes they have together.
const ANSWERS_MAX: usize = 64;
const BEAT_MAX: usize = 256 * 1024;
/// How many of several calls are named.
const NAMED_MAX: usize = 4;
/// Headers that say nothing of the object.
const LEFT_OUT: [&str; 8] = [
    "connection",
    "content-length",
    "content-type",
    "date",
    "keep-alive",
    "server",
    "set-cookie",
    "vary",
];

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kept {
    Response(KeptResponse),
    Responses(Vec<Result<KeptResponse, CloudError>>),
    Object(Value),
    Text(String),
    Names { project: String, user: String },
    Microversion(Option<String>),
    Reached(bool),
    Software(Result<SoftwareAnswer, Refusal>),
    Alarm(Result<(), Refusal>),
    Claimed(Option<String>),
    Shares(bool),
    Neighbor(Option<Neighbor>),
    Neighbors(Vec<String>),
    Id(Uuid),
    Done,
    Error(CloudError),
}

#[derive(Serialize, Deserialize)]
struct KeptResponse {
    status: u16,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    headers: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "KeptBody::is_empty")]
    body: KeptBody,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum KeptBody {
    #[default]
    Empty,
    Json(Value),
    Text(String),
}

impl Run {
    /// What was answered, as the log keeps it; `None` where nothing was asked.
    pub fn kept(&self, attempt: Attempt) -> Option<AnswersKept> {
        let answers = kept(self.asked.iter().map(|(ask, answer)| (ask, answer)));
        (!answers.is_empty()).then(|| AnswersKept {
            searched: attempt == Attempt::Unanswered,
            facts: serde_json::to_value(&self.facts).unwrap_or_default(),
            answers,
        })
    }
}

/// What of a beat's asks goes into the log.
fn kept<'a>(
    asked: impl Iterator<Item = (&'a Ask, &'a Result<Answer, CloudError>)>,
) -> Vec<KeptAnswer> {
    let mut left = BEAT_MAX;
    let kept = asked.take(ANSWERS_MAX).map(|(ask, answer)| {
        let written = written(answer).filter(|(_, size)| *size <= left.min(ANSWER_MAX));
        let answer = written.map(|(value, size)| {
            left -= size;
            value
        });
        KeptAnswer { ask: ask.to_string(), answer }
    });
    kept.collect()
}

/// The answer that was kept to an ask; `None` where it was not.
pub(crate) fn answer(ask: &Ask, kept: &KeptAnswer) -> Option<Result<Answer, CloudError>> {
    let Some(answer) = &kept.answer else {
        // No token is ever kept, and nothing that a program decides hangs on its text.
        let is_token = matches!(ask, Ask::UserToken { .. });
        return is_token.then(|| Ok(Answer::Token(Secret::new(String::new()))));
    };
    let kept: Kept = serde_json::from_value(answer.clone()).ok()?;
    Some(Ok(match (kept, ask) {
        (Kept::Error(error), _) => return Some(Err(error)),
        (
            Kept::Response(response),
            Ask::Call(request)
            | Ask::CallThere(request)
            | Ask::CallInDomain(request)
            | Ask::CallAsUser { request, .. },
        ) => Answer::Response(response.read(request)?),
        (Kept::Responses(responses), Ask::Calls(requests)) => {
            let pairs = responses.into_iter().zip(requests);
            let read = pairs.map(|(response, request)| match response {
                Ok(response) => response.read(request).map(Ok),
                Err(error) => Some(Err(error)),
            });
            Answer::Responses(read.collect::<Option<_>>()?)
        }
        (Kept::Object(object), Ask::Poll { .. }) => Answer::Object(object),
        (Kept::Text(text), Ask::Endpoint(_) | Ask::Project | Ask::DomainId) => Answer::Text(text),
        (Kept::Names { project, user }, Ask::Names) => Answer::Names { project, user },
        (Kept::Microversion(version), Ask::Microversion { .. }) => {
            Answer::Microversion(version.map(|text| text.parse()).transpose().ok()?)
        }
        (Kept::Reached(is_elsewhere), Ask::Reach { .. }) => Answer::Reached(is_elsewhere),
        (Kept::Software(answer), Ask::Software { .. }) => Answer::Software(answer),
        (Kept::Alarm(answer), Ask::Alarm { .. }) => Answer::Alarm(answer),
        (Kept::Claimed(id), Ask::Claim { .. }) => Answer::Claimed(id),
        (Kept::Shares(shares), Ask::Shares(_)) => Answer::Shares(shares),
        (Kept::Neighbor(neighbor), Ask::Neighbor(_)) => Answer::Neighbor(neighbor),
        (Kept::Neighbors(ids), Ask::Neighbors { .. }) => Answer::Neighbors(ids),
        (Kept::Id(id), Ask::FreshId | Ask::SharedId(_)) => Answer::Id(id),
        (Kept::Done, Ask::Pause(_)) => Answer::Done,
        // Nothing that a program decides hangs on what is in it.
        (Kept::Done, Ask::ChildDefinition) => Answer::ChildDefinition(Ok(Value::Null)),
        _ => return None,
    }))
}

/// An answer and its size in bytes of JSON; `None` where it must not be kept.
fn written(answer: &Result<Answer, CloudError>) -> Option<(Value, usize)> {
    let kept = match answer {
        Err(error) => Kept::Error(error.clone()),
        Ok(answer) => match answer {
            Answer::Response(response) => Kept::Response(KeptResponse::of(response)?),
            Answer::Responses(responses) => {
                let kept = responses.iter().map(|response| match response {
                    Ok(response) => KeptResponse::of(response).map(Ok),
                    Err(error) => Some(Err(error.clone())),
                });
                Kept::Responses(kept.collect::<Option<_>>()?)
            }
            Answer::Object(object) => Kept::Object(object.clone()),
            Answer::Text(text) => Kept::Text(text.clone()),
            Answer::Names { project, user } => {
                Kept::Names { project: project.clone(), user: user.clone() }
            }
            Answer::Token(_) => return None,
            Answer::Microversion(version) => {
                Kept::Microversion(version.map(|version| version.to_string()))
            }
            Answer::Reached(is_elsewhere) => Kept::Reached(*is_elsewhere),
            Answer::Software(answer) => Kept::Software(answer.clone()),
            Answer::Alarm(answer) => Kept::Alarm(answer.clone()),
            Answer::Claimed(id) => Kept::Claimed(id.clone()),
            Answer::Shares(shares) => Kept::Shares(*shares),
            Answer::Neighbor(neighbor) => Kept::Neighbor(neighbor.clone()),
            Answer::Neighbors(ids) => Kept::Neighbors(ids.clone()),
            // It has what its parent's environment hides.
            Answer::ChildDefinition(Ok(_)) => Kept::Done,
            Answer::ChildDefinition(Err(_)) => return None,
            Answer::Id(id) => Kept::Id(*id),
            Answer::Done => Kept::Done,
        },
    };
    let value = serde_json::to_value(kept).ok()?;
    let size = value.to_string().len();
    Some((value, size))
}

impl KeptResponse {
    /// `None` where the body is too large, or neither JSON nor text.
    fn of(response: &Response) -> Option<Self> {
        let headers = response.headers().filter(|(name, _)| !LEFT_OUT.contains(name));
        let bytes = response.bytes();
        if bytes.len() > ANSWER_MAX {
            return None;
        }
        let body = match bytes.is_empty() {
            true => KeptBody::Empty,
            false => match serde_json::from_slice(bytes) {
                Ok(value) => KeptBody::Json(value),
                Err(_) => KeptBody::Text(std::str::from_utf8(bytes).ok()?.to_owned()),
            },
        };
        let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned()));
        Some(Self { status: response.status, headers: headers.collect(), body })
    }

    fn read(self, request: &Request) -> Option<Response> {
        let headers: Vec<(String, String)> = self.headers.into_iter().collect();
        let bytes = match self.body {
            KeptBody::Empty => Bytes::new(),
            KeptBody::Json(value) => value.to_string().into(),
            KeptBody::Text(text) => text.into(),
        };
        answered(request, &request.path, self.status, &headers, bytes).ok()
    }
}

impl KeptBody {
    fn is_empty(&self) -> bool {
        matches!(self, KeptBody::Empty)
    }
}

/// An ask in one line, without bodies.
impl fmt::Display for Ask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ask::Call(request) => call(f, request),
            Ask::Calls(requests) => {
                for (index, request) in requests.iter().take(NAMED_MAX).enumerate() {
                    if index > 0 {
                        f.write_str(", ")?;
                    }
                    call(f, request)?;
                }
                match requests.len().checked_sub(NAMED_MAX) {
                    None | Some(0) => Ok(()),
                    Some(more) => write!(f, " and {more} more"),
                }
            }
            Ask::CallThere(request) => {
                f.write_str("elsewhere ")?;
                call(f, request)
            }
            Ask::CallInDomain(request) => {
                f.write_str("as the domain's administrator ")?;
                call(f, request)
            }
            Ask::CallAsUser { user, request } => {
                write!(f, "as {} ", user.id)?;
                call(f, request)
            }
            Ask::Poll { collection, id } => {
                write!(f, "poll {}:{}/{id}", collection.service, collection.items)
            }
            Ask::Endpoint(service) => write!(f, "endpoint {service}"),
            Ask::Project => f.write_str("project"),
            Ask::Names => f.write_str("names of project and user"),
            Ask::Microversion { service, .. } => write!(f, "microversion {service}"),
            Ask::Reach { to, service } => write!(f, "reach {service} at {to:?}"),
            Ask::DomainId => f.write_str("domain of stacks' users"),
            Ask::UserToken { id, .. } => write!(f, "token of {id}"),
            Ask::Software { ask, .. } => f.write_str(ask.name()),
            Ask::Alarm { ask, .. } => f.write_str(ask.name()),
            Ask::Claim { ids, .. } => {
                let named = &ids[..ids.len().min(NAMED_MAX)];
                write!(f, "claim {}", named.join(", "))?;
                match ids.len() - named.len() {
                    0 => Ok(()),
                    more => write!(f, " and {more} more"),
                }
            }
            Ask::Shares(id) => write!(f, "shares {id}"),
            Ask::Neighbor(NeighborKnown::Name(name) | NeighborKnown::Reference(name)) => {
                write!(f, "resource {name}")
            }
            Ask::Neighbors { of_type, property, value } => {
                write!(f, "resources {of_type} with {property} {value}")
            }
            Ask::ChildDefinition => f.write_str("definition of the stack elsewhere"),
            Ask::FreshId => f.write_str("fresh id"),
            Ask::SharedId(purpose) => write!(f, "shared id for {purpose}"),
            Ask::Pause(time) => write!(f, "pause {time:?}"),
        }
    }
}

fn call(f: &mut fmt::Formatter<'_>, request: &Request) -> fmt::Result {
    write!(f, "{} {}:{}", request.method.as_str(), request.service, request.path)?;
    let mut separator = '?';
    for (name, value) in &request.query {
        write!(f, "{separator}{name}={value}")?;
        separator = '&';
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::openstack::Service;
    use crate::resource_types::failure::Failure;

    fn there_and_back(ask: &Ask, given: Result<Answer, CloudError>) -> Result<Answer, CloudError> {
        let kept = kept([(ask, &given)].into_iter());
        answer(ask, &kept[0]).unwrap()
    }

    #[test]
    fn a_response_is_read_as_it_came() {
        let request = Request::post(Service::Image, "/v2/images").query("a", "b");
        let headers = [
            ("location".to_owned(), "/v2/images/1".to_owned()),
            ("date".to_owned(), "today".to_owned()),
        ];
        let body = Bytes::from(json!({ "id": "1" }).to_string());
        let given = answered(&request, "/", 201, &headers, body).map(Answer::Response);
        let ask = Ask::Call(request);
        assert_eq!(ask.to_string(), "POST image:/v2/images?a=b");
        let Ok(Answer::Response(read)) = there_and_back(&ask, given) else { panic!() };
        assert_eq!((read.status, read.json().unwrap()), (201, json!({ "id": "1" })));
        let headers: Vec<_> = read.headers().collect();
        assert_eq!(headers, [("location", "/v2/images/1")]);
    }

    #[test]
    fn whose_an_object_was_is_known_again() {
        let claim = |count: usize| Ask::Claim {
            ids: (0..count).map(|number| format!("n{number}")).collect(),
            named: false,
        };
        assert_eq!(claim(2).to_string(), "claim n0, n1");
        assert_eq!(claim(6).to_string(), "claim n0, n1, n2, n3 and 2 more");
        for whose in [None, Some("n1".to_owned())] {
            let read = there_and_back(&claim(2), Ok(Answer::Claimed(whose.clone())));
            assert!(matches!(read, Ok(Answer::Claimed(known)) if known == whose));
        }
        let shares = Ask::Shares("mine".to_owned());
        assert_eq!(shares.to_string(), "shares mine");
        let read = there_and_back(&shares, Ok(Answer::Shares(true)));
        assert!(matches!(read, Ok(Answer::Shares(true))));
    }

    #[test]
    fn what_another_resource_was_is_known_again() {
        let ask = Ask::Neighbor(NeighborKnown::Name("policy".to_owned()));
        assert_eq!(ask.to_string(), "resource policy");
        let user = Some(("u".to_owned(), "p".to_owned()));
        for neighbor in [None, Some(Neighbor { user, is_policy: true })] {
            let read = there_and_back(&ask, Ok(Answer::Neighbor(neighbor.clone())));
            assert!(matches!(read, Ok(Answer::Neighbor(known)) if known == neighbor));
        }
    }

    #[test]
    fn who_asks_and_which_others_there_are_is_known_again() {
        let [of_type, property] = ["Example::Table", "place"];
        let ask = Ask::Neighbors { of_type, property, value: "here".to_owned() };
        assert_eq!(ask.to_string(), "resources Example::Table with place here");
        let read = there_and_back(&ask, Ok(Answer::Neighbors(vec!["n1".to_owned()])));
        assert!(matches!(read, Ok(Answer::Neighbors(ids)) if ids == ["n1"]));
        let (project, user) = ("demo".to_owned(), "alice".to_owned());
        let read = there_and_back(&Ask::Names, Ok(Answer::Names { project, user }));
        let is_same = |read| matches!(read, Ok(Answer::Names { user, .. }) if user == "alice");
        assert!(is_same(read));
    }

    #[test]
    fn of_a_definition_that_is_told_elsewhere_it_is_kept_that_there_was_one() {
        let given = Answer::ChildDefinition(Ok(json!({ "environment": { "secret": "s3cret" } })));
        let ask = Ask::ChildDefinition;
        let kept = kept([(&ask, &Ok(given))].into_iter());
        assert!(!format!("{kept:?}").contains("s3cret"), "{kept:?}");
        let read = answer(&ask, &kept[0]);
        assert!(matches!(read, Some(Ok(Answer::ChildDefinition(Ok(Value::Null))))), "{read:?}");
        let refused = Answer::ChildDefinition(Err(Failure::Failed("no".to_owned())));
        let kept = super::kept([(&ask, &Ok(refused))].into_iter());
        assert!(answer(&ask, &kept[0]).is_none());
    }

    #[test]
    fn an_error_stays_the_error_it_was() {
        let request = Request::get(Service::Network, "/v2.0/networks/1");
        let headers = [];
        let body = Bytes::from(json!({ "NeutronError": { "message": "gone" } }).to_string());
        let error = answered(&request, "/", 404, &headers, body).unwrap_err();
        let read = there_and_back(&Ask::Call(request), Err(error.clone())).unwrap_err();
        assert_eq!(read, error);
        assert!(read.is_not_found());
    }

    #[test]
    fn tokens_and_what_is_too_large_are_not_kept() {
        let ask = Ask::UserToken {
            id: "7".to_owned(),
            password: Secret::new("hidden".to_owned()),
            project_id: "p".to_owned(),
        };
        let token = Ok(Answer::Token(Secret::new("hidden".to_owned())));
        let of_token = kept([(&ask, &token)].into_iter());
        assert!(!format!("{of_token:?}").contains("hidden"));
        assert!(matches!(answer(&ask, &of_token[0]), Some(Ok(Answer::Token(_)))));
        let large = Ok(Answer::Text("x".repeat(ANSWER_MAX)));
        let of_large = kept([(&Ask::Project, &large)].into_iter());
        assert!(of_large[0].answer.is_none() && answer(&Ask::Project, &of_large[0]).is_none());
        let fitting = Ok(Answer::Text("x".repeat(ANSWER_MAX / 2)));
        let all = kept(std::iter::repeat_n((&Ask::Project, &fitting), 2 * ANSWERS_MAX));
        let whole = all.iter().filter(|kept| kept.answer.is_some()).count();
        assert_eq!((all.len(), whole), (ANSWERS_MAX, BEAT_MAX / (ANSWER_MAX / 2) - 1));
    }
}
