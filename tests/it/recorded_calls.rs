//! What Hearth asks of the services in lives that were recorded of the real Heat
//! (`tests/data/recorded`): the same requests, but for the differences that stand in a file, each
//! with its reason.
//!
//! `UPDATE_GOLDEN=1` writes the file anew; what had no reason gets `?`, with which the test fails.
//! `CASE=OS::Neutron::Net` plays one type.

use std::collections::{BTreeMap, BTreeSet};

use hearth::resource_types::Registry;
use hearth::resource_types::recorded::{
    Outcome, RecordedRequest, RecordedType, Recording, Trouble, TroubleKind,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::support::case;

/// The differences of each type, with the names of their reasons.
#[derive(Debug, Default, Deserialize, Serialize)]
struct Differences {
    reasons: BTreeMap<String, String>,
    types: BTreeMap<String, BTreeMap<String, String>>,
}

/// What was recorded. `OS::Heat::HARestarter` was not: in Heat it has a user who signals, as
/// `OS::Heat::ScalingPolicy` has, and no calls of its own, so it is held to the same life.
fn recording() -> Recording {
    let mut recording: Value =
        serde_json::from_str(include_str!("../data/recorded/calls.json")).unwrap();
    let types = &mut recording["types"];
    let mut restarter = types["OS::Heat::ScalingPolicy"].clone();
    restarter["given"] = json!({ "InstanceId": "server" });
    restarter["updated"] = json!({ "InstanceId": "other" });
    assert!(types["OS::Heat::HARestarter"].is_null(), "it is recorded");
    types["OS::Heat::HARestarter"] = restarter;
    Recording::read(&recording.to_string()).unwrap()
}

/// The types that `CASE` asks for.
fn chosen(recording: &Recording) -> Vec<(&String, &RecordedType)> {
    case::chosen(recording.types().collect(), |(name, _)| vec![name])
}

#[test]
fn what_heat_was_seen_to_ask_is_asked() {
    let recording = recording();
    let listed: Differences =
        serde_yaml::from_str(include_str!("../data/recorded/differences.yaml")).unwrap();
    let registry = Registry::built_in().unwrap();
    let chosen = chosen(&recording);
    let mut found = Differences { reasons: listed.reasons.clone(), ..Differences::default() };
    for (name, recorded) in recording.types() {
        if !chosen.iter().any(|(chosen, _)| *chosen == name) {
            // What is not played stays as it is listed.
            found.types.extend(listed.types.get(name).map(|lines| (name.clone(), lines.clone())));
            continue;
        }
        let played = recording.play(&registry, name).expect("the type can be made");
        let known = listed.types.get(name);
        let reason = |line: &String| known.and_then(|it| it.get(line)).map_or("?", String::as_str);
        let differences = differences(recorded, &played);
        let differences: BTreeMap<String, String> =
            differences.into_iter().map(|line| (line.clone(), reason(&line).to_owned())).collect();
        if !differences.is_empty() {
            found.types.insert(name.clone(), differences);
        }
    }
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/recorded/differences.yaml");
        std::fs::write(path, serde_yaml::to_string(&found).unwrap()).unwrap();
    }
    let lines = |of: &Differences| -> BTreeSet<String> {
        let lines = of.types.iter().flat_map(|(name, lines)| {
            lines.iter().map(move |(line, reason)| format!("{name}: {line} ({reason})"))
        });
        lines.collect()
    };
    let (found_lines, listed_lines) = (lines(&found), lines(&listed));
    let unlisted: Vec<_> = found_lines.difference(&listed_lines).collect();
    let stale: Vec<_> = listed_lines.difference(&found_lines).collect();
    assert!(unlisted.is_empty() && stale.is_empty(), "unlisted {unlisted:#?}\nstale {stale:#?}");
    let used: BTreeSet<&String> = found.types.values().flat_map(BTreeMap::values).collect();
    let reasons: BTreeSet<&String> = found.reasons.keys().collect();
    assert_eq!(used, reasons, "each difference has a reason, and each reason a difference");
}

