//! What is done about what differs: an update that brings the cloud back to what is on record, or
//! one that makes what there is the definition.

use super::{FieldFound, Found, LookedAt};
use crate::actors::asks::{Accepted, Conditions, RequestContext, UpdateStack};
use crate::actors::engine::Engine;
use crate::model::taint::MASK;
use crate::model::{JsonMap, Refusal, Settling, StackId, TraversalOptions};
use crate::template::{Draft, Stands, is_plain};

impl Engine {
    /// Accepts an update to the definition that the stack has: what differs is brought back, and
    /// what is gone is made anew.
    pub async fn repair_drift(
        &self,
        who: &RequestContext,
        stack: StackId,
    ) -> Result<Accepted, Refusal> {
        let settles = Some(Settling::Repair);
        let options = TraversalOptions { observes: true, settles, ..TraversalOptions::default() };
        let ask = UpdateStack { existing: true, options, ..UpdateStack::default() };
        self.update_stack(who, stack, ask).await
    }

    /// Accepts an update to what there is: the values found become those of the template, or of the
    /// parameters that it reads there. Where that cannot be of one of them, nothing is changed.
    pub async fn accept_drift(
        &self,
        who: &RequestContext,
        stack: StackId,
    ) -> Result<Accepted, Refusal> {
        let claimed = self.claimed(who).await?;
        if let Some(done) = self.done(claimed.as_ref()).await? {
            return Ok(done);
        }
        let summary = self.summary(who, stack).await?;
        let found = self.drift(who, stack).await?;
        let source = self.source(&summary).await?;
        let draft = Draft::of(&source.template)
            .ok_or_else(|| Refusal::validation("The template of the stack cannot be read."))?;
        let (template, parameters) = taken_over(draft, &found)?;
        let settles = Some(Settling::Accept);
        let ask = UpdateStack {
            existing: true,
            template: Some(template),
            parameters,
            options: TraversalOptions { settles, ..TraversalOptions::default() },
            ..UpdateStack::default()
        };
        // What was compared is what is changed.
        let at = who.conditions.at.clone().unwrap_or_else(|| vec![summary.position]);
        let conditions = Conditions { at: Some(at), ..who.conditions.clone() };
        let who = RequestContext { conditions, ..who.clone() };
        let plan = self.plan_update(&who, stack, &ask).await?;
        let lost = plan.changes.replaced.iter().chain(&plan.changes.deleted).next();
        if let Some(resource) = lost {
            return Err(Refusal::validation(format!(
                "What there is cannot be accepted: {} would be replaced.",
                resource.name
            )));
        }
        self.update_stack(&who, stack, ask).await
    }
}

/// The template and the parameters that say what there is; or field by field why they cannot.
fn taken_over(
    mut draft: Draft,
    found: &[LookedAt],
) -> Result<(serde_json::Value, JsonMap), Refusal> {
    let (mut parameters, mut problems, mut differs) = (JsonMap::new(), Vec::new(), false);
    for looked in found {
        let fields = match &looked.found {
            Found::Same | Found::NotCompared => continue,
            Found::Gone => {
                problems.push(format!("{} is gone", looked.path));
                continue;
            }
            Found::Unknown(why) => {
                problems.push(format!("{} is unknown ({why})", looked.path));
                continue;
            }
            Found::Differs(fields) => fields,
        };
        differs = true;
        for field in fields {
            let place = format!("{}.{}", looked.path, field.name);
            match taken(&mut draft, &mut parameters, &looked.path, field) {
                Ok(()) => {}
                Err(why) => problems.push(format!("{place} {why}")),
            }
        }
    }
    if !problems.is_empty() {
        let problems = problems.join("; ");
        return Err(Refusal::validation(format!("What there is cannot be accepted: {problems}.")));
    }
    match differs {
        true => Ok((draft.template(), parameters)),
        false => Err(Refusal::validation("Nothing differs from what is on record.")),
    }
}

/// Takes one value over, or says why it cannot be.
fn taken(
    draft: &mut Draft,
    parameters: &mut JsonMap,
    resource: &str,
    field: &FieldFound,
) -> Result<(), String> {
    let live = &field.live;
    if live.to_string().contains(MASK) {
        return Err("is secret".to_owned());
    }
    if resource.contains('/') {
        return Err("stands in the template of a nested stack".to_owned());
    }
    match draft.stands(resource, &field.name) {
        Stands::Plain if is_plain(live) => draft.write(resource, &field.name, live.clone()),
        Stands::Plain => return Err("would read as a function".to_owned()),
        Stands::Parameter(name) => {
            parameters.insert(name, live.clone());
        }
        Stands::Shared(name) => {
            return Err(format!("is the parameter {name}, which is read elsewhere, too"));
        }
        Stands::Computed => return Err("is computed".to_owned()),
        Stands::Missing => return Err("is not in the template".to_owned()),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn draft() -> Draft {
        Draft::of(&json!({
            "heat_template_version": "2021-04-16",
            "parameters": { "size": { "type": "number" } },
            "resources": { "a": { "type": "T", "properties": {
                "name": "own", "size": { "get_param": "size" }, "text": { "get_file": "f" } } } },
        }))
        .unwrap()
    }

    fn found(path: &str, fields: &[(&str, Value)]) -> LookedAt {
        let fields = fields.iter().map(|(name, live)| FieldFound {
            name: (*name).to_owned(),
            recorded: Value::Null,
            live: live.clone(),
        });
        LookedAt {
            path: path.to_owned(),
            type_name: "T".to_owned(),
            physical_id: None,
            found: Found::Differs(fields.collect()),
        }
    }

    #[test]
    fn values_of_the_template_and_of_parameters_are_taken_over() {
        let fields = [("name", json!("theirs")), ("size", json!(7))];
        let (template, parameters) = taken_over(draft(), &[found("a", &fields)]).unwrap();
        assert_eq!(template["resources"]["a"]["properties"]["name"], "theirs");
        assert_eq!(Value::Object(parameters), json!({ "size": 7 }));
    }

    #[test]
    fn what_cannot_be_taken_over_is_told_field_by_field() {
        let gone = LookedAt { found: Found::Gone, ..found("b", &[]) };
        let fields = [
            ("name", json!({ "get_param": "size" })),
            ("text", json!("x")),
            ("other", json!("x")),
            ("size", json!(MASK)),
        ];
        let all = [found("a", &fields), gone, found("group/0", &[("name", json!("x"))])];
        let refusal = taken_over(draft(), &all).unwrap_err();
        assert_eq!(
            refusal.message,
            "What there is cannot be accepted: a.name would read as a function; a.text is \
             computed; a.other is not in the template; a.size is secret; b is gone; group/0.name \
             stands in the template of a nested stack."
        );
    }

    #[test]
    fn where_nothing_differs_there_is_nothing_to_accept() {
        let same = LookedAt { found: Found::Same, ..found("a", &[]) };
        let refusal = taken_over(draft(), &[same]).unwrap_err();
        assert_eq!(refusal.message, "Nothing differs from what is on record.");
    }
}
