//! Types whose work is a stack of a template that their properties have: within the resource's own
//! stack, or beside it, here or elsewhere.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Declaration, dotted};
use crate::model::{IndexMap, JsonMap, Refusal};
use crate::openstack::Elsewhere;
use crate::resource_types::child::{ChildAsk, ChildSeen, ChildWanted, Nested, arn};
use crate::resource_types::failure::Failure;
use crate::resource_types::job::{Change, Subject, UpdateKind};
use crate::resource_types::schema::AttributeSchema;
use crate::template::NestedTemplate;

/// What the stack is made of. Texts name properties, by dotted paths where `beside` has them.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stack {
    pub template: Template,
    pub parameters: String,
    /// The minutes that making it may take.
    pub timeout: String,
    /// That it stands beside the resource's stack, and where.
    #[serde(default)]
    pub beside: Option<Place>,
    /// What stands before the name of an output where that is the name of an attribute.
    #[serde(default)]
    pub outputs: Option<String>,
    /// What `get_resource` gives.
    #[serde(default)]
    pub reference: Reference,
}

/// Where the template is.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Template {
    /// In a property.
    Text(String),
    /// At the address in a property.
    At(String),
}

/// The properties that say where a stack is to stand.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Place {
    pub region: String,
    pub credential: String,
    pub ca_cert: String,
    pub insecure: String,
}

/// By what a stack is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reference {
    #[default]
    Id,
    Arn,
}

impl Stack {
    /// The properties that it names, with their keys.
    pub(super) fn names(&self) -> Vec<(&'static [&'static str], &String)> {
        let template: (&[&str], _) = match &self.template {
            Template::Text(name) => (&["template", "text"], name),
            Template::At(name) => (&["template", "at"], name),
        };
        let mut names =
            vec![template, (&["parameters"], &self.parameters), (&["timeout"], &self.timeout)];
        if let Some(place) = &self.beside {
            names.extend([
                (&["beside", "region"] as &[&str], &place.region),
                (&["beside", "credential"], &place.credential),
                (&["beside", "ca_cert"], &place.ca_cert),
                (&["beside", "insecure"], &place.insecure),
            ]);
        }
        names
    }

    /// Where the stack is to stand.
    pub(in crate::resource_types) fn place<'a>(&self, properties: &'a JsonMap) -> Elsewhere<'a> {
        let Some(place) = &self.beside else { return Elsewhere::default() };
        let text = |path: &str| {
            let text = dotted::within(properties, path).and_then(Value::as_str);
            text.filter(|text| !text.is_empty())
        };
        let insecure = dotted::within(properties, &place.insecure).and_then(Value::as_bool);
        Elsewhere {
            region: text(&place.region),
            credential: text(&place.credential),
            ca_cert: text(&place.ca_cert),
            insecure: insecure.unwrap_or_default(),
        }
    }

    /// The property that the template is or stands at.
    pub(in crate::resource_types) fn template<'a>(
        &self,
        properties: &'a JsonMap,
    ) -> Option<&'a str> {
        let (Template::Text(name) | Template::At(name)) = &self.template;
        properties.get(name).and_then(Value::as_str)
    }

    /// The values of its parameters.
    pub(in crate::resource_types) fn given(&self, properties: &JsonMap) -> JsonMap {
        let given = properties.get(&self.parameters).and_then(Value::as_object);
        given.cloned().unwrap_or_default()
    }
}

/// A type of the file's.
pub(super) struct Child {
    stack: Stack,
    attributes: IndexMap<String, AttributeSchema>,
}

impl Child {
    pub(super) fn of(declaration: &Declaration, stack: &Stack) -> Self {
        Self { stack: stack.clone(), attributes: declaration.attributes.clone() }
    }
}

impl Nested for Child {
    fn wanted(&self, ask: &ChildAsk<'_>) -> Result<ChildWanted, Failure> {
        let properties = &ask.subject.properties;
        let template = self.stack.template(properties).unwrap_or_default();
        let template = match &self.stack.template {
            Template::Text(_) => NestedTemplate::Text(template.to_owned()),
            Template::At(_) => {
                let found = ask.definition.template_text(template);
                found.map_err(|error| Refusal::new(error.class, error.message))?;
                NestedTemplate::At(template.to_owned())
            }
        };
        let timeout = properties.get(&self.stack.timeout).and_then(Value::as_u64);
        Ok(ChildWanted {
            template,
            parameters: self.stack.given(properties),
            timeout_mins: timeout.and_then(|minutes| u32::try_from(minutes).ok()),
            keeps_files: false,
        })
    }

