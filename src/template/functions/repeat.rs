//! `repeat`: a list of copies of a template, its placeholders replaced by the items of lists.
//! Unlike `str_replace`, what was put in is looked at again.

use std::sync::Arc;

use super::{Call, Function, Scope};
use crate::template::error::{Outcome, TemplateError};
use crate::template::key::Key;
use crate::template::node::{Form, Node};
use crate::template::value::{Datum, DatumMap};
use crate::template::{python, walk, work};

/// How many items a call may make.
const ITEMS_MAX: usize = 100_000;

#[derive(Debug)]
struct Repeat {
    call: Call,
    /// The keys of maps may stand for lists.
    maps: bool,
    /// All combinations of the lists, rather than their items side by side.
    nested: bool,
}

/// Parses the first form.
pub(super) fn parse(call: Call) -> Outcome<Arc<dyn Function>> {
    new(call, false, true)
}

/// Parses the form of 2016-10-14, which takes maps.
pub(super) fn parse_maps(call: Call) -> Outcome<Arc<dyn Function>> {
    new(call, true, true)
}

/// Parses the form of 2017-09-01, which has `permutations`.
pub(super) fn parse_nested(call: Call) -> Outcome<Arc<dyn Function>> {
    let nested = match call.args.get("permutations").map(|node| &node.form) {
        None => true,
        Some(Form::Bool(nested)) => *nested,
        // What else is wrong with the arguments is said first.
        Some(_) => {
            let message =
                format!("\"permutations\" should be boolean type for {} function.", call.name);
            return new(call, true, true).and(Err(TemplateError::kind(message)));
        }
    };
    new(call, nested, nested)
}

fn new(call: Call, maps: bool, nested: bool) -> Outcome<Arc<dyn Function>> {
    let name = &call.name;
    let Some(args) = call.args.as_map() else {
        return Err(TemplateError::kind(format!("Arguments to \"{name}\" must be a map")));
    };
    if !(args.contains_key("for_each") && args.contains_key("template")) {
        let indent = " ".repeat(14);
        let example = format!(
            "repeat:\n{indent}template: This is %var%\n{indent}for_each:\n{indent}  %var%: ['a', \
             'b', 'c']"
        );
        return Err(TemplateError::key(&format!("\"repeat\" syntax should be {example}")));
    }
    Ok(Arc::new(Repeat { call, maps, nested }))
}

impl Repeat {
    fn part(&self, key: &str) -> &Node {
        self.args().get(key).unwrap_or(self.args())
    }

    /// The lists of `for_each`, null as an empty one.
    fn lists(&self, for_each: DatumMap) -> Outcome<Vec<(String, Option<Vec<Datum>>)>> {
        let name = self.name();
        let mut lists = Vec::new();
        for (placeholder, value) in for_each {
            let items = match value {
                Datum::Null => None,
                Datum::List(items) => Some(items),
                Datum::Map(map) if self.maps => Some(map.keys().map(Key::datum).collect()),
                _ => {
                    let kinds = if self.maps { "lists or maps" } else { "lists" };
                    return Err(TemplateError::kind(format!(
                        "The values of the \"for_each\" argument to \"{name}\" must be {kinds}"
                    )));
                }
            };
            lists.push((placeholder.to_string(), items));
        }
        Ok(lists)
    }

    fn side_by_side(&self, lists: &[(String, Option<Vec<Datum>>)]) -> Outcome<usize> {
        let mut lengths: Vec<usize> =
            lists.iter().filter_map(|(_, items)| items.as_ref().map(Vec::len)).collect();
        lengths.dedup();
        if lengths.len() > 1 {
            return Err(TemplateError::value(format!(
                "For {}, the length of for_each values should be equal if no nested loop.",
                self.name()
            )));
        }
        let has_null = lists.iter().any(|(_, items)| items.is_none());
        Ok(if has_null { 0 } else { lengths.first().copied().unwrap_or(0) })
    }
}

impl Function for Repeat {
    fn call(&self) -> &Call {
        &self.call
    }

    fn check(&self, _scope: &Scope<'_>) -> Outcome<()> {
        if matches!(self.part("for_each").form, Form::Call(_) | Form::Map(_)) {
            return Ok(());
        }
        let message =
            format!("The \"for_each\" argument to \"{}\" must contain a map", self.name());
        Err(TemplateError::kind(message))
    }

    fn resolve(&self, scope: &Scope<'_>) -> Outcome<Option<Datum>> {
        let for_each = match walk::resolve(self.part("for_each"), scope)? {
            Datum::Map(map) => map,
            other => {
                let kind = python::type_name(&other);
                let message = format!("'{kind}' object has no attribute 'items'");
                return Err(TemplateError::new("AttributeError", message));
            }
        };
        if for_each.is_empty() {
            let message = "not enough values to unpack (expected 2, got 0)";
            return Err(TemplateError::value(message));
        }
        let lists = self.lists(for_each)?;
        let each = if self.nested { None } else { Some(self.side_by_side(&lists)?) };
        let template = walk::resolve(self.part("template"), scope)?;
        let lengths: Vec<usize> =
            lists.iter().map(|(_, items)| items.as_ref().map_or(0, Vec::len)).collect();
        let combinations = lengths.iter().try_fold(1_usize, |all, more| all.checked_mul(*more));
        let count = each.or(combinations).filter(|count| *count <= ITEMS_MAX).ok_or_else(|| {
            TemplateError::value(format!("\"{}\" makes more than {ITEMS_MAX} items", self.name()))
        })?;
        let mut items = Vec::with_capacity(count);
        for number in 0..count {
            let mut remainder = number;
            let mut chosen = Vec::with_capacity(lists.len());
            // The last list turns fastest.
            for ((placeholder, values), length) in lists.iter().zip(&lengths).rev() {
                let at = if each.is_some() { number } else { remainder % length };
                remainder /= (*length).max(1);
                let value = values.as_ref().and_then(|values| values.get(at));
                chosen.push((placeholder.as_str(), value.unwrap_or(&Datum::Null)));
            }
            chosen.reverse();
            items.push(replace(&template, &chosen, scope)?);
        }
        Ok(Some(Datum::List(items)))
    }
}

fn replace(template: &Datum, chosen: &[(&str, &Datum)], scope: &Scope<'_>) -> Outcome<Datum> {
    scope.budget.spend(size_of::<Datum>())?;
    Ok(match template {
        Datum::Text(text) => Datum::Text(replace_text(text, chosen, scope)?.into()),
        Datum::List(items) => Datum::List(
            items.iter().map(|item| replace(item, chosen, scope)).collect::<Outcome<_>>()?,
        ),
        Datum::Map(map) => {
            let mut replaced = DatumMap::default();
            for (key, item) in map {
                let key = replace_text(key, chosen, scope)?;
                replaced.insert(key.into(), replace(item, chosen, scope)?);
            }
            Datum::Map(replaced)
        }
        other => other.clone(),
    })
}

fn replace_text(text: &str, chosen: &[(&str, &Datum)], scope: &Scope<'_>) -> Outcome<String> {
    scope.budget.spend(text.len())?;
    let mut text = text.to_owned();
    for (placeholder, value) in chosen {
        work::step(1)?;
        work::step_over(text.len())?;
        let Datum::Text(value) = value else {
            let kind = match value {
                Datum::Null => "None",
                other => python::type_name(other),
            };
            let message = format!("replace() argument 2 must be str, not {kind}");
            return Err(TemplateError::kind(message));
        };
        let found = text.matches(placeholder).count();
        scope.budget.spend(found.saturating_mul(value.len()))?;
        text = text.replace(placeholder, value);
    }
    Ok(text)
}
