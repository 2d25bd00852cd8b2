//! Reading a request: its body and its query, by Heat's rules.

use std::time::Duration;

use actix_web::http::Method;
use actix_web::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use actix_web::{FromRequest, HttpRequest, dev, web};
use futures::StreamExt;
use futures::future::{Either, LocalBoxFuture, Ready, ready};
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use super::ApiState;
use super::context::{self, Context};
use super::error::Fault;
use super::front::{BODY_RATE_MIN, FrontSettings};
use super::query::{AT, Declared, Kind, Param, SORT_DIR};
use crate::model::sizes::{TAG, TAGS};
use crate::model::{JsonMap, ProjectId};

/// How much more than allowed of a body is read and thrown away, so that the client reads the
/// refusal instead of a broken connection.
const OVERLONG_READ_FACTOR: usize = 16;

/// How long any body may take.
const BODY_TIME_MAX: Duration = Duration::from_secs(300);

/// How deep collections nest in what a body holds. Events wrap it, and JSON is read back 128 deep.
pub(super) const BODY_DEPTH_MAX: usize = 110;

/// How many bytes of the largest body there may be for each value in it: a value costs far more than
/// it is long, and whatever goes through a body holds up others.
const BYTES_PER_VALUE: usize = 10;

/// What is longer is read where templates are.
const READ_AT_ONCE_MAX_BYTES: usize = 64 * 1024;

