//! Actions on stacks as wholes.

use actix_web::HttpRequest;
use serde_json::{Value, json};

use super::arn::{self, Arn};
use super::asked::Asked;
use super::fault::{CfnFault, INVALID_ACTION, INVALID_VALUE, MISSING_PARAMETER};
use crate::api::ApiState;
use crate::api::context::Context;
use crate::api::error::Fault;
use crate::api::url::Links;
use crate::api::v1::stacks::{create, definition, show, update};
use crate::api::v1::{StackPath, any_stack, requester, seen, stack_named, templates, writer};
use crate::model::JsonMap;
use crate::model::sizes::{Room, json_bytes};
use crate::projections::{StackQuery, StackRow};
use crate::template::template_map_text;

/// The stack that a template is estimated as.
const ESTIMATED: &str = "estimate";

/// What a template is called that can be read and does not hold together.
const INVALID: [&str; 2] = ["HTTPBadRequest", "StackValidationFailed"];

/// What an action gives, and why it does not.
pub(in crate::api) type Outcome = Result<Value, CfnFault>;

/// A request with all that it takes to serve it.
pub(in crate::api) struct Served<'a> {
    pub(in crate::api) state: &'a ApiState,
    pub(in crate::api) context: &'a Context,
    pub(in crate::api) request: &'a HttpRequest,
    pub(in crate::api) asked: &'a Asked,
}

