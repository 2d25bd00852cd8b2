//! The names in use in a project, its users' trusts, and its webhooks.

// Name:  free ─NameReserved▶ taken ─NameReleased▶ free
// Trust: none ─TrustGranted▶ in use ─last NameReleased, or a newer TrustGranted▶ owed
//                                                             owed ─TrustReturned▶ none

use std::collections::{HashMap, VecDeque};

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::Value;

use crate::actors::shell::{Aggregate, Decision};
use crate::clock::Moment;
use crate::events::ProjectEvent;
use crate::events::project::{
    KeyClaimed, NameReleased, NameReserved, TrustGranted, TrustReturned, WebhookDeleted,
    WebhookMade,
};
use crate::model::{IndexMap, Refusal, StackId, StackName, Trustor, WebhookId};

/// How many webhooks a project may have.
const WEBHOOKS_MAX: usize = 16;

/// How long the key of a request counts.
pub(super) const CLAIMS_COUNT: TimeDelta = TimeDelta::hours(24);
/// How many keys of a project count, the newest.
pub(super) const CLAIMS_MAX: usize = 1_000;

/// A command to a project.
pub enum ProjectCommand {
    /// Take a name for a stack that is about to be created; `limit` is the project's quota.
    Reserve { name: StackName, stack_id: StackId, limit: Option<usize> },
    /// Give a name back; nothing happens where the stack does not hold it.
    Release { name: StackName, stack_id: StackId },
    /// Keep a user's trust; the id is sealed.
    Trust { user_id: String, trust_id: Value, roles: Vec<String> },
    /// Note that a request with a key is about to be carried out.
    Claim(KeyClaimed),
    /// Give back the trusts that nothing needs any more.
    SettleTrusts,
    /// A trust is given back: Keystone no longer has it.
    TrustGone { user_id: String, trust_id: Value },
    /// Have events told somewhere.
    MakeWebhook(WebhookMade),
    /// Have them told there no more; nothing happens where there is no such webhook.
    DeleteWebhook(WebhookId),
}

/// What a project does outside.
#[derive(Clone, Debug, PartialEq)]
pub enum ProjectEffect {
    /// Gives a trust back to Keystone.
    ReturnTrust { user_id: String, trust_id: Value },
}

/// A project's state.
#[derive(Default)]
pub struct Project {
    names: HashMap<StackName, StackId>,
    /// In the order in which they were granted.
    trusts: IndexMap<Trustor, Value>,
    /// Trusts to be given back, with their users.
    owed: Vec<(String, Value)>,
    /// Where events are told, and how, sealed.
    webhooks: IndexMap<WebhookId, Value>,
    /// Keys of requests and when they were claimed, oldest first.
    claims: VecDeque<(DateTime<Utc>, KeyClaimed)>,
}

impl Project {
    /// The stack that holds a name.
    pub fn holder(&self, name: &StackName) -> Option<StackId> {
        self.names.get(name).copied()
    }

    /// The names that are taken, each with the stack that holds it.
    pub fn holders(&self) -> impl Iterator<Item = (&StackName, StackId)> {
        self.names.iter().map(|(name, stack)| (name, *stack))
    }

    /// All trusts that there are, sealed, also those that are to be given back.
    pub fn kept_trusts(&self) -> impl Iterator<Item = &Value> {
        self.trusts.values().chain(self.owed.iter().map(|(_, trust_id)| trust_id))
    }

    /// Where a webhook is and what it is signed with, sealed.
    pub fn webhook(&self, id: WebhookId) -> Option<&Value> {
        self.webhooks.get(&id)
    }

    /// The claim of a request's key, as long as it counts.
    pub fn claim(&self, key: &str, now: DateTime<Utc>) -> Option<&KeyClaimed> {
        let mut counting = self.claims.iter().rev().take_while(|(at, _)| now - at < CLAIMS_COUNT);
        counting.find(|(_, claim)| claim.key == key).map(|(_, claim)| claim)
    }

