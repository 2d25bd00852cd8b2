//! What a plan's id is made of.

use serde_json::{Value, json};

use super::listing::UNCHANGED;
use crate::actors::previewed::Preview;
use crate::events::Position;
use crate::events::vault::Vault;
use crate::model::StackRevision;
use crate::model::plan_id::{DIGEST_BYTES, PlanId};

/// The id of a plan. Digests are made with the node's master key: nobody guesses from an id the
/// secrets in what was asked for.
pub(super) fn id_of(
    vault: &Vault,
    (revision, position): (StackRevision, Position),
    asked: &Value,
    plan: &Preview,
) -> PlanId {
    let digest = |value: &Value| {
        let mut part = [0; DIGEST_BYTES];
        part.copy_from_slice(&vault.digest(value.to_string().as_bytes())[..DIGEST_BYTES]);
        part
    };
    let (asked, foreseen) = (digest(asked), digest(&foreseen(plan)));
    PlanId { revision, position: position.0, asked, foreseen }
}

/// What becomes of each resource, without what a plan shows beside it. New resources of stacks
/// within are counted: a group may give them names by chance.
fn foreseen(plan: &Preview) -> Value {
    let listed = plan.listed();
    let is_named = |change: &str, depth: usize| change != "created" || depth == 0;
    let named = listed.iter().filter(|it| it.change != UNCHANGED && is_named(it.change, it.depth));
    let entries: Vec<Value> = named
        .map(|it| {
            let differs = it.entry.differs.iter();
            let differs: Vec<_> = differs.map(|it| (&it.name, &it.old, &it.new)).collect();
            let entry = it.entry;
            json!([
                it.path,
                entry.type_name,
                entry.physical_id,
                it.change,
                it.at_least,
                entry.why,
                differs
            ])
        })
        .collect();
    json!([listed.len(), entries])
}
