//! AWS::IAM::User: a user of the stack's domain, who may ask about the stack's resources as far as
//! policies let him.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::events::resource::Step;
use crate::model::JsonMap;
use crate::resource_types::asks::{Asks, NeighborKnown};
use crate::resource_types::declared::{Beating, Declared, done};
use crate::resource_types::failure::Failure;
use crate::resource_types::job::{Beat, Learned, StackUser, Subject, Work};
use crate::resource_types::resource_type::ResourceType;
use crate::resource_types::stack_user::{self, PASSWORD, Proof};
use crate::resource_types::stage::{Stages, stages};

pub(crate) struct IamUser;

stages! {
    /// What comes before the user and after him.
    enum Stage {
        Admit = "admit" Looks,
        Settle = "settle" Looks,
    }
}

impl ResourceType for IamUser {
    fn first(&self, _declared: &Declared, work: &Work, _subject: &Subject) -> Step {
        match work {
            Work::Create | Work::Update { .. } => Stage::Admit.step(),
            Work::Delete => stack_user::removal(),
            Work::Act(_) => stack_user::enabling(),
        }
    }

    fn beat(&self, _declared: &Declared, beating: &Beating<'_>) -> Result<Beat, Failure> {
        let Beating { cloud, work, subject, step, .. } = *beating;
        let end = || Stage::Settle.step();
        if let Some(beat) = stack_user::make(cloud, subject, step, Proof::Password, end) {
            return beat;
        }
        if let Some(beat) = stack_user::keep(cloud, work, subject, step) {
            return beat;
        }
        match Stage::of(step) {
            Some(Stage::Admit) => self.admitted(cloud, subject),
            Some(Stage::Settle) => {
                let physical_id = StackUser::made(subject).map(|user| user.id);
                Ok(Beat::Done { learned: Learned { physical_id, ..Learned::default() } })
            }
            None => Ok(done()),
        }
    }

    fn reference(&self, _declared: &Declared, subject: &Subject) -> Value {
        subject.physical_name.as_str().into()
    }

    /// What is no name, as a policy in Amazon's own language, was never looked at in Heat.
    fn policies<'a>(&self, properties: &'a JsonMap) -> Option<Vec<&'a str>> {
        let policies = properties.get("Policies").and_then(Value::as_array);
        Some(policies.into_iter().flatten().filter_map(Value::as_str).collect())
    }
}

impl IamUser {
    /// The policies are there, and the password is the one that was given; one that nobody knows is
    /// made up where none was.
    fn admitted(&self, cloud: &Asks<'_>, subject: &Subject) -> Result<Beat, Failure> {
        if cloud.user_domain().is_none() {
            return Err(stack_user::no_domain());
        }
        for policy in self.policies(&subject.properties).into_iter().flatten() {
            let known = cloud.neighbor(NeighborKnown::Name(policy.to_owned()))?;
            if !known.is_some_and(|known| known.is_policy) {
                let resource = subject.name.clone().unwrap_or_default().to_string();
                return Err(Failure::NoAttribute { resource, attribute: "Policies" });
            }
        }
        let profile = subject.properties.get("LoginProfile");
        let given = profile.and_then(|profile| profile.get("Password"));
        let given = given.filter(|password| password.is_string());
        let data = given.map(|password| (PASSWORD.to_owned(), password.clone()));
        let learned = Learned { data: BTreeMap::from_iter(data), ..Learned::default() };
        Ok(Beat::Next { learned, next: stack_user::first(Value::Null) })
    }
}
