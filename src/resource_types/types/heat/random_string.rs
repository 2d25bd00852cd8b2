//! OS::Heat::RandomString: made once, of chosen classes of characters, and kept.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::named;
use crate::clock::Moment;
use crate::model::{JsonMap, Refusal};
use crate::resource_types::declared::Declared;
use crate::resource_types::failure::Failure;
use crate::resource_types::job::{Change, LocalOutcome, Subject, UpdateKind, Work};
use crate::resource_types::resource_type::{At, ResourceType};

pub(crate) struct RandomString;

/// Characters to draw from, and how many of them there are at least.
struct Source {
    characters: Vec<char>,
    at_least: usize,
}

impl RandomString {
    /// The minimums of each set and the whole length.
    fn recipe(properties: &JsonMap) -> (Vec<Source>, usize) {
        let mut sources = Vec::new();
        for entry in list(properties, "character_sequences") {
            let characters = entry["sequence"].as_str().unwrap_or_default().chars();
            sources.push(Source { characters: distinct(characters), at_least: at_least(entry) });
        }
        let classes = list(properties, "character_classes");
        // The retired property `sequence`, which may be one of the classes by now, takes their place.
        let retired = properties.get("sequence").and_then(Value::as_str);
        if let Some(class) = retired.or_else(|| classes.iter().find_map(Value::as_str)) {
            sources.push(Source { characters: members(class), at_least: 1 });
        } else {
            for entry in classes {
                let class = entry["class"].as_str().unwrap_or("lettersdigits");
                sources.push(Source { characters: members(class), at_least: at_least(entry) });
            }
        }
        let length = properties.get("length").and_then(Value::as_u64).unwrap_or(32);
        (sources, usize::try_from(length).unwrap_or(usize::MAX))
    }
}

fn list<'a>(properties: &'a JsonMap, name: &str) -> &'a [Value] {
    properties.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn at_least(entry: &Value) -> usize {
    entry["min"].as_u64().and_then(|count| usize::try_from(count).ok()).unwrap_or(1)
}

fn members(class: &str) -> Vec<char> {
    let lower = 'a'..='z';
    let upper = 'A'..='Z';
    let digits = '0'..='9';
    match class {
        "letters" => lower.chain(upper).collect(),
        "lowercase" => lower.collect(),
        "uppercase" => upper.collect(),
        "digits" => digits.collect(),
        "hexdigits" => digits.chain('A'..='F').collect(),
        "octdigits" => ('0'..='7').collect(),
        _ => lower.chain(upper).chain(digits).collect(),
    }
}

fn distinct(characters: impl Iterator<Item = char>) -> Vec<char> {
    characters.collect::<BTreeSet<_>>().into_iter().collect()
}

/// A number below `bound`, each as likely as the next.
fn below(moment: &Moment<'_>, bound: usize) -> usize {
    let bound = bound.max(1) as u64;
    // Draws from the incomplete last round would favor small numbers.
    let fair = u64::MAX - u64::MAX % bound;
    loop {
        let mut bytes = [0; 8];
        moment.fill(&mut bytes);
        let drawn = u64::from_le_bytes(bytes);
        if drawn < fair {
            return (drawn % bound) as usize;
        }
    }
}

fn generate(moment: &Moment<'_>, sources: &[Source], length: usize) -> String {
    let mut text = Vec::with_capacity(length);
    let pick = |characters: &[char]| characters.get(below(moment, characters.len())).copied();
    for source in sources {
        text.extend((0..source.at_least).filter_map(|_| pick(&source.characters)));
    }
    let all = distinct(sources.iter().flat_map(|source| source.characters.iter().copied()));
    let missing = length.saturating_sub(text.len());
    text.extend((0..missing).filter_map(|_| pick(&all)));
    for last in (1..text.len()).rev() {
        text.swap(last, below(moment, last + 1));
    }
    text.into_iter().collect()
}

impl ResourceType for RandomString {
    fn local(
        &self,
        declared: &Declared,
        work: &Work,
        subject: &Subject,
        moment: &Moment<'_>,
    ) -> Option<Result<LocalOutcome, Failure>> {
        if *work != Work::Create {
            return Some(Ok(LocalOutcome::default()));
        }
        let (sources, length) = Self::recipe(&declared.properties(&subject.properties));
        let value = Value::from(generate(moment, &sources, length));
        let mut outcome = named(subject);
        outcome.learned.data = BTreeMap::from([("value".to_owned(), value.clone())]);
        outcome.attributes.insert("value".to_owned(), value);
        Some(Ok(outcome))
    }

    fn on_change(&self, declared: &Declared, change: Change<'_>) -> UpdateKind {
        let Change { subject, .. } = change;
        declared.replaced(subject)
    }

    fn attributes(&self, at: At<'_>, _wanted: &[String]) -> Result<JsonMap, Failure> {
        let At { subject, .. } = at;
        Ok(subject
            .data
            .get("value")
            .map(|value| ("value".to_owned(), value.clone()))
            .into_iter()
            .collect())
    }

    fn reference(&self, declared: &Declared, subject: &Subject) -> Value {
        match subject.data.get("value") {
            Some(value) => value.clone(),
            None => declared.plain_reference(subject),
        }
    }

    fn validate(&self, _name: &str, properties: &JsonMap) -> Result<(), Refusal> {
        let (sources, length) = Self::recipe(properties);
        if sources.iter().map(|source| source.at_least).sum::<usize>() > length {
            return Err(Refusal::validation(
                "Length property cannot be smaller than combined character class and character \
                 sequence minimums",
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::clock::SimulatedClock;
    use crate::resource_types::Registry;

    #[test]
    fn a_random_string_has_its_length_and_its_minimums() {
        let clock = SimulatedClock::new(7);
        let sources = [
            Source { characters: members("digits"), at_least: 5 },
            Source { characters: members("uppercase"), at_least: 1 },
        ];
        let text = generate(&Moment::of(&clock), &sources, 12);
        assert_eq!(text.len(), 12);
        assert!(text.chars().filter(char::is_ascii_digit).count() >= 5);
        assert!(text.chars().all(|c| c.is_ascii_digit() || c.is_ascii_uppercase()));
    }

    #[test]
    fn minimums_beyond_the_length_are_refused() {
        let registry = Registry::built_in().unwrap();
        let driver = registry.driver("OS::Heat::RandomString").unwrap();
        let Value::Object(properties) =
            json!({"length": 4, "character_classes": [{"class": "digits", "min": 5}]})
        else {
            panic!("a map")
        };
        let refusal = driver.validate(&Subject { properties, ..Subject::default() }).unwrap_err();
        assert!(refusal.message.starts_with("Length property cannot be smaller"));
    }
}
