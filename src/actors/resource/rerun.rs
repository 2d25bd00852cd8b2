//! A beat of the past, run again by the answers that the log has of it.

use serde_json::Value;

use super::phase::Call;
use super::state::{Knowledge, Resource};
use crate::actors::executor::{Rerun, run_again};
use crate::events::resource::AnswersKept;
use crate::model::taint::{mask_repeated, masked, plain, taint, taint_repeated};
use crate::model::{Action, Secret};
use crate::resource_types::Attempt;

/// A beat that was run again.
pub struct Replayed {
    pub action: Action,
    /// The step that the beat made.
    pub stage: String,
    pub rerun: Rerun,
    secrets: Vec<Secret<String>>,
    is_secret: Box<dyn Fn(&str) -> bool>,
}

impl Resource {
    /// Runs the beat again whose answers come next in the stream. The error says why that cannot be
    /// done.
    pub fn replay(&self, kept: &AnswersKept, knowledge: &Knowledge) -> Result<Replayed, String> {
        let definition = self.working_definition().ok_or("there is no definition to work with")?;
        let driver = Self::driver(knowledge, &definition)?;
        let work = self.work(&definition, knowledge);
        let subject = self.subject(&definition, knowledge);
        let step = match self.call() {
            Some(Call::Due(step) | Call::Intended(step)) => step.clone(),
            Some(Call::First) | None => driver.first(&work, &subject),
        };
        let step = crate::events::resource::Step { state: plain(step.state), ..step };
        let attempt = if kept.searched { Attempt::Unanswered } else { Attempt::First };
        let secrets = self.secrets();
        let mut kept = kept.clone();
        for answer in &mut kept.answers {
            answer.answer = answer.answer.take().map(plain);
        }
        let written = |ask: &_| mask_repeated(&format!("{ask}"), &secrets);
        let rerun =
            run_again(&kept, written, |asks| driver.beat(asks, &work, &subject, &step, attempt));
        let rerun = rerun.map_err(|error| error.to_string())?;
        let is_secret = Box::new(move |name: &str| driver.is_secret(name));
        Ok(Replayed { action: self.action, stage: step.name, rerun, secrets, is_secret })
    }
}

impl Replayed {
    /// A text without the resource's secrets.
    pub fn masked_text(&self, text: &str) -> String {
        mask_repeated(text, &self.secrets)
    }

    /// A body without secrets: neither the resource's own nor what names tell to be some.
    pub fn masked(&self, value: &Value) -> Value {
        masked(&self.tainted(None, taint_repeated(value.clone(), &self.secrets)))
    }

    fn tainted(&self, name: Option<&str>, value: Value) -> Value {
        if !value.is_null() && name.is_some_and(|name| self.hides(name)) {
            return taint(value);
        }
        match value {
            Value::Object(map) => map
                .into_iter()
                .map(|(name, value)| {
                    let value = self.tainted(Some(&name), value);
                    (name, value)
                })
                .collect(),
            Value::Array(items) => items.into_iter().map(|item| self.tainted(None, item)).collect(),
            value @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => value,
        }
    }

    fn hides(&self, name: &str) -> bool {
        let lower = name.to_lowercase();
        TELLING.iter().any(|word| lower.contains(word)) || (self.is_secret)(name)
    }
}

/// Of fields with secrets in the services' bodies.
const TELLING: [&str; 12] = [
    "adminpass",
    "credential",
    "passphrase",
    "passwd",
    "password",
    "payload",
    "personality",
    "private",
    "psk",
    "secret",
    "token",
    "user_data",
];
