//! A plan against what then happened.

use std::collections::{BTreeMap, BTreeSet};

use hearth::actors::plan::Change;
use hearth::actors::previewed::{Preview, PreviewWithin, PreviewedResource};
use hearth::model::ResourceId;

/// How a resource stands.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Stood {
    pub(crate) id: ResourceId,
    pub(crate) physical_id: Option<String>,
    /// Another one with each action that begins.
    pub(crate) acted: String,
    /// Whether anything was ever begun for it.
    pub(crate) is_begun: bool,
    /// The stack that stands for it.
    pub(crate) within: Stands,
}

/// How a stack's resources stand, by their names.
pub(crate) type Stands = BTreeMap<String, Stood>;

/// Types whose physical id is another after an update in place, and why.
const MOVES_IN_PLACE: [(&str, &str); 2] = [
    ("OS::Heat::SoftwareDeployment", "the deployment of another configuration is another"),
    ("OS::Heat::StructuredDeployment", "the deployment of another configuration is another"),
];

/// How the walk ended that the plan was for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Ended {
    /// All that was announced was to happen.
    Complete,
    /// Nothing was to happen that was not announced.
    BrokenOff,
}

/// What happened otherwise than announced. `surprised` are incarnations to which something happened
/// that no plan can see.
pub(crate) fn unannounced(
    plan: &Preview,
    (before, after): (&Stands, &Stands),
    ended: Ended,
    surprised: &BTreeSet<ResourceId>,
) -> Vec<String> {
    let mut wrongs = Vec::new();
    let compared = Compared { before, after, ended, surprised };
    compared.compare("", plan, &mut wrongs);
    wrongs
}

struct Compared<'a> {
    before: &'a Stands,
    after: &'a Stands,
    ended: Ended,
    surprised: &'a BTreeSet<ResourceId>,
}