    /// The oldest trust in use, sealed.
    pub fn oldest_trust(&self) -> Option<&Value> {
        self.trusts.values().next()
    }

    /// The id of the trust with just these roles, sealed. Work that is on record without its roles
    /// goes on with the user's oldest trust, which it began with: newer ones may have more.
    pub fn trust_of(&self, trustor: &Trustor) -> Option<&Value> {
        if trustor.roles.is_some() {
            return self.trusts.get(trustor);
        }
        let mut trusts = self.trusts.iter();
        trusts.find(|(of, _)| of.user_id == trustor.user_id).map(|(_, trust)| trust)
    }
}

/// The class of a refusal that there are too many already.
pub const LIMIT_EXCEEDED: &str = "RequestLimitExceeded";

impl Aggregate for Project {
    type Command = ProjectCommand;
    type Event = ProjectEvent;
    type Effect = ProjectEffect;
    type Knowledge = ();
    type Working = ();

    fn apply(&mut self, event: &ProjectEvent, at: DateTime<Utc>) {
        match event {
            ProjectEvent::NameReserved(reserved) => {
                self.names.insert(reserved.name.clone(), reserved.stack_id);
            }
            ProjectEvent::NameReleased(released) => {
                self.names.remove(&released.name);
                if self.names.is_empty() {
                    let all = self.trusts.drain(..);
                    self.owed.extend(all.map(|(of, trust_id)| (of.user_id, trust_id)));
                }
            }
            ProjectEvent::TrustGranted(granted) => {
                let user_id = granted.user_id.clone();
                let trustor = Trustor::of(&user_id, granted.roles.clone());
                let former = self.trusts.insert(trustor, granted.trust_id.clone());
                self.owed.extend(former.map(|trust_id| (user_id, trust_id)));
            }
            ProjectEvent::KeyClaimed(claim) => {
                self.claims.push_back((at, claim.clone()));
                let surplus = self.claims.len().saturating_sub(CLAIMS_MAX);
                self.claims.drain(..surplus);
            }
            ProjectEvent::TrustReturned(returned) => {
                self.owed.retain(|(_, trust_id)| *trust_id != returned.trust_id);
                // On record since a user had one trust, whatever its roles.
                self.trusts.retain(|_, trust_id| *trust_id != returned.trust_id);
            }
            ProjectEvent::WebhookMade(made) => {
                self.webhooks.insert(made.id, made.target.clone());
            }
            ProjectEvent::WebhookDeleted(deleted) => {
                self.webhooks.shift_remove(&deleted.id);
            }
        }
    }

    fn decide(
        &self,
        (): &mut (),
        command: ProjectCommand,
        moment: &Moment<'_>,
        (): &(),
    ) -> Result<Decision<Self>, Refusal> {
        match command {
            ProjectCommand::Claim(claim) => match self.claim(&claim.key, moment.now) {
                Some(known) if *known == claim => Ok(Decision::nothing()),
                // Whoever came first is at it.
                Some(_) => Err(Refusal::new(
                    "HTTPConflict",
                    "A request with this Idempotency-Key is being carried out. Please try again.",
                )),
                None => Ok(Decision::record(claim)),
            },
            ProjectCommand::Reserve { name, stack_id, limit } => {
                if let Some(holder) = self.names.get(&name) {
                    if *holder == stack_id {
                        return Ok(Decision::nothing());
                    }
                    let text = format!("The Stack ({name}) already exists.");
                    return Err(Refusal::new("StackExists", text));
                }
                if let Some(limit) = limit.filter(|limit| self.names.len() >= *limit) {
                    let text = format!(
                        "Request limit exceeded: You have reached the maximum stacks per tenant, \
                         {limit}. Please delete some stacks."
                    );
                    return Err(Refusal::new(LIMIT_EXCEEDED, text));
                }
                Ok(Decision::record(NameReserved { name, stack_id }))
            }
            ProjectCommand::Release { name, stack_id } => {
                if self.names.get(&name) != Some(&stack_id) {
                    return Ok(Decision::nothing());
                }
                let released = Decision::record(NameReleased { name, stack_id });
                Ok(released.and_then(ProjectCommand::SettleTrusts))
            }
            ProjectCommand::Trust { user_id, trust_id, roles } => {
                let granted = Decision::record(TrustGranted { user_id, trust_id, roles });
                Ok(granted.and_then(ProjectCommand::SettleTrusts))
            }
            ProjectCommand::SettleTrusts => Ok(self.return_owed()),
            ProjectCommand::TrustGone { user_id, trust_id } => {
                if !self.owed.iter().any(|(_, owed)| *owed == trust_id) {
                    return Ok(Decision::nothing());
                }
                Ok(Decision::record(TrustReturned { user_id, trust_id }))
            }
            ProjectCommand::MakeWebhook(made) => {
                if self.webhooks.len() >= WEBHOOKS_MAX {
                    let text = format!(
                        "Request limit exceeded: You have reached the maximum webhooks per \
                         project, {WEBHOOKS_MAX}. Please delete some webhooks."
                    );
                    return Err(Refusal::new(LIMIT_EXCEEDED, text));
                }
                Ok(Decision::record(made))
            }
            ProjectCommand::DeleteWebhook(id) => Ok(match self.webhooks.contains_key(&id) {
                true => Decision::record(WebhookDeleted { id }),
                false => Decision::nothing(),
            }),
        }
    }

