//! A request that is only resolved: template, environments, parameters and files, in values as
//! wide as the text that they came in, where JSON's end at 64 bits.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::definition::{Reading, StackDefinition};
use super::environment::merge;
use super::error::Outcome;
use super::node::{Form, Node};
use super::parameters::Values;
use super::parameters::schema;
use super::value::{Datum, DatumMap};
use super::version::Version;
use super::{PseudoParameters, TypeLookup, document, json};
use crate::model::{JsonMap, Refusal};

/// What is to be resolved.
#[derive(Debug)]
pub struct Request {
    /// Whatever the sender knows it by.
    pub id: Value,
    template: Node,
    environments: Vec<String>,
    parameters: DatumMap,
    files: BTreeMap<String, String>,
}

impl Request {
    /// A request from files.
    pub fn new(
        template: String,
        environments: Vec<String>,
        parameters: &JsonMap,
        files: BTreeMap<String, String>,
    ) -> Self {
        let parameters = parameters.iter().map(|(name, value)| (name.into(), value.into()));
        Self {
            id: Value::Null,
            template: Node::from(Datum::Text(template.into())),
            environments,
            parameters: parameters.collect(),
            files,
        }
    }

    /// Reads a JSON object: `{id, template, environments, parameters, files}`, of which only
    /// `template` must be there.
    pub fn read(line: &str) -> Result<Self, Refusal> {
        let wrong = |what: &str| Refusal::new("HTTPBadRequest", format!("The request {what}."));
        let node =
            json::parse(line).map_err(|error| wrong(&format!("must be a JSON object: {error}")))?;
        let field = |name: &str| node.get(name).filter(|node| !node.is_null());
        if node.as_map().is_none() {
            return Err(wrong("must be a JSON object"));
        }
        let text = |node: &Node| node.as_text().map(str::to_owned);
        let environments = field("environments").map_or(Some(Vec::new()), |node| {
            node.as_list()?.iter().map(text).collect::<Option<Vec<_>>>()
        });
        let files = field("files").map_or(Some(BTreeMap::new()), |node| {
            node.as_map()?
                .iter()
                .map(|(name, node)| Some((name.to_string(), text(node)?)))
                .collect()
        });
        let parameters = match field("parameters").map(Node::to_datum) {
            None => Some(DatumMap::default()),
            Some(Datum::Map(parameters)) => Some(parameters),
            Some(_) => None,
        };
        Ok(Self {
            id: field("id").map(Node::to_json).unwrap_or_default(),
            template: node.get("template").cloned().unwrap_or_default(),
            environments: environments
                .ok_or_else(|| wrong("has environments that are no texts"))?,
            parameters: parameters.ok_or_else(|| wrong("has parameters that are no map"))?,
            files: files.ok_or_else(|| wrong("has files that are no texts"))?,
        })
    }

    /// The definition that the request comes to, its resources and outputs not checked yet. The
    /// environments are merged in their order, above the parameters.
    pub fn load(
        &self,
        pseudo: &PseudoParameters,
        types: &dyn TypeLookup,
    ) -> Result<StackDefinition, Refusal> {
        let reading = Reading::unbounded(Values::Required);
        Ok(self.definition(pseudo, types, reading)?)
    }

    fn definition(
        &self,
        pseudo: &PseudoParameters,
        types: &dyn TypeLookup,
        reading: Reading,
    ) -> Outcome<StackDefinition> {
        let root = match &self.template.form {
            Form::Map(_) => self.template.clone(),
            _ => document::template(&self.template.to_json())?,
        };
        let mut files = self.files.clone();
        let numbered = self.environments.iter().enumerate();
        let named = numbered.map(|(number, text)| (format!("env-{number}.yaml"), text.clone()));
        let names: Vec<String> = named.clone().map(|(name, _)| name).collect();
        files.extend(named);
        let own = schema::read_all(&root, Version::of(&root)?)?;
        let schemas = merge::all_schemas(&files, own)?;
        let parameters = ("parameters".into(), Datum::Map(self.parameters.clone()));
        let mut sections: DatumMap = [parameters].into_iter().collect();
        merge::merge_files(&mut sections, &names, &files, &schemas)?;
        let environment = Node::from(Datum::Map(sections));
        StackDefinition::of_documents(
            root,
            &environment,
            Arc::new(files.into()),
            pseudo,
            types,
            reading,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_stay_as_wide_as_they_are_written() {
        let line = r#"{"template": "heat_template_version: 2018-08-31\nparameters: {n: {type: number}, m: {type: number}}",
            "parameters": {"n": 100000000000000000000},
            "environments": ["parameters: {m: 1000000000000000000000}"]}"#;
        let request = Request::read(line).unwrap();
        let definition =
            request.load(&PseudoParameters::default(), &super::super::definition::AnyType).unwrap();
        let described = definition.describe();
        assert!(described.contains("100000000000000000000,"), "{described}");
        assert!(described.contains("1000000000000000000000}"), "{described}");
    }

    #[test]
    fn what_is_no_request_is_refused() {
        for line in ["", "[]", "{\"files\": []}", "{\"files\": {\"a\": 1}}", "{\"parameters\": 1}"]
        {
            assert_eq!(Request::read(line).unwrap_err().class, "HTTPBadRequest");
        }
    }
}
