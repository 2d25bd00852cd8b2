//! The headers by which a change is made only where things are as its client saw them.
//!
//! `If-Match` names the state of the stack, by the `ETag` that its show has; `Hearth-Plan` names a
//! plan. What they say is compared where the change is decided. `Idempotency-Key` has a change made
//! once.

use actix_web::HttpRequest;
use actix_web::http::Method;
use actix_web::http::header::IF_MATCH;

use super::error::Fault;
use crate::actors::Conditions;
use crate::events::Position;
use crate::projections::StackRow;

/// The header that names a plan.
pub(super) const PLAN: &str = "Hearth-Plan";

/// The header that has the key by which a request is known when it comes again.
const KEY: &str = "idempotency-key";

/// How long a key is at most.
const KEY_BYTES_MAX: usize = 255;

/// The tags that `If-Match` has at most.
const TAGS_MAX: usize = 32;

/// The state of a stack as a tag: its revision, and where its stream ends in the log.
pub(super) fn tag(stack: &StackRow) -> String {
    format!("\"{}-{}\"", stack.revision, stack.position)
}

/// What a request says must hold.
pub(super) fn read(request: &HttpRequest) -> Result<Conditions, Fault> {
    if matches!(*request.method(), Method::GET | Method::HEAD) {
        return Ok(Conditions::default());
    }
    let plan = match request.headers().get(PLAN) {
        None => None,
        Some(id) => {
            let id = id.to_str().ok().and_then(|id| id.trim().parse().ok());
            Some(id.ok_or_else(|| Fault::bad_request("The Hearth-Plan header is no plan's id."))?)
        }
    };
    let mut at = None;
    for header in request.headers().get_all(IF_MATCH) {
        let wrong = || Fault::bad_request("The If-Match header is no list of entity tags.");
        let text = header.to_str().map_err(|_| wrong())?.trim();
        if text == "*" {
            continue;
        }
        let named: &mut Vec<Position> = at.get_or_insert_default();
        for tag in text.split(',') {
            named.extend(position(tag.trim()).map_err(|NoTag| wrong())?);
        }
        if named.len() > TAGS_MAX {
            let text = format!("There may be {TAGS_MAX} tags in If-Match.");
            return Err(Fault::bad_request(text));
        }
    }
    Ok(Conditions { at, plan, once: None })
}

/// The headers that a route of version 1 reads: which state of the stack, which plan, and whether the
/// change is made once.
pub(super) fn headers(verb: &str, path: &str) -> Vec<&'static str> {
    let stack = "/{project}/stacks/{name}/{id}";
    match (verb, path.trim_start_matches(stack)) {
        ("POST", "/{project}/stacks") => vec![PLAN, "Idempotency-Key"],
        ("PUT" | "PATCH", "") | ("POST", "/actions") => vec!["If-Match", PLAN, "Idempotency-Key"],
        ("DELETE", "") => vec!["If-Match", PLAN],
        ("POST" | "DELETE", rest) if rest.starts_with("/snapshots") => vec!["If-Match"],
        ("DELETE", "/abandon")
        | ("PATCH", "/resources/{resource}")
        | ("POST", "/resources/{resource}/signal") => vec!["If-Match"],
        _ => Vec::new(),
    }
}

/// The refusal of what names a plan and is held to none.
pub(super) fn no_plan() -> Fault {
    Fault::bad_request(format!("This is not held to a plan: it takes no {PLAN} header."))
}

/// The key of a request that is carried out once.
pub(super) fn key(request: &HttpRequest) -> Result<Option<String>, Fault> {
    let Some(header) = request.headers().get(KEY) else { return Ok(None) };
    let is_key = |text: &&str| {
        (1..=KEY_BYTES_MAX).contains(&text.len()) && text.bytes().all(|it| it.is_ascii_graphic())
    };
    let key = header.to_str().ok().map(str::trim).filter(is_key);
    let key = key.ok_or_else(|| {
        Fault::bad_request(format!(
            "An Idempotency-Key has up to {KEY_BYTES_MAX} visible characters of ASCII."
        ))
    })?;
    Ok(Some(key.to_owned()))
}

/// A text that is no entity tag.
struct NoTag;

/// The position that a tag names; none where it is a tag of somebody else's, or a weak one, which
/// no state has.
fn position(tag: &str) -> Result<Option<Position>, NoTag> {
    let (opaque, is_strong) = match tag.strip_prefix("W/") {
        Some(opaque) => (opaque, false),
        None => (tag, true),
    };
    let opaque = opaque.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).ok_or(NoTag)?;
    if opaque.contains('"') {
        return Err(NoTag);
    }
    let named = opaque.split_once('-').filter(|(revision, position)| {
        let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        is_number(revision) && is_number(position)
    });
    let position = named.and_then(|(_, position)| position.parse().ok());
    Ok(position.filter(|_| is_strong).map(Position))
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;

    use super::*;

    fn at(headers: &[&str]) -> Result<Option<Vec<u64>>, Fault> {
        let request = headers
            .iter()
            .fold(TestRequest::put(), |request, text| request.append_header((IF_MATCH, *text)));
        let read = read(&request.to_http_request())?;
        Ok(read.at.map(|at| at.iter().map(|position| position.0).collect()))
    }

    #[test]
    fn tags_name_positions_and_a_star_names_none() {
        assert_eq!(at(&[]).unwrap(), None);
        assert_eq!(at(&["*"]).unwrap(), None);
        assert_eq!(at(&["\"1-42\""]).unwrap(), Some(vec![42]));
        assert_eq!(at(&["\"1-42\" , \"2-50\"", "\"3-51\""]).unwrap(), Some(vec![42, 50, 51]));
    }

    #[test]
    fn a_tag_that_no_state_has_fits_none() {
        for other in ["W/\"1-42\"", "\"abc\"", "\"\"", "\"1--42\"", "\"1-99999999999999999999\""] {
            assert_eq!(at(&[other]).unwrap(), Some(Vec::new()), "{other}");
        }
    }

    #[test]
    fn what_is_no_tag_is_refused_and_so_are_too_many() {
        for wrong in ["1-42", "\"1-42", "", ",", "\"1-42\",", "\"a\"b\""] {
            assert_eq!(at(&[wrong]).unwrap_err().status(), 400, "{wrong}");
        }
        let many = vec!["\"1-42\""; TAGS_MAX + 1].join(",");
        assert_eq!(at(&[&many]).unwrap_err().status(), 400);
    }

    #[test]
    fn a_key_is_short_and_can_be_seen() {
        let key_of =
            |text: &str| key(&TestRequest::post().insert_header((KEY, text)).to_http_request());
        assert_eq!(key_of("8e03-\"x\"").unwrap().as_deref(), Some("8e03-\"x\""));
        assert!(key_of(&"k".repeat(KEY_BYTES_MAX)).is_ok());
        let long = "k".repeat(KEY_BYTES_MAX + 1);
        for wrong in ["", " ", "a b", "a\tb", &long] {
            assert_eq!(key_of(wrong).unwrap_err().status(), 400, "{wrong}");
        }
    }

    #[test]
    fn a_plan_is_named_by_its_id_alone() {
        let request = TestRequest::put().insert_header((PLAN, "everything")).to_http_request();
        assert_eq!(read(&request).unwrap_err().status(), 400);
    }
}
