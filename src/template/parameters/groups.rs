//! Parameter groups: how a form would lay parameters out. They name each parameter at most once.

use super::Parameters;
use crate::template::error::{Outcome, TemplateError};
use crate::template::node::{Form, Node};
use crate::template::python;
use crate::template::value::Datum;

/// Checks the section.
pub(crate) fn check(section: Option<&Node>, parameters: &Parameters) -> Outcome<()> {
    let Some(section) = section.filter(|node| node.is_truthy()) else { return Ok(()) };
    let Some(groups) = section.as_list() else {
        let error = TemplateError::validation("The parameter_groups should be a list.");
        let error = error.headed("Parameter Groups error").in_path(["parameter_groups"]);
        return Err(error.placed(section.place));
    };
    let mut grouped: Vec<Datum> = Vec::new();
    for group in groups {
        let Some(map) = group.as_map() else {
            let kind = python::type_name(&group.to_datum());
            let message = format!("'{kind}' object has no attribute 'get'");
            return Err(TemplateError::new("AttributeError", message).placed(group.place));
        };
        let label =
            map.get("label").map_or_else(String::new, |node| python::text_of(&node.to_datum()));
        let wrong = |message: String| {
            TemplateError::validation(message)
                .headed("Parameter Groups error")
                .in_path(["parameter_groups".to_owned(), label.clone()])
        };
        let names = match map.get("parameters").map(|node| &node.form) {
            None | Some(Form::Null) => {
                let message = "The parameters must be provided for each parameter group.";
                return Err(wrong(message.to_owned()).placed(group.place));
            }
            Some(Form::List(names)) => names,
            Some(_) => {
                let message = "The parameters of parameter group should be a list.";
                return Err(wrong(message.to_owned()).placed(group.place));
            }
        };
        for node in names {
            let name = node.to_datum();
            let shown = python::text_of(&name);
            if grouped.contains(&name) {
                let message =
                    format!("The {shown} parameter must be assigned to one parameter group only.");
                return Err(wrong(message).placed(node.place));
            }
            let parameter = name.as_text().and_then(|name| parameters.get(name));
            if parameter.is_none() {
                let message =
                    format!("The grouped parameter {shown} does not reference a valid parameter.");
                return Err(wrong(message).placed(node.place));
            }
            grouped.push(name);
        }
    }
    Ok(())
}
