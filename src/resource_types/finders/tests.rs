//! Every row of the table, asked of a cloud that has one object of each kind.

use serde_json::{Map, Value, json};

use super::table::{By, Finder};
use super::{Finders, find};
use crate::clock::{Clock, SimulatedClock};
use crate::model::JsonMap;
use crate::openstack::{CloudError, Request, Response, Service, answered};
use crate::resource_types::Registry;
use crate::resource_types::asks::{Answer, Ask, Asks, Facts, Run};
use crate::resource_types::constraints::custom;
use crate::resource_types::declared::Translation;
use crate::resource_types::job::{Attempt, Beat, Subject, Work};
use crate::resource_types::schema::{Kind, Properties};

const ID: &str = "7f1c8e1e-6d0c-4d39-9d0e-0b8b1f0a5c11";
const NAME: &str = "the-name";
const OTHER: &str = "0d2a7c1f-1111-4222-8333-444455556666";

/// The id of the object of a row: where it is a URL, or the name itself, that.
fn id_of(row: &Finder) -> String {
    match row.by {
        By::Reference => format!("https://cloud{}/{ID}", row.at),
        By::Service => NAME.to_owned(),
        _ if row.id == row.name => NAME.to_owned(),
        _ => ID.to_owned(),
    }
}

/// Whether a row finds its object by a name that is not its id.
fn has_names(row: &Finder) -> bool {
    id_of(row) == ID && row.by != By::Id
}

fn rows() -> impl Iterator<Item = (String, Finder)> {
    let finders = Finders::default();
    let names: Vec<String> = finders.names().cloned().collect();
    names.into_iter().map(move |name| (name.clone(), finders.get(&name).unwrap().clone()))
}

/// What the cloud says to a request that only looks.
fn response(request: &Request) -> Result<Response, CloudError> {
    assert!(request.method.is_read(), "only looks are expected, not {request:?}");
    let (mut status, mut body) = (404, Map::new());
    for (_, row) in rows().filter(|(_, row)| Service::of_type(&row.service) == request.service) {
        let object = json!({ row.name.clone(): NAME, row.id.clone(): id_of(&row) });
        let is_asked = request.query.iter().all(|(field, value)| {
            !(*field == row.id || *field == row.name) || object[field] == **value
        });
        let list = row.search.as_ref().filter(|search| **search == request.path);
        if list.is_some() || request.path == row.at.replace("{name}", NAME) {
            let found = if is_asked { vec![object] } else { Vec::new() };
            body.insert(row.list.clone(), found.into());
            status = 200;
        } else if [ID, &id_of(&row)].iter().any(|id| request.path == format!("{}/{id}", row.at)) {
            match &row.wrap {
                Some(wrap) => drop(body.insert(wrap.clone(), object)),
                None => body.extend(object.as_object().cloned().unwrap_or_default()),
            }
            status = 200;
        }
    }
    let body = Value::Object(body).to_string();
    answered(request, "http://cloud", status, &[], body.into())
}

