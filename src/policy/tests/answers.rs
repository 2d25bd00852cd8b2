//! Generated rules × callers: what oslo.policy says, we say.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::super::files::PolicyFile;
use super::super::rule::Check;
use super::*;
use crate::model::JsonMap;

#[derive(Deserialize)]
struct Answers {
    named: JsonMap,
    callers: BTreeMap<String, Value>,
    rules: Vec<Case>,
    lists: Vec<Case>,
    broken: Vec<String>,
}

#[derive(Deserialize)]
struct Case {
    rule: Value,
    allows: Vec<String>,
}

#[derive(Deserialize)]
struct Defaults {
    rules: BTreeMap<String, BTreeMap<String, Vec<String>>>,
}

fn answers() -> Answers {
    serde_json::from_str(include_str!("../../../tests/data/policy/rules.json")).unwrap()
}

fn caller_of(credentials: &Value) -> Caller {
    let text = |name: &str| credentials[name].as_str().map(str::to_owned);
    Caller {
        user_id: text("user_id").unwrap(),
        user_name: String::new(),
        project_id: text("project_id").unwrap_or_default().as_str().into(),
        project_name: String::new(),
        roles: serde_json::from_value(credentials["roles"].clone()).unwrap(),
        scope: Scope {
            domain_id: text("domain_id"),
            is_system: credentials["system_scope"] == "all",
            is_admin_project: credentials["is_admin_project"].as_bool(),
            user_domain_id: text("user_domain_id"),
            project_domain_id: text("project_domain_id"),
        },
        admin: credentials["is_admin"] == true,
    }
}

#[test]
fn rules_at_random_let_those_pass_whom_oslo_policy_lets_pass() {
    let answers = answers();
    let heard = Heard::new();
    let mut asked = 0;
    for case in answers.rules.iter().chain(&answers.lists) {
        let mut rules = answers.named.clone();
        rules.insert("x".into(), case.rule.clone());
        let file = PolicyFile { path: "x".into(), rules };
        let rules = Rules::new(&[file], Strictness::default()).unwrap();
        for (name, credentials) in &answers.callers {
            let caller = caller_of(credentials);
            let question = Question::new(&rules, &caller, Some("p1"), &heard);
            let expected = case.allows.contains(name);
            assert_eq!(question.rule_holds("x"), Ok(expected), "{} for {name}", case.rule);
            asked += 1;
        }
    }
    assert!(asked > 2_000, "only {asked} questions");
}

#[test]
fn what_oslo_policy_cannot_read_is_refused() {
    for text in answers().broken {
        Check::parse(&text).unwrap_err();
    }
}

#[tokio::test]
async fn the_defaults_are_heats() {
    let defaults: Defaults =
        serde_json::from_str(include_str!("../../../tests/data/policy/defaults.json")).unwrap();
    let callers = answers().callers;
    for (key, enforce_new_defaults) in [("new", true), ("old too", false)] {
        let strictness = Strictness { enforce_new_defaults, ..Strictness::default() };
        let rules = Rules::new(&[], strictness).unwrap();
        let heard = Heard::new();
        for (name, expected) in &defaults.rules {
            let has_target = !name.starts_with(TYPE_PREFIX) && name != ADMIN_RULE;
            let (_, rule) = rules.find(name).unwrap_or_else(|| panic!("no rule {name}"));
            for (who, credentials) in &callers {
                let caller = caller_of(credentials);
                let question = Question::new(&rules, &caller, has_target.then_some("p1"), &heard);
                let allowed = rule.takes_scope_of(&caller) && question.rule_holds(name) == Ok(true);
                assert_eq!(allowed, expected[key].contains(who), "{name} for {who}, {key}");
            }
        }
        // Heat's own for CloudWatch's API went with that API.
        let own = rules.iter().filter(|(name, _)| {
            !defaults.rules.contains_key(*name) && !name.starts_with("cloudwatch:")
        });
        assert_eq!(
            own.map(|(name, _)| name).collect::<Vec<_>>(),
            [
                "feed:all_projects",
                "feed:follow",
                "history:show",
                "webhooks:create",
                "webhooks:delete",
                "webhooks:index",
                "webhooks:show",
            ]
        );
    }
}
