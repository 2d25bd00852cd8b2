//! The function `yaql` by cases: an expression with data beside its value in Heat, or the reason
//! why Heat refuses it. Where Heat's reason is Python's own and ours differs, the case has `own`.

use std::time::{Duration, Instant};

use hearth::resource_types::Registry;
use hearth::template::{PseudoParameters, StackDefinition, StackSource};
use serde_json::{Value, json};

#[test]
fn expressions_come_to_what_they_come_to_in_heat() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/template/yaql.jsonl");
    let registry = Registry::built_in().unwrap();
    let mut wrong = Vec::new();
    let mut count = 0;
    for line in std::fs::read_to_string(path).unwrap().lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let expected = match (case.get("own"), case.get("refused")) {
            (Some(reason), _) | (None, Some(reason)) => Err(reason.as_str().unwrap().to_owned()),
            (None, None) => Ok(case["value"].clone()),
        };
        let found = evaluate(&registry, &case["expression"], case.get("data"));
        if found != expected {
            wrong.push(format!("{line}\n    {found:?}"));
        }
        count += 1;
    }
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count > 900, "{count} cases");
}

#[test]
fn an_expression_without_end_is_given_up() {
    let registry = Registry::built_in().unwrap();
    let numbers = "range(200).select(range(200).select(range(200).select($).sum()).sum()).sum()";
    let nested = |open: &str, close: &str| open.repeat(5_000) + "1" + &close.repeat(5_000);
    let expressions = [
        "sequence().len()".to_owned(),
        numbers.to_owned(),
        "def(f, f()) -> f()".to_owned(),
        "def(f, [f()]) -> f()".to_owned(),
        "def(f, [1].select(f())) -> f()".to_owned(),
        "range(200).aggregate(range(200).aggregate([$1], $1), 0)".to_owned(),
        "range(150).aggregate(range(150).aggregate($1.select($), $1), [1])".to_owned(),
        "range(150).aggregate(range(150).aggregate($1 + [1].select($), $1), [])".to_owned(),
        "('a' * 9000).replace(a, 'a' * 9000)".to_owned(),
        "range(200).toDict(str($), 'aa').keys().aggregate($1.replace(a, aa), a)".to_owned(),
        "x + ".repeat(20_000) + "x",
        nested("(", ")"),
        nested("[", "]"),
        nested("-", ""),
        nested("f(", ")"),
        nested("{a => ", "}"),
        "a.f(".repeat(5_000) + &")".repeat(5_000),
        "$.a".to_owned() + &"[0]".repeat(5_000),
    ];
    for expression in expressions {
        let start = Instant::now();
        let shown: String = expression.chars().take(60).collect();
        let found = evaluate(&registry, &Value::from(expression), None);
        assert!(found.is_err(), "{shown}: {found:?}");
        // A debug build is slow: it has to end, and soon.
        assert!(start.elapsed() < Duration::from_secs(20), "{shown}: {:?}", start.elapsed());
    }
}

#[test]
fn no_expression_makes_the_evaluator_panic() {
    let registry = Registry::built_in().unwrap();
    let pieces = [
        "$",
        "$.data",
        ".",
        "?.",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        ",",
        "=>",
        "->",
        "+",
        "-",
        "*",
        "/",
        "mod",
        "not",
        "and",
        "or",
        "in",
        "=",
        "<",
        "=~",
        "1",
        "0",
        "-1",
        "1.5",
        "'a'",
        "\"é\"",
        "null",
        "true",
        "a",
        "len(",
        "select(",
        "where(",
        "first(",
        "list(",
        "dict(",
        "set(",
        "range(",
        "regex(",
        "substring(",
        "let(",
        "def(",
        "join(",
        "groupBy(",
        "orderBy(",
        "str(",
        "int(",
        "slice(",
        "toDict(",
        "aggregate(",
        "datetime(",
        "timespan(",
        " ",
    ];
    let mut chance = 0x9e37_79b9_7f4a_7c15_u64;
    let mut below = |limit: usize| {
        chance ^= chance << 13;
        chance ^= chance >> 7;
        chance ^= chance << 17;
        (chance % limit as u64) as usize
    };
    for _ in 0..3_000 {
        let mut text = String::new();
        let mut open = Vec::new();
        for _ in 0..1 + below(12) {
            let piece = pieces[below(pieces.len())];
            text.push_str(piece);
            match piece.chars().last() {
                Some('(') => open.push(')'),
                Some('[') => open.push(']'),
                Some('{') => open.push('}'),
                _ => {}
            }
            if below(3) == 0
                && let Some(close) = open.pop()
            {
                text.push(close);
            }
        }
        text.extend(open.into_iter().rev());
        let data = json!([1, "b", null, { "a": [2.5, true] }]);
        evaluate(&registry, &Value::from(text), Some(&data)).ok();
    }
}

/// What an expression is as the value of a resource's property, or the text of the refusal.
fn evaluate(
    registry: &Registry,
    expression: &Value,
    data: Option<&Value>,
) -> Result<Value, String> {
    let mut call = json!({ "expression": expression });
    if let Some(data) = data {
        call["data"] = data.clone();
    }
    let template = json!({
        "heat_template_version": "2018-08-31",
        "resources": {
            "r": { "type": "OS::Heat::Value", "properties": { "value": { "yaql": call } } },
        },
    });
    let pseudo = PseudoParameters {
        stack_name: "yaql".into(),
        stack_id: uuid::Uuid::nil().to_string(),
        project_id: "yaql".into(),
        facade: None,
    };
    let source = StackSource { template, ..StackSource::default() };
    let definition = StackDefinition::load(&source, &pseudo, registry)
        .and_then(|definition| registry.validate(&definition).map(|()| definition));
    match definition {
        Ok(definition) => {
            let shown: Value = serde_json::from_str(&definition.describe()).unwrap();
            Ok(shown["resources"]["r"]["properties"]["value"].clone())
        }
        Err(refusal) => {
            let (_, reason) = refusal.message.split_once(".value").unwrap();
            Err(reason.trim_start_matches(".yaql").trim_start_matches(": : ").to_owned())
        }
    }
}
