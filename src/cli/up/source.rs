//! What a stack is made from, as the API takes it.

use std::path::Path;

use serde_json::{Value, json};

use crate::cli::template_files::Inputs;
use crate::model::JsonMap;

/// The body that creates a stack. A failed one stays as it is, to be looked at.
pub(in crate::cli) fn create_body(name: &str, inputs: &Inputs) -> Value {
    let mut body = update_body(inputs);
    body["stack_name"] = name.into();
    body["disable_rollback"] = true.into();
    body
}

/// The body that brings a stack to what the files say.
pub(in crate::cli) fn update_body(inputs: &Inputs) -> Value {
    let environments = inputs.environments_to_send();
    let names: Vec<&String> = environments.iter().map(|(name, _)| name).collect();
    let files = inputs.files.iter().chain(environments.iter().map(|(name, text)| (name, text)));
    let files: JsonMap =
        files.map(|(name, text)| (name.clone(), Value::from(text.as_str()))).collect();
    json!({
        "template": inputs.template_to_send(),
        "environment": {},
        "environment_files": names,
        "files": files,
        "parameters": inputs.parameters,
    })
}

/// The template's file name as a name that Heat takes: it begins with a letter.
pub(in crate::cli) fn stack_name(template: &Path) -> String {
    let stem = template.file_stem().unwrap_or_default().to_string_lossy();
    let name: String =
        stem.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    match name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        true => name,
        false => format!("stack-{name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stack_is_named_after_its_template() {
        assert_eq!(stack_name(Path::new("examples/web.yaml")), "web");
        assert_eq!(stack_name(Path::new("2nd try.yaml")), "stack-2nd-try");
    }
}