impl Compared<'_> {
    fn compare(&self, path: &str, plan: &Preview, wrongs: &mut Vec<String>) {
        let excused = self.excused(plan);
        let mut named = BTreeSet::new();
        for (most, entries) in [
            (Change::Unchanged, &plan.unchanged),
            (Change::Updated, &plan.updated),
            (Change::Replaced, &plan.replaced),
            (Change::Added, &plan.added),
        ] {
            for entry in entries {
                named.insert(entry.name.as_str());
                if excused.contains(entry.name.as_str()) {
                    continue;
                }
                if let Some(wrong) = self.wrong(most, entry) {
                    let why = &entry.why;
                    wrongs.push(format!("{path}{}, {most:?} ({why}): {wrong}", entry.name));
                }
                for within in plan.within.iter().filter(|it| it.resource == entry.name) {
                    self.compare_within(path, entry, within, wrongs);
                }
            }
        }
        let deleted: BTreeSet<&str> = plan.deleted.iter().map(|it| it.name.as_str()).collect();
        let stays = |name: &str| self.ended == Ended::BrokenOff && deleted.contains(name);
        let is_new = |name: &&String| !named.contains(name.as_str()) && !stays(name);
        // What a walk that broke off had meant to make, and never began, stands as it stood.
        let idle = |name: &String| {
            let stood = self.before.get(name).filter(|stood| !stood.is_begun);
            stood.is_some() && stood == self.after.get(name)
        };
        let new = self.after.keys().filter(is_new);
        let new = new.filter(|name| !is_of_chance(name) && !idle(name));
        wrongs.extend(new.map(|name| format!("{path}{name} is not announced")));
        let left = self.before.iter().filter(|(name, stood)| {
            stood.is_begun && !self.after.contains_key(*name) && !named.contains(name.as_str())
        });
        let left = left.filter(|(name, _)| !deleted.contains(name.as_str()));
        wrongs.extend(left.map(|(name, _)| format!("{path}{name} goes unannounced")));
        self.compare_chance(path, &named, wrongs);
    }

    /// Names that are made up when the time comes are compared by their number.
    fn compare_chance(&self, path: &str, named: &BTreeSet<&str>, wrongs: &mut Vec<String>) {
        let made_up = |name: &&str| is_of_chance(name) && !self.before.contains_key(*name);
        let announced = named.iter().copied().filter(made_up).count();
        let made = self.after.keys().map(String::as_str).filter(made_up).count();
        if self.ended == Ended::Complete && announced != made {
            wrongs.push(format!("{path}: {made} members are new, and not {announced}"));
        }
    }

    fn wrong(&self, most: Change, entry: &PreviewedResource) -> Option<String> {
        let before = self.before.get(&entry.name).filter(|stood| stood.is_begun);
        let after = self.after.get(&entry.name);
        if after.is_none() && is_of_chance(&entry.name) {
            return None;
        }
        let happened = match (before, after) {
            (None, None) if self.ended == Ended::BrokenOff => return None,
            (_, None) => return Some("it is gone".to_owned()),
            (None, Some(_)) => Change::Added,
            (Some(before), Some(after)) if before.id != after.id => Change::Replaced,
            (Some(before), Some(after)) if before.acted != after.acted => Change::Updated,
            (Some(_), Some(_)) => Change::Unchanged,
        };
        let least = match self.ended {
            Ended::Complete => entry.least.unwrap_or(most),
            Ended::BrokenOff => Change::Unchanged,
        };
        if happened < least || happened > most {
            return Some(format!("it is {happened:?}"));
        }
        let physical_id = |stood: Option<&Stood>| stood.and_then(|it| it.physical_id.clone());
        let is_same = physical_id(before) == physical_id(after);
        let moves = MOVES_IN_PLACE.iter().any(|(type_name, _)| *type_name == entry.type_name);
        match happened {
            Change::Updated if moves => None,
            Change::Unchanged | Change::Updated if !is_same && self.ended == Ended::Complete => {
                Some("its physical id is another".to_owned())
            }
            Change::Replaced if is_same && physical_id(before).is_some() => {
                Some("its physical id is the same".to_owned())
            }
            _ => None,
        }
    }

    fn compare_within(
        &self,
        path: &str,
        entry: &PreviewedResource,
        within: &PreviewWithin,
        wrongs: &mut Vec<String>,
    ) {
        let of = |stands: &Stands| stands.get(&entry.name).cloned();
        let (Some(before), Some(after)) = (of(self.before), of(self.after)) else { return };
        if before.id != after.id || within.stack.is_none() {
            return;
        }
        let (before, after) = (&before.within, &after.within);
        let compared = Compared { before, after, ..*self };
        compared.compare(&format!("{path}{}/", entry.name), &within.plan, wrongs);
    }

    /// The resources to which something happened that no plan can see, and those that need them.
    fn excused<'a>(&self, plan: &'a Preview) -> BTreeSet<&'a str> {
        let entries = [&plan.unchanged, &plan.updated, &plan.replaced, &plan.added];
        let entries: Vec<&PreviewedResource> = entries.into_iter().flatten().collect();
        let mut excused: BTreeSet<&str> = BTreeSet::new();
        loop {
            let count = excused.len();
            for entry in &entries {
                let before = self.before.get(&entry.name);
                if before.is_some_and(|stood| self.is_surprised(stood))
                    || entry.requires.iter().any(|name| excused.contains(name.as_str()))
                {
                    excused.insert(&entry.name);
                }
            }
            if excused.len() == count {
                return excused;
            }
        }
    }

    fn is_surprised(&self, stood: &Stood) -> bool {
        self.surprised.contains(&stood.id)
            || stood.within.values().any(|within| self.is_surprised(within))
    }
}

/// Whether a name was made up: that of a member of a group that grows and shrinks.
fn is_of_chance(name: &str) -> bool {
    name.len() == 12 && name.chars().all(|char| char.is_ascii_lowercase() || char.is_ascii_digit())
}