impl Served<'_> {
    /// The living stack that `StackName` names, by its name, its id or its ARN.
    pub(super) async fn stack(&self) -> Result<StackRow, CfnFault> {
        let name = self.asked.needed("StackName")?;
        let stack = self.stack_of(name).await?;
        if stack.is_deleted() { Err(Fault::no_stack(name).into()) } else { Ok(stack) }
    }

    /// The same, where a deleted one may be looked at, too: by its id or its ARN.
    pub(super) async fn any_stack(&self) -> Result<StackRow, CfnFault> {
        self.stack_of(self.asked.needed("StackName")?).await
    }

    async fn stack_of(&self, name: &str) -> Result<StackRow, CfnFault> {
        let (state, context) = (self.state, self.context);
        if let Some(arn) = Arn::read(name) {
            return self.any_stack_at(&arn).await;
        }
        let found = stack_named(state, context, name).await?;
        found.ok_or_else(|| Fault::no_stack(name).into())
    }

    /// The living stack of an ARN.
    pub(super) async fn stack_at(&self, arn: &Arn) -> Result<StackRow, CfnFault> {
        let stack = self.any_stack_at(arn).await?;
        if stack.is_deleted() { Err(Fault::no_stack(&arn.name).into()) } else { Ok(stack) }
    }

    async fn any_stack_at(&self, arn: &Arn) -> Result<StackRow, CfnFault> {
        let path = StackPath { name: arn.name.clone(), id: arn.id.clone() };
        let stack = any_stack(self.state, self.context, &path).await?;
        match stack.project_id.as_str() == arn.project {
            true => Ok(stack),
            false => Err(Fault::no_stack(&arn.name).into()),
        }
    }

    /// The project's own stacks, newest first.
    async fn stacks(&self) -> Result<Vec<StackRow>, CfnFault> {
        self.stacks_and(false).await
    }

    /// The same, with those within them where that is asked for.
    pub(super) async fn stacks_and(&self, nested: bool) -> Result<Vec<StackRow>, CfnFault> {
        let query = StackQuery {
            project: Some(self.context.caller.project_id.clone()),
            nested,
            ..StackQuery::default()
        };
        Ok(self.state.views.stacks(query).await?)
    }

    pub(super) async fn describe_stacks(&self) -> Outcome {
        let stacks = match self.asked.param("StackName") {
            Some(name) => vec![self.stack_of(name).await?],
            None => self.stacks().await?,
        };
        let links = Links::of(self.request);
        let (mut described, mut room) = (Vec::with_capacity(stacks.len()), Room::default());
        for stack in &stacks {
            let shown =
                of_shown(stack, &show::of(self.state, self.context, &links, stack.id, true).await?);
            room.take(json_bytes(&shown))?;
            described.push(shown);
        }
        Ok(json!({ "Stacks": described }))
    }

    pub(super) async fn create_stack(&self) -> Outcome {
        let (state, context) = (self.state, self.context);
        let who = writer(state, context, &context.caller.project_id).await?;
        let mut body = self.definition().await?;
        body.insert("stack_name".into(), self.asked.needed("StackName")?.into());
        let ask = create::read(state, &who, &body).await?;
        let accepted = state.engine.create_stack(&who, ask).await?;
        seen(state, &accepted).await?;
        let (project, id) = (&context.caller.project_id, accepted.stack.to_string());
        Ok(json!({ "StackId": arn::of_parts(project, accepted.name.as_str(), &id) }))
    }

    pub(super) async fn update_stack(&self) -> Outcome {
        let (state, context) = (self.state, self.context);
        let stack = self.stack().await?;
        let who = writer(state, context, &stack.project_id).await?;
        let body = self.definition().await?;
        let ask = update::read(state, &who, stack.id, &body, update::Existing::Forgotten).await?;
        let accepted = state.engine.update_stack(&who, stack.id, ask).await?;
        seen(state, &accepted).await?;
        Ok(json!({ "StackId": arn::of(&stack) }))
    }

    pub(super) async fn delete_stack(&self) -> Outcome {
        let stack = self.stack().await?;
        let who = requester(self.state, self.context);
        let accepted = self.state.engine.delete_stack(&who, stack.id).await?;
        seen(self.state, &accepted).await?;
        Ok(Value::from(""))
    }

    pub(super) async fn cancel_update(&self) -> Outcome {
        let stack = self.stack().await?;
        let who = requester(self.state, self.context);
        let accepted = self.state.engine.cancel_update(&who, stack.id, true).await?;
        seen(self.state, &accepted).await?;
        Ok(json!({}))
    }

    pub(super) async fn get_template(&self) -> Outcome {
        let stack = self.any_stack().await?;
        let template = definition::template_of(self.state, &stack).await?;
        Ok(json!({ "TemplateBody": template }))
    }

    pub(super) async fn validate_template(&self) -> Outcome {
        let template = self.template().await?;
        let body = JsonMap::from_iter([("template".to_owned(), template)]);
        let who = requester(self.state, self.context);
        let validated = match templates::validated(self.state, &who, &body, false).await {
            Ok(validated) => validated,
            // As in Heat: that it is not valid is what was asked for.
            Err(fault) if INVALID.contains(&fault.class()) => {
                return Ok(fault.shown().unwrap_or_default().into());
            }
            Err(fault) => return Err(fault.into()),
        };
        let mut result = JsonMap::new();
        for (name, value) in validated.as_object().cloned().unwrap_or_default() {
            let value = match (name.as_str(), &value) {
                ("Parameters", Value::Object(parameters)) => {
                    parameters.iter().map(|(key, value)| of_parameter(key, value)).collect()
                }
                _ => value,
            };
            result.insert(name, value);
        }
        Ok(Value::Object(result))
    }

    pub(super) async fn estimate_template_cost(&self) -> Outcome {
        let Some(prices) = &self.state.settings.prices else {
            let text = "this cloud has no prices; its operator may set some ([hearth] price_file)";
            return Err(CfnFault::new(INVALID_ACTION, text));
        };
        let mut body = self.definition().await?;
        body.insert("stack_name".into(), ESTIMATED.into());
        let who = requester(self.state, self.context);
        let mut ask = create::read(self.state, &who, &body).await?;
        let plan = self.state.engine.plan_create(&who, &mut ask).await?;
        Ok(json!({ "Url": prices.estimate(&plan.changes) }))
    }

    /// What a stack is to be, as the other API takes it.
    async fn definition(&self) -> Result<JsonMap, CfnFault> {
        let asked = self.asked;
        asked.refuse_both("DisableRollback", "OnFailure")?;
        let mut body = JsonMap::new();
        body.insert("template".into(), self.template().await?);
        let parameters = asked.pairs("Parameters", "ParameterKey", "ParameterValue");
        let parameters = parameters.into_iter().map(|(key, value)| (key, value.into()));
        body.insert("parameters".into(), Value::Object(parameters.collect()));
        if let Some(minutes) = asked.param("TimeoutInMinutes") {
            body.insert("timeout_mins".into(), minutes.into());
        }
        let disabled = match asked.param("OnFailure") {
            Some("DO_NOTHING") => Some("true"),
            Some("ROLLBACK" | "DELETE") => Some("false"),
            Some(_) | None => asked.param("DisableRollback"),
        };
        if let Some(disabled) = disabled {
            body.insert("disable_rollback".into(), disabled.into());
        }
        Ok(body)
    }

    async fn template(&self) -> Outcome {
        let (state, asked) = (self.state, self.asked);
        let who = requester(state, self.context);
        // Heat's name of it, and the one that Amazon's clients send.
        let url = asked.param("TemplateUrl").or_else(|| asked.param("TemplateURL"));
        let text = match (asked.param("TemplateBody"), url) {
            (Some(text), _) => text.to_owned(),
            (None, Some(url)) => state.engine.fetch(&who, url).await.map_err(|reason| {
                CfnFault::new(INVALID_VALUE, format!("Failed to fetch template: {reason}"))
            })?,
            (None, None) => {
                let text = "TemplateBody or TemplateUrl were not given.";
                return Err(CfnFault::new(MISSING_PARAMETER, text));
            }
        };
        let limit = state.settings.template_size_max;
        if text.len() > limit {
            return Err(crate::model::sizes::too_long("Template", text.len(), limit).into());
        }
        let read =
            state.engine.work(&self.context.caller.project_id, move || template_map_text(&text));
        read.await?.map(Value::Object).map_err(|_| {
            CfnFault::new(INVALID_VALUE, "The Template must be a JSON or YAML document.")
        })
    }
}