/// Counts the values in a value off `left`, collections no deeper in each other than so many.
fn counted(value: &Value, depth: usize, left: &mut usize) -> Result<(), Fault> {
    count(left)?;
    let inside = || deeper(depth);
    match value {
        Value::Array(items) => {
            let depth = inside()?;
            items.iter().try_for_each(|item| counted(item, depth, left))
        }
        Value::Object(map) => {
            let depth = inside()?;
            map.values().try_for_each(|item| counted(item, depth, left))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}

/// Counts one value off `left`.
pub(super) fn count(left: &mut usize) -> Result<(), Fault> {
    *left = left.checked_sub(1).ok_or_else(|| exceeded("The body has too many values"))?;
    Ok(())
}

/// How much deeper collections may nest in one.
pub(super) fn deeper(depth: usize) -> Result<usize, Fault> {
    let text = format!("Recursion depth exceeds {BODY_DEPTH_MAX}");
    depth.checked_sub(1).ok_or_else(|| exceeded(&text))
}

fn exceeded(what: &str) -> Fault {
    Fault::new("RequestLimitExceeded", format!("Request limit exceeded: {what}."))
}

/// Reads what starts with `{`: an object with so many values.
pub(super) fn read_object(content: &[u8], mut values: usize) -> Result<JsonMap, Fault> {
    let map: JsonMap =
        serde_json::from_slice(content).map_err(|error| Fault::bad_request(error.to_string()))?;
    map.values().try_for_each(|value| counted(value, BODY_DEPTH_MAX, &mut values))?;
    Ok(map)
}

/// The JSON object in the body of a request, if there is one. As in Heat, what does not start with
/// `{` or is declared to be something else counts as none.
pub(super) struct Body(pub(super) Option<JsonMap>);

impl Body {
    /// The object, where one is needed.
    pub(super) fn required(self) -> Result<JsonMap, Fault> {
        self.0.ok_or_else(Fault::malformed)
    }

    /// Nothing, where none is taken.
    pub(super) fn refused(self) -> Result<(), Fault> {
        match self.0 {
            Some(_) => Err(Fault::malformed()),
            None => Ok(()),
        }
    }
}

impl FromRequest for Context {
    type Error = Fault;
    type Future = Either<Ready<Result<Self, Fault>>, LocalBoxFuture<'static, Result<Self, Fault>>>;

    fn from_request(request: &HttpRequest, payload: &mut dev::Payload) -> Self::Future {
        let context = state(request).and_then(|state| context::of(request, state));
        let takes_none = matches!(*request.method(), Method::GET | Method::DELETE);
        if context.is_err() || !takes_none || !announces_body(request) {
            return Either::Left(ready(context));
        }
        let body = Body::from_request(request, payload);
        Either::Right(Box::pin(async move {
            let has_surplus = body.await?.0.is_some();
            Ok(context?.with_surplus(has_surplus))
        }))
    }
}

/// Whether a body comes whose length is told; Heat sees no other with GET or DELETE.
fn announces_body(request: &HttpRequest) -> bool {
    let length = request.headers().get(CONTENT_LENGTH).and_then(|length| length.to_str().ok());
    length.and_then(|length| length.trim().parse().ok()).is_some_and(|length: u64| length > 0)
}

impl FromRequest for Body {
    type Error = Fault;
    type Future = LocalBoxFuture<'static, Result<Self, Fault>>;

    fn from_request(request: &HttpRequest, payload: &mut dev::Payload) -> Self::Future {
        let request = request.clone();
        let payload = payload.take();
        Box::pin(async move {
            let settings = &state(&request)?.settings;
            let front = &settings.front;
            let content = read(payload, settings.json_body_size_max, front).await?;
            if !is_json(&request) || !content.starts_with(b"{") {
                return Ok(Body(None));
            }
            let project = async || {
                let context = context::of(&request, state(&request)?)?;
                Ok(context.caller.project_id.clone())
            };
            let map = object(state(&request)?, content, read_object, project).await?;
            Ok(Body(Some(map)))
        })
    }
}

/// Reads the object that a body is, with as many values as there may be in one.
pub(super) async fn object(
    state: &ApiState,
    content: Vec<u8>,
    read: fn(&[u8], usize) -> Result<JsonMap, Fault>,
    project: impl AsyncFnOnce() -> Result<ProjectId, Fault>,
) -> Result<JsonMap, Fault> {
    let values = state.settings.json_body_size_max / BYTES_PER_VALUE;
    if content.len() <= READ_AT_ONCE_MAX_BYTES {
        return read(&content, values);
    }
    let read = move || read(&content, values);
    state.engine.work(&project().await?, read).await?
}

/// What all handlers share.
pub(super) fn state(request: &HttpRequest) -> Result<&web::Data<ApiState>, Fault> {
    request.app_data().ok_or_else(|| Fault::new("Error", "An internal error occurred."))
}

/// The whole of a body.
pub(super) async fn read(
    mut payload: dev::Payload,
    limit: usize,
    front: &FrontSettings,
) -> Result<Vec<u8>, Fault> {
    let (mut content, mut length) = (Vec::new(), 0);
    let began = Instant::now();
    loop {
        let deadline = began + time_for(length, front.patience.body);
        let Ok(chunk) = timeout_at(deadline, payload.next()).await else {
            return Err(Fault::new(
                "HTTPRequestTimeout",
                "The body of the request did not come in time.",
            ));
        };
        let Some(chunk) = chunk else { break };
        let chunk = chunk.map_err(|error| Fault::bad_request(error.to_string()))?;
        length += chunk.len();
        if let Some(max) = front.body_size_max.filter(|max| length > *max) {
            return Err(Fault::new(
                "HTTPRequestEntityTooLarge",
                format!("Request is too large. Larger than max_request_body_size ({max})."),
            ));
        }
        if length <= limit {
            content.extend_from_slice(&chunk);
        } else if length > limit.saturating_mul(OVERLONG_READ_FACTOR) {
            break;
        }
    }
    if length > limit {
        return Err(Fault::new(
            "RequestLimitExceeded",
            format!(
                "Request limit exceeded: JSON body size ({length} bytes) exceeds maximum allowed \
                 size ({limit} bytes)."
            ),
        ));
    }
    Ok(content)
}

/// How long a body may take of which so much has come.
fn time_for(length: usize, grace: Duration) -> Duration {
    let at_least = u32::try_from(length).unwrap_or(u32::MAX) / BODY_RATE_MIN;
    (grace + Duration::from_secs(at_least.into())).min(BODY_TIME_MAX.max(grace))
}

fn is_json(request: &HttpRequest) -> bool {
    let declared = request.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let declared = declared.and_then(|value| value.split(';').next()).unwrap_or("").trim();
    matches!(declared.to_ascii_lowercase().as_str(), "" | "text/plain" | "application/json")
}

/// The parameters of a query, in the order given. What the route does not declare is known by its
/// name alone.
pub(super) struct Params(Vec<Given>);

struct Given {
    name: String,
    value: String,
    /// `None`: the route does not read it.
    kind: Option<Kind>,
}

impl Params {
    /// Reads the query of a request.
    pub(super) fn of(request: &HttpRequest) -> Self {
        let pairs = url::form_urlencoded::parse(request.query_string().as_bytes()).into_owned();
        let declared = Declared::of(request);
        Self::declared(pairs, || declared.iter().chain([&AT]))
    }

    /// Whether a request is asked of another moment.
    pub(super) fn names_moment(request: &HttpRequest) -> bool {
        url::form_urlencoded::parse(request.query_string().as_bytes())
            .find(|(name, _)| name == AT.name)
            .is_some_and(|(_, value)| !value.is_empty())
    }

    fn declared<'a, I: Iterator<Item = &'a Param>>(
        pairs: impl IntoIterator<Item = (String, String)>,
        declared: impl Fn() -> I,
    ) -> Self {
        let given = pairs.into_iter().map(|(name, value)| {
            let param = declared().find(|param| param.name == name);
            Given { name, value, kind: param.map(|param| param.kind) }
        });
        Self(given.collect())
    }

    /// Takes the members of an object for parameters: texts, truth values, and lists of them.
    pub(super) fn of_object(object: &JsonMap, declared: &[Param]) -> Result<Self, Fault> {
        let text = |name: &str, value: &Value| match value {
            Value::String(text) => Ok((name.to_owned(), text.clone())),
            Value::Bool(is_true) => Ok((name.to_owned(), is_true.to_string())),
            _ => Err(Fault::bad_request(format!("\"{name}\" has a value that is no text."))),
        };
        let mut pairs = Vec::new();
        for (name, value) in object {
            match value {
                Value::Array(items) => {
                    for item in items {
                        pairs.push(text(name, item)?);
                    }
                }
                value => pairs.push(text(name, value)?),
            }
        }
        Ok(Self::declared(pairs, || declared.iter()))
    }

    /// The names of those that are not read.
    pub(super) fn unknown(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter(|given| given.kind.is_none()).map(|given| given.name.as_str())
    }

    /// All of them.
    pub(super) fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|given| (given.name.as_str(), given.value.as_str()))
    }

    /// The values of a parameter that is declared to be of a kind.
    fn values(&self, name: &str, is_kind: fn(Kind) -> bool) -> impl Iterator<Item = &str> {
        let of_name = self.0.iter().filter(move |given| given.name == name);
        of_name.filter(move |it| it.kind.is_some_and(is_kind)).map(|given| given.value.as_str())
    }

    /// The first value; an empty one counts as not given.
    fn first(&self, name: &str, is_kind: fn(Kind) -> bool) -> Option<&str> {
        self.values(name, is_kind).next().filter(|value| !value.is_empty())
    }

    /// The value of a parameter; an empty one counts as not given.
    pub(super) fn one(&self, name: &str) -> Option<&str> {
        self.first(name, |kind| matches!(kind, Kind::Text | Kind::Choice(_)))
    }

    /// All values of a parameter that may be repeated.
    pub(super) fn all(&self, name: &str) -> Vec<String> {
        let values = self.values(name, |kind| kind == Kind::Texts);
        values.filter(|value| !value.is_empty()).map(str::to_owned).collect()
    }

    /// `true` or `false`, in any case.
    pub(super) fn boolean(&self, name: &str) -> Result<Option<bool>, Fault> {
        let given = self.first(name, |kind| kind == Kind::Boolean);
        given.map(|value| boolean(name, value)).transpose()
    }

    /// A whole number from 0 on.
    pub(super) fn number(&self, name: &str) -> Result<Option<u64>, Fault> {
        let given = self.first(name, |kind| kind == Kind::Number);
        given.map(|value| number(name, value)).transpose()
    }

    /// A list with commas between its items.
    pub(super) fn tags(&self, name: &str) -> Result<Vec<String>, Fault> {
        self.one(name).map_or(Ok(Vec::new()), tags)
    }

    /// `asc` or `desc`.
    pub(super) fn descending(&self) -> Result<Option<bool>, Fault> {
        match self.one(SORT_DIR.name) {
            None => Ok(None),
            Some("asc") => Ok(Some(false)),
            Some("desc") => Ok(Some(true)),
            Some(other) => Err(Fault::new(
                "ValueError",
                format!("Unknown sort direction, must be one of: asc, desc; not {other}"),
            )),
        }
    }
}