/// Lives with other values, one for each thing that was once asked otherwise; what reads alone may be
/// asked in other ways. The differences of a type are listed; a mark is where nothing is said.
#[test]
fn what_was_once_asked_otherwise_is_asked_as_heat_does() {
    let others: Value = serde_json::from_str(include_str!("../data/recorded/others.json")).unwrap();
    let listed: Differences =
        serde_yaml::from_str(include_str!("../data/recorded/differences.yaml")).unwrap();
    let registry = Registry::built_in().unwrap();
    let mut wrongs = Vec::new();
    for (what, one) in others["lives"].as_object().unwrap() {
        let name = one["type"].as_str().unwrap();
        let recording = json!({
            "placeholders": others["placeholders"], "types": { name: one["life"] } });
        let recording = Recording::read(&recording.to_string()).unwrap();
        let (_, recorded) = recording.types().next().unwrap();
        let played = recording.play(&registry, name).expect("the type can be made");
        let known = listed.types.get(name);
        let is_told = |line: &String| {
            known.is_some_and(|known| known.contains_key(line))
                || line.contains("lone: GET ")
                || (line.starts_with("create: POST") && line.ends_with(".description"))
                // Heat's client says `ssh`, which is what Nova takes an unset one for.
                || line.ends_with("body.keypair.type")
        };
        let lines = differences(recorded, &played).into_iter().filter(|line| !is_told(line));
        wrongs.extend(lines.map(|line| format!("{what}: {line}")));
    }
    assert!(wrongs.is_empty(), "{wrongs:#?}");
}

/// The recorded service is looked at as often as Heat looks: with one look more it is through its
/// resize, and nothing is left to be confirmed. `OS::Nova::Server` is held to the same program.
const TOO_FEW_LOOKS: (&str, &str) = ("AWS::EC2::Instance", "/action");

/// A lost request, a lost answer or a kill changes nothing of what comes of a life: nothing is made
/// twice, nothing is left behind, and each thing ends as it would have. What is refused is an error
/// and leaves nothing behind either.
#[test]
fn nothing_that_is_lost_changes_what_comes_of_a_life() {
    let recording = recording();
    let registry = Registry::built_in().unwrap();
    let mut wrongs = Vec::new();
    // A child stack is the engine's work.
    let nests = |name: &str| registry.driver(name).is_some_and(|driver| driver.nests().is_some());
    for (name, _) in chosen(&recording).into_iter().filter(|(name, _)| !nests(name)) {
        let play = |trouble| recording.play_through(&registry, name, trouble).unwrap();
        let (calm, expected) = play(None);
        for what in [
            TroubleKind::RequestLost,
            TroubleKind::AnswerLost,
            TroubleKind::Refused,
            TroubleKind::LookRefused,
            TroubleKind::Killed,
        ] {
            let count = match what {
                TroubleKind::RequestLost | TroubleKind::AnswerLost | TroubleKind::Refused => {
                    expected.changes
                }
                TroubleKind::LookRefused => expected.looks,
                TroubleKind::Killed => expected.beats,
            };
            let is_refused = matches!(what, TroubleKind::Refused | TroubleKind::LookRefused);
            for at in 0..count {
                let (life, outcome) = play(Some(Trouble { what, at }));
                let place = format!("{name}: {what:?} at {at}");
                let is_left = |path: &&String| !expected.left.contains(path);
                if outcome.left.iter().any(|path| is_left(&path)) {
                    wrongs.push(format!("{place} leaves {:?}", outcome.left));
                }
                if !is_refused && life.ends != calm.ends {
                    wrongs.push(format!("{place} ends with {:?}", life.ends));
                }
                let mut unlike = unlike_each(&outcome, &expected);
                unlike.retain(|(what, _)| {
                    name != TOO_FEW_LOOKS.0 || !what.ends_with(TOO_FEW_LOOKS.1)
                });
                if !is_refused && !unlike.is_empty() {
                    wrongs.push(format!("{place} comes to {unlike:?}"));
                }
            }
        }
    }
    assert!(wrongs.is_empty(), "{} {wrongs:#?}", wrongs.len());
}

/// What a life comes to, without the secrets that are made up each time.
fn named(outcome: &Outcome) -> BTreeMap<&String, Option<Value>> {
    let plain = |body: &Option<Value>| {
        let mut body = body.clone();
        for (kind, secret) in [("user", "password"), ("credential", "blob")] {
            let named = body.as_mut().and_then(|body| body.get_mut(kind)?.as_object_mut());
            named.map(|named| named.shift_remove(secret));
        }
        body
    };
    outcome.effects.iter().map(|(what, body)| (what, plain(body))).collect()
}