/// A stack as the other API shows it, by Amazon's names.
fn of_shown(stack: &StackRow, shown: &Value) -> Value {
    let mut described = JsonMap::new();
    let mut put = |name: &str, value: Value| described.insert(name.to_owned(), value);
    put("Capabilities", json!([]));
    put("CreationTime", shown["creation_time"].clone());
    put("Description", shown["description"].clone());
    put("DisableRollback", shown["disable_rollback"].clone());
    put("NotificationARNs", json!([]));
    let parameters = shown["parameters"].as_object().into_iter().flatten();
    let parameter =
        |(key, value): (&String, &Value)| json!({ "ParameterKey": key, "ParameterValue": value });
    put("Parameters", parameters.map(parameter).collect());
    put("StackId", arn::of(stack).into());
    put("StackName", shown["stack_name"].clone());
    put("StackStatusReason", shown["stack_status_reason"].clone());
    put("TimeoutInMinutes", shown["timeout_mins"].clone());
    if !shown["updated_time"].is_null() {
        put("LastUpdatedTime", shown["updated_time"].clone());
    }
    put("StackStatus", shown["stack_status"].clone());
    let outputs = shown["outputs"].as_array().into_iter().flatten();
    let output = |output: &Value| {
        json!({
            "Description": output["description"],
            "OutputKey": output["output_key"],
            "OutputValue": output["output_value"],
        })
    };
    put("Outputs", outputs.map(output).collect());
    Value::Object(described)
}

fn of_parameter(key: &str, declared: &Value) -> Value {
    let or = |name: &str, otherwise: &str| {
        declared.get(name).cloned().unwrap_or_else(|| otherwise.into())
    };
    json!({
        "ParameterKey": key,
        "DefaultValue": or("Default", ""),
        "Description": or("Description", ""),
        "NoEcho": or("NoEcho", "false"),
    })
}