    fn parameters(&self) -> Option<&str> {
        Some(&self.stack.parameters)
    }

    fn elsewhere<'a>(&self, subject: &'a Subject) -> Elsewhere<'a> {
        self.stack.place(&subject.properties)
    }

    fn stands_beside(&self) -> bool {
        self.stack.beside.is_some()
    }

    /// What is in another region is another stack; another credential opens the same one.
    fn on_change(&self, change: Change<'_>) -> Option<UpdateKind> {
        let Change { subject, before, .. } = change;
        let region = |properties| self.stack.place(properties).region;
        let name = subject.name.clone().unwrap_or_default();
        let reason = format!("The Resource {name} requires replacement.");
        (region(before) != region(&subject.properties)).then_some(UpdateKind::Replace { reason })
    }

    fn reference(&self, subject: &Subject) -> Value {
        match self.stack.reference {
            Reference::Id => subject.physical_id.as_deref().into(),
            Reference::Arn => arn(subject),
        }
    }

    /// Its attributes are those of the file, and outputs by their names.
    fn attribute(&self, subject: &Subject, child: &ChildSeen, name: &str) -> Option<Value> {
        if let Some(before) = &self.stack.outputs {
            return child.outputs.get(name.strip_prefix(before)?).cloned();
        }
        let shown = json!({ "stack_name": subject.physical_name, "outputs": child.outputs });
        let schema = self.attributes.get(name)?;
        dotted::one(&shown, schema.field.as_deref().unwrap_or(name)).cloned()
    }

    fn attribute_names(&self, child: &ChildSeen) -> Vec<String> {
        match &self.stack.outputs {
            Some(before) => child.outputs.keys().map(|name| format!("{before}{name}")).collect(),
            None => self.attributes.keys().cloned().collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resource_types::declared::reader;

    fn child(keys: &str) -> Child {
        let text = format!("type: A::B\nclass: B\n{keys}");
        let declaration = reader::read(&text).unwrap_or_else(|mistakes| panic!("{mistakes:?}"));
        Child::of(&declaration, declaration.stack.as_ref().unwrap())
    }

    fn subject(properties: Value) -> Subject {
        let properties = properties.as_object().cloned().unwrap_or_default();
        let physical_id = Some("1".to_owned());
        Subject { properties, physical_id, physical_name: "s-a".to_owned(), ..Subject::default() }
    }

    fn seen() -> ChildSeen {
        let outputs = JsonMap::from_iter([("a.b".to_owned(), 7.into())]);
        ChildSeen { outputs, ..ChildSeen::default() }
    }

    #[test]
    fn outputs_are_attributes_by_their_names_where_the_file_says_so() {
        let child = child(
            "stack: { template: { at: url }, parameters: p, timeout: t, outputs: \"Out.\", \
             reference: arn }\n",
        );
        let subject = subject(json!({}));
        assert_eq!(child.attribute(&subject, &seen(), "Out.a.b"), Some(json!(7)));
        assert_eq!(child.attribute(&subject, &seen(), "a.b"), None);
        assert_eq!(child.attribute_names(&seen()), ["Out.a.b"]);
        assert_eq!(child.reference(&subject), "arn:openstack:heat:::stacks/s-a/1");
        assert!(!child.stands_beside());
    }

    #[test]
    fn another_place_beside_is_another_stack_and_attributes_are_those_of_the_file() {
        let child = child(
            "attributes: { known_as: { field: stack_name }, outputs: {} }\n\
             stack: { template: { text: t }, parameters: p, timeout: t, beside: { \
             region: in.region, credential: in.secret, ca_cert: in.ca, insecure: in.open } }\n",
        );
        let (here, there) = (subject(json!({})), subject(json!({ "in": { "region": "r" } })));
        assert_eq!(child.elsewhere(&there).region, Some("r"));
        assert_eq!(child.elsewhere(&here), Elsewhere::default());
        let changed = std::collections::BTreeSet::new();
        let change = |subject| {
            child.on_change(Change { subject, before: &there.properties, changed: &changed })
        };
        assert!(matches!(change(&here), Some(UpdateKind::Replace { .. })));
        assert_eq!(change(&there), None);
        assert_eq!(child.attribute(&here, &seen(), "known_as"), Some(json!("s-a")));
        assert_eq!(child.attribute(&here, &seen(), "outputs"), Some(json!({ "a.b": 7 })));
        assert_eq!(child.reference(&here), "1");
    }
}