    fn recover(&self, (): &mut (), _moment: &Moment<'_>, (): &()) -> Decision<Self> {
        self.return_owed()
    }
}

impl Project {
    /// Gives back what is owed; twice does no harm.
    fn return_owed(&self) -> Decision<Self> {
        self.owed.iter().fold(Decision::nothing(), |decision, (user_id, trust_id)| {
            let (user_id, trust_id) = (user_id.clone(), trust_id.clone());
            decision.and_do(ProjectEffect::ReturnTrust { user_id, trust_id })
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::clock::{Clock, SimulatedClock};
    use crate::model::CommandId;

    fn reserved(name: &str, stack: u128) -> ProjectEvent {
        let stack_id = StackId(uuid::Uuid::from_u128(stack));
        NameReserved { name: name.into(), stack_id }.into()
    }

    fn released(name: &str, stack: u128) -> ProjectEvent {
        let stack_id = StackId(uuid::Uuid::from_u128(stack));
        NameReleased { name: name.into(), stack_id }.into()
    }

    fn granted(trust: &str) -> ProjectEvent {
        granted_with(trust, &["member"])
    }

    fn granted_with(trust: &str, roles: &[&str]) -> ProjectEvent {
        let (user_id, trust_id) = ("alice".to_owned(), json!({ "sealed": trust }));
        let roles = roles.iter().map(|role| (*role).to_owned()).collect();
        TrustGranted { user_id, trust_id, roles }.into()
    }

    fn alice(roles: &[&str]) -> Trustor {
        Trustor::of("alice", roles.iter().map(|role| (*role).to_owned()).collect())
    }

    fn given(events: &[ProjectEvent]) -> Project {
        let mut project = Project::default();
        for event in events {
            project.apply(event, DateTime::default());
        }
        project
    }

    fn owed(project: &mut Project) -> Vec<String> {
        let clock = SimulatedClock::new(1);
        let decision = project.recover(&mut (), &Moment::of(&clock), &());
        let trust = |effect: &ProjectEffect| {
            let ProjectEffect::ReturnTrust { trust_id, .. } = effect;
            trust_id["sealed"].as_str().unwrap_or_default().to_owned()
        };
        decision.effects.iter().map(trust).collect()
    }

    fn claim(key: &str, request: &str) -> KeyClaimed {
        let (key, request) = (key.to_owned(), request.to_owned());
        KeyClaimed { key, request, stack_id: StackId::default(), command: CommandId::default() }
    }

    #[test]
    fn a_key_counts_for_a_day_and_as_one_of_the_newest() {
        let clock = SimulatedClock::new(1);
        let (mut project, start) = (Project::default(), clock.now());
        project.apply(&claim("first", "x").into(), start);
        let later = start + TimeDelta::hours(24);
        assert_eq!(project.claim("first", later - TimeDelta::seconds(1)).unwrap().request, "x");
        assert!(project.claim("first", later).is_none());
        assert!(project.claim("other", start).is_none());
        for number in 1..CLAIMS_MAX {
            project.apply(&claim(&number.to_string(), "y").into(), start);
        }
        assert!(project.claim("first", start).is_some());
        project.apply(&claim("last", "z").into(), start);
        assert!(project.claim("first", start).is_none());
        assert_eq!(project.claims.len(), CLAIMS_MAX);
    }

    #[test]
    fn a_key_is_claimed_once() {
        let clock = SimulatedClock::new(1);
        let mut project = Project::default();
        let claimed = |project: &Project, claim: KeyClaimed| {
            let moment = Moment::of(&clock);
            let decided = project.decide(&mut (), ProjectCommand::Claim(claim), &moment, &());
            decided.map(|decision| decision.events.len())
        };
        assert_eq!(claimed(&project, claim("k", "x")).unwrap(), 1);
        project.apply(&claim("k", "x").into(), clock.now());
        assert_eq!(claimed(&project, claim("k", "x")).unwrap(), 0);
        assert_eq!(claimed(&project, claim("k", "y")).unwrap_err().class, "HTTPConflict");
        assert_eq!(claimed(&project, claim("l", "y")).unwrap(), 1);
    }

    #[test]
    fn a_trust_is_given_back_with_the_last_stack() {
        let before = [reserved("a", 1), granted("t"), reserved("b", 2), released("a", 1)];
        let mut project = given(&before);
        assert!(owed(&mut project).is_empty());
        assert!(project.trust_of(&alice(&["member"])).is_some());
        project.apply(&released("b", 2), DateTime::default());
        assert_eq!(owed(&mut project), ["t"]);
        // A stack that comes now gets a trust of its own.
        assert!(project.trust_of(&alice(&["member"])).is_none());
    }

    #[test]
    fn a_newer_trust_sends_the_older_one_back() {
        let mut project = given(&[reserved("a", 1), granted("old"), granted("new")]);
        assert_eq!(owed(&mut project), ["old"]);
        let gone = TrustReturned { user_id: "alice".into(), trust_id: json!({"sealed": "old"}) };
        project.apply(&gone.into(), DateTime::default());
        assert!(owed(&mut project).is_empty());
        assert_eq!(project.trust_of(&alice(&["member"])), Some(&json!({"sealed": "new"})));
    }

    #[test]
    fn a_trust_with_more_roles_is_not_had_for_fewer() {
        let (plain, full) = (&["member", "reader"], &["reader", "member", "admin"]);
        let project = given(&[granted_with("full", full), granted_with("plain", plain)]);
        assert_eq!(project.trust_of(&alice(plain)), Some(&json!({ "sealed": "plain" })));
        assert_eq!(project.trust_of(&alice(full)), Some(&json!({ "sealed": "full" })));
        assert_eq!(project.trust_of(&alice(&["reader"])), None);
        assert_eq!(project.trust_of(&Trustor::of("bob", Vec::new())), None);
    }

    #[test]
    fn work_from_before_roles_were_kept_goes_on_with_the_trust_it_began_with() {
        let unknown = Trustor { user_id: "alice".into(), roles: None };
        let mut project = given(&[granted_with("first", &["member"])]);
        project.apply(&granted_with("more", &["admin"]), DateTime::default());
        assert_eq!(project.trust_of(&unknown), Some(&json!({ "sealed": "first" })));
        // Where a log of that time has two, the older one was given back.
        let gone = TrustReturned { user_id: "alice".into(), trust_id: json!({"sealed": "first"}) };
        project.apply(&gone.into(), DateTime::default());
        assert_eq!(project.trust_of(&unknown), Some(&json!({ "sealed": "more" })));
    }
}
