//! The two languages of templates, HOT and CloudFormation's: what they call the sections and the
//! keys that they share. One parser reads both by these tables.

use super::node::Node;

/// A language of templates.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Dialect {
    pub(crate) language: Language,
    pub(crate) sections: Sections,
    pub(crate) parameter: ParameterKeys,
    pub(crate) resource: ResourceKeys,
    pub(crate) output: OutputKeys,
}

/// Which of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    Hot,
    Cfn,
}

impl Language {
    /// As the API names it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Language::Hot => "hot",
            Language::Cfn => "cfn",
        }
    }
}

/// The sections of a template.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Sections {
    /// The keys that may name the version.
    pub(crate) versions: &'static [&'static str],
    pub(crate) description: &'static str,
    pub(crate) parameter_groups: Option<&'static str>,
    pub(crate) parameters: &'static str,
    pub(crate) mappings: &'static str,
    pub(crate) conditions: &'static str,
    pub(crate) resources: &'static str,
    pub(crate) outputs: &'static str,
}

/// The keys of a parameter that both languages have.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ParameterKeys {
    pub(crate) all: &'static [&'static str],
    pub(crate) kind: &'static str,
    pub(crate) description: &'static str,
    pub(crate) default: &'static str,
    pub(crate) hidden: &'static str,
    pub(crate) label: &'static str,
}

/// The keys of a resource.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ResourceKeys {
    pub(crate) kind: &'static str,
    pub(crate) properties: &'static str,
    pub(crate) metadata: &'static str,
    pub(crate) depends_on: &'static str,
    pub(crate) deletion_policy: &'static str,
    pub(crate) update_policy: &'static str,
    pub(crate) description: &'static str,
    pub(crate) external_id: Option<&'static str>,
    pub(crate) condition: &'static str,
    /// What a condition must be, in Heat's words.
    pub(crate) condition_kind: &'static str,
}

/// The keys of an output.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct OutputKeys {
    pub(crate) value: &'static str,
    pub(crate) description: &'static str,
    pub(crate) condition: &'static str,
}

/// Heat's own language.
pub(crate) static HOT: Dialect = Dialect {
    language: Language::Hot,
    sections: Sections {
        versions: &["heat_template_version"],
        description: "description",
        parameter_groups: Some("parameter_groups"),
        parameters: "parameters",
        // Heat's own name for the section that HOT does not have; it may stand there, idle.
        mappings: "__undefined__",
        conditions: "conditions",
        resources: "resources",
        outputs: "outputs",
    },
    parameter: ParameterKeys {
        all: &[
            "type",
            "description",
            "default",
            "schema",
            "constraints",
            "hidden",
            "label",
            "immutable",
            "tags",
        ],
        kind: "type",
        description: "description",
        default: "default",
        hidden: "hidden",
        label: "label",
    },
    resource: ResourceKeys {
        kind: "type",
        properties: "properties",
        metadata: "metadata",
        depends_on: "depends_on",
        deletion_policy: "deletion_policy",
        update_policy: "update_policy",
        description: "description",
        external_id: Some("external_id"),
        condition: "condition",
        condition_kind: "string_or_boolean",
    },
    output: OutputKeys { value: "value", description: "description", condition: "condition" },
};

/// The language of CloudFormation, as far as Heat knows it.
pub(crate) static CFN: Dialect = Dialect {
    language: Language::Cfn,
    sections: Sections {
        versions: &["AWSTemplateFormatVersion", "HeatTemplateFormatVersion"],
        description: "Description",
        parameter_groups: None,
        parameters: "Parameters",
        mappings: "Mappings",
        conditions: "Conditions",
        resources: "Resources",
        outputs: "Outputs",
    },
    parameter: ParameterKeys {
        all: &[
            "Type",
            "Default",
            "NoEcho",
            "AllowedValues",
            "AllowedPattern",
            "MaxLength",
            "MinLength",
            "MaxValue",
            "MinValue",
            "Description",
            "ConstraintDescription",
            "Label",
        ],
        kind: "Type",
        description: "Description",
        default: "Default",
        hidden: "NoEcho",
        label: "Label",
    },
    resource: ResourceKeys {
        kind: "Type",
        properties: "Properties",
        metadata: "Metadata",
        depends_on: "DependsOn",
        deletion_policy: "DeletionPolicy",
        update_policy: "UpdatePolicy",
        description: "Description",
        external_id: None,
        condition: "Condition",
        condition_kind: "string or boolean",
    },
    output: OutputKeys { value: "Value", description: "Description", condition: "Condition" },
};

impl Sections {
    /// All sections, the conditions among them.
    pub(crate) fn all(&self) -> impl Iterator<Item = &'static str> {
        let named = [
            self.description,
            self.parameters,
            self.mappings,
            self.conditions,
            self.resources,
            self.outputs,
        ];
        self.versions.iter().copied().chain(named).chain(self.parameter_groups)
    }
}

impl ResourceKeys {
    /// All keys, those of conditions and external resources among them.
    pub(crate) fn all(&self) -> impl Iterator<Item = &'static str> {
        let named = [
            self.kind,
            self.properties,
            self.metadata,
            self.depends_on,
            self.deletion_policy,
            self.update_policy,
            self.description,
            self.condition,
        ];
        named.into_iter().chain(self.external_id)
    }
}

/// The language that a document is in, by the key of its version; HOT where it has none.
pub(crate) fn of(template: &Node) -> &'static Dialect {
    let is_cfn = CFN.sections.versions.iter().any(|key| template.get(key).is_some());
    if is_cfn && template.get(HOT.sections.versions[0]).is_none() { &CFN } else { &HOT }
}
