//! One request of a case, and what it comes to.

use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// A request, and what it comes to. Without an end the next request follows at once.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Step {
    /// Waits before the request until a resource is at work, or until the event list has a line.
    pub(super) once: Option<String>,

    /// Resources in short: a map of properties is a test resource.
    pub(super) create: Option<IndexMap<String, Value>>,
    /// The same, by PUT.
    pub(super) update: Option<IndexMap<String, Value>>,
    /// The same, by PATCH; empty to send no template.
    pub(super) patch: Option<IndexMap<String, Value>>,
    /// The same, to be told only.
    pub(super) preview: Option<IndexMap<String, Value>>,
    pub(super) outputs: Map<String, Value>,
    pub(super) parameters: Map<String, Value>,
    /// What goes into the body besides the template and the files.
    pub(super) with: Map<String, Value>,
    /// Files that are others than the case's.
    pub(super) files: IndexMap<String, Value>,
    pub(super) delete: bool,
    pub(super) abandon: bool,
    /// Adopts what was abandoned last.
    pub(super) adopt: bool,
    /// An action by its name.
    pub(super) act: Option<String>,
    pub(super) snapshot: Option<String>,
    pub(super) restore: Option<String>,
    /// Marks a resource as unhealthy, or as healthy, by its path.
    pub(super) mark: Option<String>,
    pub(super) heal: Option<String>,
    /// A signal to a resource by its path.
    pub(super) signal: IndexMap<String, Value>,
    /// Any request below the stack's path: the verb, the path, and perhaps a body. One that is
    /// refused changes nothing.
    pub(super) ask: Vec<Value>,
    /// A look at a path below the stack's.
    pub(super) get: Option<String>,

    /// The status code, where it is not the one that the request always has.
    pub(super) code: Option<u16>,
    /// `CODE CLASS: MESSAGE`.
    pub(super) refused: Option<String>,
    /// Parts that the answer has.
    pub(super) answer: Option<Value>,
    /// What a preview names by kind of change, each as `NAME TYPE`.
    pub(super) changes: Option<IndexMap<String, Vec<String>>>,
    /// The state in which the stack comes to rest.
    pub(super) end: Option<String>,
    pub(super) reason: Option<String>,
    /// What the event list has more than before: `NAME STATE`, or `NAME STATE: REASON`; `…` in a
    /// reason is anything.
    pub(super) events: Option<Vec<String>>,
    /// The same name by name, where the order among names is left to chance.
    pub(super) each: Option<IndexMap<String, Vec<String>>>,
    /// These lines in this order, others between them.
    pub(super) among: Vec<String>,
    pub(super) resources: Option<Vec<String>>,
    pub(super) outputs_are: Option<Map<String, Value>>,
    /// Names with the physical id that they had when they were first seen.
    pub(super) kept: Vec<String>,
    /// Names with another one, which is the one to keep from now on.
    pub(super) replaced: Vec<String>,
    /// What is seen of the stacks behind resources, by the path of their names: `g.0`.
    pub(super) inside: IndexMap<String, Step>,
}

impl Step {
    /// The body of a request that has a template.
    pub(super) fn body(&self, files: &IndexMap<String, Value>) -> Value {
        let mut body = Map::new();
        let given = [&self.create, &self.update, &self.patch, &self.preview];
        if let Some(resources) = given.into_iter().flatten().find(|given| !given.is_empty()) {
            let mut template = hot(resources);
            template["outputs"] = Value::Object(self.outputs.clone());
            template["parameters"] = Value::Object(self.parameters.clone());
            body.insert("template".into(), template);
        } else if self.create.is_some() || self.update.is_some() {
            body.insert("template".into(), hot(&IndexMap::new()));
        }
        let mut named: IndexMap<&String, &Value> = files.iter().collect();
        named.extend(&self.files);
        let is_sent = self.patch.is_none() || !self.files.is_empty();
        if is_sent && !named.is_empty() {
            let text = |resources: &Value| file(resources).to_string();
            let files = named.iter().map(|(name, of)| ((*name).clone(), text(of).into()));
            body.insert("files".into(), Value::Object(files.collect()));
        }
        body.extend(self.with.clone());
        Value::Object(body)
    }
}

/// A template in a file: resources in short, or with its other sections a whole one.
fn file(given: &Value) -> Value {
    let sections = |given: &Value| {
        let resources = given.as_object().into_iter().flatten();
        hot(&resources.map(|(name, of)| (name.clone(), of.clone())).collect())
    };
    let Some(resources) = given.get("resources") else { return sections(given) };
    let mut whole = given.clone();
    let short = sections(resources);
    whole["heat_template_version"] = short["heat_template_version"].clone();
    whole["resources"] = short["resources"].clone();
    whole
}

/// A template of resources in short.
fn hot(resources: &IndexMap<String, Value>) -> Value {
    const SECTIONS: [&str; 7] = [
        "type",
        "properties",
        "depends_on",
        "metadata",
        "deletion_policy",
        "update_policy",
        "external_id",
    ];
    let whole = resources.iter().map(|(name, given)| {
        let is_whole = SECTIONS.iter().any(|section| given.get(section).is_some());
        let mut whole = if is_whole { given.clone() } else { json!({ "properties": given }) };
        if whole.get("type").is_none() {
            whole["type"] = "OS::Heat::TestResource".into();
        }
        (name.clone(), whole)
    });
    let resources = Value::Object(whole.collect());
    json!({ "heat_template_version": "2021-04-16", "resources": resources })
}
