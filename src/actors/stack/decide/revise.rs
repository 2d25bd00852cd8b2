//! The event of an accepted revision.

use serde_json::Value;

use crate::actors::stack::command::Revise;
use crate::actors::stack::state::{Knowledge, Stack};
use crate::events::stack::{OutputDeclared, RevisionAccepted};
use crate::model::{Action, CommandId, JsonMap, StackRevision};
use crate::template::StackDefinition;

impl Stack {
    /// A revision as its user asked for it.
    pub(super) fn accepted(
        revision: StackRevision,
        action: Action,
        revise: &Revise,
        knowledge: &Knowledge,
    ) -> RevisionAccepted {
        let definition = &revise.known.definition;
        let outputs = definition.outputs().into_iter();
        RevisionAccepted {
            revision,
            action,
            origin: revision,
            source: Some(revise.source.clone()),
            source_bytes: revise.source_bytes,
            parameters: revise.parameters.clone(),
            shown_parameters: definition.shown_parameters(),
            description: definition.description().to_owned(),
            outputs: outputs
                .map(|output| OutputDeclared {
                    live: output
                        .reads
                        .iter()
                        .any(|read| knowledge.registry.reads_live(definition, read)),
                    key: output.key,
                    description: output.description,
                })
                .collect(),
            settings: revise.settings.clone(),
            back_to: revise.back_to,
            adopts: None,
            user_id: Some(revise.trustor.user_id.clone()),
            roles: revise.trustor.roles.clone(),
            facade: revise.facade.clone(),
            event_sinks: event_sinks(definition),
            claim: revise.claim.clone(),
            restart: None,
        }
    }

    /// Whether a revision was accepted by a claim.
    pub(in crate::actors) fn has_accepted(&self, claim: CommandId) -> bool {
        let mut claims = self.revisions.iter().rev().filter_map(|it| it.claim.as_ref());
        claims.any(|known| known.command == claim)
    }

    /// Whether what is asked for was accepted before.
    pub(super) fn has_claim_of(&self, revise: &Revise) -> bool {
        revise.claim.as_ref().is_some_and(|claim| self.has_accepted(claim.command))
    }

    /// A revision that goes back to the one before the newest: to nothing, where there is none.
    pub(super) fn rolled_back(&self) -> Option<RevisionAccepted> {
        let newest = self.revision()?;
        let before = self.revisions.iter().rev().nth(1);
        let former = before.filter(|_| !matches!(newest.action, Action::Create | Action::Adopt));
        let former = former.and_then(|former| self.revision_of(former.origin));
        let revision = StackRevision(newest.revision.0 + 1);
        let settings = RevisionAccepted {
            revision,
            action: Action::Rollback,
            origin: StackRevision(0),
            source: None,
            source_bytes: 0,
            parameters: JsonMap::new(),
            shown_parameters: pseudo(&newest.shown_parameters),
            description: String::new(),
            outputs: Vec::new(),
            back_to: None,
            adopts: None,
            user_id: None,
            roles: None,
            facade: Value::Null,
            claim: None,
            restart: None,
            ..newest.clone()
        };
        Some(match former {
            None => settings,
            Some(former) => RevisionAccepted {
                origin: former.origin,
                source: former.source.clone(),
                parameters: former.parameters.clone(),
                shown_parameters: former.shown_parameters.clone(),
                description: former.description.clone(),
                outputs: former.outputs.clone(),
                facade: former.facade.clone(),
                event_sinks: former.event_sinks.clone(),
                ..settings
            },
        })
    }
}

/// The parameters that every stack has.
fn pseudo(shown: &JsonMap) -> JsonMap {
    let own = shown.iter().filter(|(name, _)| name.starts_with("OS::"));
    own.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// Where the environment has the stack's events sent.
fn event_sinks(definition: &StackDefinition) -> Vec<Value> {
    let environment = definition.environment();
    environment["event_sinks"].as_array().cloned().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::actors::stack::story::{
        create, given_made, given_nothing, revise, rolling_back, update,
    };

    #[test]
    fn a_create_that_goes_back_leads_to_nothing() {
        let story = given_nothing().when(create(revise("net")));
        let back = story.stack.rolled_back().unwrap();
        assert_eq!((back.revision, back.origin), (StackRevision(2), StackRevision(0)));
        assert!(back.source.is_none() && back.parameters.is_empty());
    }

    #[test]
    fn going_back_takes_the_definition_of_before_and_keeps_the_settings_of_now() {
        let mut first = revise("net");
        first.parameters.insert("size".to_owned(), "small".into());
        let mut second = revise("net port");
        second.parameters.insert("size".to_owned(), "large".into());
        second.settings.tags = vec!["new".to_owned()];
        let story = given_nothing().when(create(first)).when_all_are_done().when(update(second));
        let back = story.stack.rolled_back().unwrap();
        assert_eq!((back.revision, back.origin), (StackRevision(3), StackRevision(1)));
        assert_eq!(back.parameters["size"], "small");
        assert_eq!(back.settings.tags, ["new"]);
    }

    #[test]
    fn an_update_after_a_rollback_goes_back_to_what_the_rollback_led_to() {
        let failing = update(rolling_back(revise("net bad")));
        let story = given_made("net").when(failing).when_it_fails("bad", "boom");
        assert_eq!(story.started().action, Action::Rollback);
        let story = story.when_all_are_done().when(update(revise("net more")));
        let back = story.stack.rolled_back().unwrap();
        assert_eq!((back.revision, back.origin), (StackRevision(5), StackRevision(1)));
    }
}