/// Reads `true` or `false`, in any case and no other way.
pub(super) fn boolean(name: &str, value: &str) -> Result<bool, Fault> {
    match value.to_ascii_lowercase().as_str() {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(Fault::bad_request(format!(
            "Unrecognized value \"{value}\" for \"{name}\", acceptable values are: true, false."
        ))),
    }
}

/// Reads a whole number from 0 on.
pub(super) fn number(name: &str, value: &str) -> Result<u64, Fault> {
    if let Ok(number) = value.parse() {
        return Ok(number);
    }
    let digits = value.strip_prefix('-').unwrap_or(value);
    let is_whole = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    Err(Fault::bad_request(if is_whole {
        format!("Value '{value}' is invalid for '{name}' which only accepts non-negative integer.")
    } else {
        format!("Only integer is acceptable by '{name}'.")
    }))
}

/// Reads tags: text with commas between them. An empty text is one empty tag.
pub(super) fn tags(text: &str) -> Result<Vec<String>, Fault> {
    let tags: Vec<String> = text.split(',').map(str::to_owned).collect();
    if tags.len() > TAGS.max {
        let text = format!("Invalid tags, there are {} and may be {}", tags.len(), TAGS.max);
        return Err(Fault::bad_request(text));
    }
    match tags.iter().find(|tag| tag.chars().count() > TAG.max) {
        None => Ok(tags),
        Some(tag) => Err(Fault::bad_request(format!(
            "Invalid tag, \"{tag}\" is longer than {} characters",
            TAG.max
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::query;

    fn refusal(body: &str, values: usize) -> Option<String> {
        read_object(body.as_bytes(), values).err().map(|fault| fault.to_string())
    }

    #[test]
    fn a_body_has_no_more_values_than_it_may() {
        // Two lists, and a number in each.
        let body = r#"{"a": [0], "b": [0]}"#;
        assert_eq!(refusal(body, 4), None);
        let text = "RequestLimitExceeded: Request limit exceeded: The body has too many values.";
        assert_eq!(refusal(body, 3).as_deref(), Some(text));
    }

    #[test]
    fn a_parameter_is_read_where_it_is_declared_and_as_it_is() {
        let given = [("a", "1"), ("b", "2"), ("c", "3"), ("b", "4")];
        let given = given.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let declared = [query::number("a"), query::texts("b")];
        let params = Params::declared(given, || declared.iter());
        assert_eq!(params.number("a"), Ok(Some(1)));
        assert_eq!((params.one("a"), params.one("b"), params.one("c")), (None, None, None));
        assert_eq!(params.all("b"), ["2", "4"]);
        assert_eq!(params.unknown().collect::<Vec<_>>(), ["c"]);
    }

    #[test]
    fn collections_nest_so_deep_in_a_body_and_no_deeper() {
        let body = |depth: usize| format!("{{\"a\": {}{}}}", "[".repeat(depth), "]".repeat(depth));
        assert_eq!(refusal(&body(BODY_DEPTH_MAX), 1_000), None);
        let text = "RequestLimitExceeded: Request limit exceeded: Recursion depth exceeds 110.";
        assert_eq!(refusal(&body(BODY_DEPTH_MAX + 1), 1_000).as_deref(), Some(text));
    }
}
