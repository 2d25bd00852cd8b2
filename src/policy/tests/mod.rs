//! The rules against oslo.policy's own answers, and files that change under them.

mod answers;
mod reread;
mod servers;

use super::*;
use crate::model::Scope;

/// A caller in the project `p1`.
fn caller(roles: &[&str]) -> Caller {
    Caller {
        user_id: "u1".into(),
        user_name: "u1".into(),
        project_id: "p1".into(),
        project_name: "p1".into(),
        roles: roles.iter().map(|role| (*role).to_owned()).collect(),
        scope: Scope::default(),
        admin: false,
    }
}

/// A policy of one file with these rules.
fn policy(text: &str) -> Policy {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text).unwrap();
    let paths = PolicyPaths { file: Some(file.path().into()), ..PolicyPaths::default() };
    let settings = PolicySettings { paths, ..PolicySettings::default() };
    Policy::load(settings, Arc::new(crate::clock::SimulatedClock::new(1))).unwrap()
}

async fn may_use(policy: &Policy, caller: &Caller, type_name: &str) -> bool {
    policy.forbidden(caller, BTreeSet::from([type_name.to_owned()])).await.is_empty()
}

#[tokio::test]
async fn a_rule_that_forbids_all_stops_an_administrator_too() {
    let policy = policy("\"stacks:create\": \"!\"");
    let admin = caller(&["admin", "member", "reader"]);
    assert!(!policy.may(&admin, "stacks:create").await);
    assert!(policy.may(&admin, "stacks:delete").await);
}

#[tokio::test]
async fn what_no_rule_names_is_nobodys_and_a_type_that_no_rule_names_is_everybodys() {
    let policy = Policy::defaults(Arc::new(crate::clock::SimulatedClock::new(1))).unwrap();
    let admin = caller(&["admin", "member", "reader"]);
    assert!(!policy.may(&admin, "stacks:unheard_of").await);
    assert!(!policy.may(&admin, "stacks:global_index").await);
    assert!(may_use(&policy, &caller(&[]), "My::Own").await);
    assert!(may_use(&policy, &caller(&["member"]), "OS::Nova::Server").await);
    assert!(!may_use(&policy, &caller(&["member"]), "OS::Nova::Flavor").await);
    assert!(!may_use(&policy, &caller(&["member"]), "OS::Keystone::User").await);
    assert!(may_use(&policy, &admin, "OS::Keystone::User").await);
}

#[test]
fn a_rule_that_nothing_asks_for_is_named() {
    let policy = policy(
        "\"stacks:crete\": \"!\"\n\"resource_types:My::Own\": \"!\"\nours: role:us\n\
         \"stacks:create\": rule:ours\n",
    );
    assert_eq!(policy.idle(), ["stacks:crete"]);
}

#[tokio::test]
async fn a_type_is_forbidden_by_its_own_rule_or_by_its_familys() {
    let policy = policy(
        "\"resource_types:OS::Heat::Value\": \"!\"\n\"resource_types:OS::Trove::*\": role:dba\n",
    );
    assert!(!may_use(&policy, &caller(&["admin"]), "OS::Heat::Value").await);
    assert!(!may_use(&policy, &caller(&["admin"]), "OS::Trove::Instance").await);
    assert!(may_use(&policy, &caller(&["DBA"]), "OS::Trove::Instance").await);
}

#[tokio::test]
async fn a_token_of_a_domain_passes_no_rule_of_projects_whatever_its_roles() {
    let text = "\"stacks:index\": \"@\"\n\"resource_types:OS::Nova::Flavor\": \"@\"";
    let strict = policy(text);
    let mut domains = caller(&["admin", "member", "reader"]);
    domains.project_id = "".into();
    domains.scope.domain_id = Some("default".into());
    assert!(!strict.may(&domains, "stacks:index").await);
    assert!(!may_use(&strict, &domains, "OS::Nova::Flavor").await);
    assert!(!strict.is_admin(&domains).await);
    let mut system = domains.clone();
    system.scope = Scope { is_system: true, ..Scope::default() };
    assert!(!strict.may(&system, "stacks:index").await);
    assert!(strict.is_admin(&system).await);
}

#[tokio::test]
async fn an_administrator_of_another_project_than_keystones_is_none_of_the_cloud() {
    let policy = Policy::defaults(Arc::new(crate::clock::SimulatedClock::new(1))).unwrap();
    let mut admin = caller(&["admin", "member", "reader"]);
    assert!(policy.is_admin(&admin).await, "Keystone says nothing");
    admin.scope.is_admin_project = Some(false);
    assert!(!policy.is_admin(&admin).await);
    admin.scope.is_admin_project = Some(true);
    assert!(policy.is_admin(&admin).await);
    assert!(!policy.is_admin(&caller(&["member"])).await);
}

#[tokio::test]
async fn an_answer_comes_with_the_checks_that_decided_it() {
    let policy = policy("\"stacks:create\": \"not role:a and (role:b or rule:project_admin)\"");
    let shown = |reasons: Vec<Reason>| {
        reasons.iter().map(|it| format!("{} {}", it.holds, it.check)).collect::<Vec<_>>()[1..]
            .join("; ")
    };
    let (allowed, reasons) = policy.explain(&caller(&["a", "b"]), "stacks:create").await;
    assert!(!allowed);
    assert_eq!(shown(reasons), "false not; true role:a");
    let (allowed, reasons) = policy.explain(&caller(&["admin"]), "stacks:create").await;
    assert!(allowed);
    assert_eq!(
        shown(reasons),
        "true not; false role:a; true project_admin: \"role:admin\" (default); true role:admin"
    );
}