/// Where what two lives come to differs.
fn unlike_each<'a>(one: &'a Outcome, other: &'a Outcome) -> Vec<(&'a String, Option<Value>)> {
    let (one, mut other) = (named(one), named(other));
    let mut unlike = Vec::new();
    for (what, body) in one {
        if other.remove(what).as_ref() != Some(&body) {
            unlike.push((what, body));
        }
    }
    unlike.extend(other);
    unlike
}

/// What is to be said of a life, in lines.
fn differences(recorded: &RecordedType, played: &RecordedType) -> BTreeSet<String> {
    let mut lines = BTreeSet::new();
    let operations: BTreeSet<&String> =
        recorded.requests.keys().chain(played.requests.keys()).chain(played.ends.keys()).collect();
    for operation in operations {
        let of = |life: &'_ RecordedType| -> Vec<RecordedRequest> {
            life.requests.get(operation).cloned().unwrap_or_default()
        };
        for line in compared(&of(recorded), of(played)) {
            lines.insert(format!("{operation}: {line}"));
        }
        if let Some(end) = played.ends.get(operation) {
            lines.insert(format!("{operation}: ends with {end}"));
        }
    }
    lines
}

fn compared(heats: &[RecordedRequest], hearths: Vec<RecordedRequest>) -> Vec<String> {
    let mut lines = Vec::new();
    let mut left: Vec<Option<RecordedRequest>> = hearths.into_iter().map(Some).collect();
    let (mut unmatched, mut changes) = (Vec::new(), Vec::new());
    for heat in heats {
        let same = |one: &&mut Option<RecordedRequest>| {
            one.as_ref().is_some_and(|hearth| {
                shown(hearth) == shown(heat) && unlike(&heat.body, &hearth.body).is_empty()
            })
        };
        match left.iter_mut().enumerate().find(|(_, one)| same(one)) {
            Some((index, one)) => {
                *one = None;
                if heat.method != "GET" {
                    changes.push(index);
                }
            }
            None => unmatched.push(heat),
        }
    }
    if !changes.is_sorted() {
        lines.push("other order of changes".to_owned());
    }
    for heat in unmatched {
        let alike = left.iter_mut().find(|one| {
            one.as_ref().is_some_and(|it| shown(it) == shown(heat) && it.body.is_some())
        });
        let Some(hearth) = alike.and_then(Option::take) else {
            lines.push(format!("Heat alone: {}", shown(heat)));
            continue;
        };
        for place in unlike(&heat.body, &hearth.body) {
            lines.push(format!("{}: {place}", shown(heat)));
        }
    }
    lines.extend(left.iter().flatten().map(|it| format!("Hearth alone: {}", shown(it))));
    lines
}

fn shown(request: &RecordedRequest) -> String {
    let query: Vec<String> =
        request.query.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let mark = if query.is_empty() { "" } else { "?" };
    let RecordedRequest { service, method, path, .. } = request;
    format!("{method} {service} {path}{mark}{}", query.join("&"))
}

/// Where two bodies differ.
fn unlike(heat: &Option<Value>, hearth: &Option<Value>) -> Vec<String> {
    let mut places = Vec::new();
    walk(heat.as_ref(), hearth.as_ref(), "body", &mut places);
    places
}

fn walk(heat: Option<&Value>, hearth: Option<&Value>, place: &str, places: &mut Vec<String>) {
    match (heat, hearth) {
        (Some(Value::Object(heat)), Some(Value::Object(hearth))) => {
            let names: BTreeSet<&String> = heat.keys().chain(hearth.keys()).collect();
            for name in names {
                walk(heat.get(name), hearth.get(name), &format!("{place}.{name}"), places);
            }
        }
        (Some(Value::Array(heat)), Some(Value::Array(hearth))) if heat.len() == hearth.len() => {
            for (index, (heat, hearth)) in heat.iter().zip(hearth).enumerate() {
                walk(Some(heat), Some(hearth), &format!("{place}[{index}]"), places);
            }
        }
        // What is random there is not compared.
        (Some(Value::String(heat)), Some(Value::String(_))) if heat.contains("{any}") => {}
        _ if heat == hearth => {}
        _ => places.push(place.to_owned()),
    }
}