/// What a program comes to, and what it asked.
fn run<T>(program: impl Fn(&Asks<'_>) -> T) -> (T, Vec<Ask>) {
    let facts = Facts::at(SimulatedClock::new(1).now());
    let (mut run, mut asked) = (Run::new(facts), Vec::new());
    loop {
        match run.go_on(&program) {
            Ok(outcome) => return (outcome, asked),
            Err(ask) => {
                let answer = match ask.as_ref() {
                    Ask::Call(request) => response(request).map(Answer::Response),
                    Ask::Project => Ok(Answer::Text("project-1".to_owned())),
                    other => panic!("{other:?} is not looking something up"),
                };
                asked.push(ask.as_ref().clone());
                run.answered(ask, answer);
            }
        }
    }
}

#[test]
fn each_row_finds_one_object_by_its_id_and_by_its_name() {
    for (name, row) in rows() {
        let (found, asked) = run(|cloud| find(cloud, &name, &id_of(&row)));
        assert_eq!(found.unwrap(), id_of(&row), "{name} by id");
        assert!(row.by == By::Own || !asked.is_empty(), "{name} asks nothing");
        let (found, _) = run(|cloud| find(cloud, &name, NAME));
        match has_names(&row) {
            true => assert_eq!(found.unwrap(), ID, "{name} by name"),
            false if id_of(&row) == NAME => assert_eq!(found.unwrap(), NAME, "{name}"),
            false => assert!(found.unwrap_err().is_not_found(), "{name} has no names"),
        }
        let (found, _) = run(|cloud| find(cloud, &name, "another"));
        assert!(found.unwrap_err().is_not_found(), "{name} finds what is not there");
    }
}

#[test]
fn each_constraint_takes_what_its_row_finds_and_nothing_else() {
    let finders = Finders::default();
    let constraints = rows().filter(|(name, _)| finders.constrains(name));
    let mut count = 0;
    for (name, row) in constraints {
        count += 1;
        let check = |value: &str| {
            let value = json!(value);
            run(|cloud| custom::check(cloud, &finders, &name, &value)).0
        };
        assert_eq!(check(&id_of(&row)), Ok(()), "{name} by id");
        if has_names(&row) {
            assert_eq!(check(NAME), Ok(()), "{name} by name");
        }
        assert!(check("another").is_err(), "{name} takes what is not there");
    }
    assert_eq!(count, 55, "and three look nothing up");
}

/// A value at a path of properties, through their lists and maps.
fn placed(schema: &Properties, path: &[&str], value: &str) -> JsonMap {
    let [name, rest @ ..] = path else { return JsonMap::new() };
    let property = &schema[*name];
    let inner = match (rest, property.inner_keys()) {
        ([], _) => json!(value),
        (rest, Some(keys)) => Value::Object(placed(keys, rest, value)),
        (rest, None) => panic!("{name} has no {rest:?}"),
    };
    let inner = if property.kind == Kind::List { json!([inner]) } else { inner };
    JsonMap::from_iter([((*name).to_owned(), inner)])
}

/// Each property of each type that has a finder, with the finder's row, by the type's name.
fn resolved(registry: &Registry) -> Vec<(String, Vec<String>, Finder, JsonMap)> {
    let mut all = Vec::new();
    for declaration in registry.declarations() {
        for rule in &declaration.translation {
            let Translation::Resolve { resolve, finder } = rule else { continue };
            let path: Vec<String> = resolve.split('.').map(str::to_owned).collect();
            let mut add = |finder: &str, beside: JsonMap| {
                let row = Finders::default().get(finder).unwrap().clone();
                all.push((declaration.type_name.clone(), path.clone(), row, beside));
            };
            match finder.split_once('{') {
                None => add(finder, JsonMap::new()),
                Some((start, rest)) => {
                    let property = rest.trim_end_matches('}');
                    for kind in rows().filter_map(|(row, _)| {
                        row.strip_prefix(start)
                            .filter(|kind| !kind.contains('.'))
                            .map(str::to_owned)
                    }) {
                        let beside = [(property.to_owned(), kind.clone().into())];
                        add(&format!("{start}{kind}"), JsonMap::from_iter(beside));
                    }
                }
            }
        }
    }
    all
}

#[test]
fn an_update_that_writes_a_name_for_its_id_does_nothing_but_look() {
    let registry = Registry::built_in().unwrap();
    let all = resolved(&registry);
    let mut wrongs = Vec::new();
    for (type_name, path, row, beside) in all.iter().filter(|(_, _, row, _)| has_names(row)) {
        let declaration = registry.schema(type_name).unwrap();
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        let driver = registry.driver(type_name).unwrap();
        let of = |value: &str| {
            let mut properties = placed(&declaration.properties, &path, value);
            properties.extend(beside.clone());
            properties
        };
        let ends = |from: &str, to: &str| {
            let changed = [path[0].to_owned()].into();
            let work = Work::Update { before: of(from), changed };
            let physical_id = Some("own".to_owned());
            let subject = Subject { physical_id, properties: of(to), ..Subject::default() };
            let step = driver.first(&work, &subject);
            let beat =
                |cloud: &Asks<'_>| driver.beat(cloud, &work, &subject, &step, Attempt::First);
            matches!(run(beat).0, Ok(Beat::Done { .. }))
        };
        let place = format!("{type_name}: {} ({})", path.join("."), row.at);
        for (from, to) in [(ID, NAME), (NAME, ID)] {
            if !ends(from, to) {
                wrongs.push(format!("{place} from {from} to {to}"));
            }
        }
        if ends(ID, OTHER) {
            wrongs.push(format!("{place} from one to another is nothing"));
        }
    }
    assert_eq!(wrongs, [""; 0], "of {}", all.len());
    assert!(all.len() > 100, "{}", all.len());
}
