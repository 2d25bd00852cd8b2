//! What goes wrong with a call before any function is run: none of the name, or none that takes what
//! it is given.

use super::failure::{NO_MATCHING_FUNCTION, NO_MATCHING_METHOD};
use super::print;
use super::value::Value;
use crate::template::error::TemplateError;

/// No function has the name; with a receiver, no method.
pub(super) fn unknown(name: &str, receiver: Option<&Value>) -> TemplateError {
    match receiver {
        None => {
            let message = format!("Unknown function \"{name}\"");
            TemplateError::new("NoFunctionRegisteredException", message)
        }
        Some(receiver) => {
            let receiver = print::text(receiver);
            let message = format!("Unknown method \"{name}\" for receiver {receiver}");
            TemplateError::new("NoMethodRegisteredException", message)
        }
    }
}

/// No function of the name takes the arguments.
pub(super) fn no_match(name: &str, receiver: Option<&Value>) -> TemplateError {
    match receiver {
        None => {
            let message = format!("No function \"{name}\" matches supplied arguments");
            TemplateError::new(NO_MATCHING_FUNCTION, message)
        }
        Some(receiver) => {
            let receiver = print::text(receiver);
            let message =
                format!("No method \"{name}\" for receiver {receiver} matches supplied arguments");
            TemplateError::new(NO_MATCHING_METHOD, message)
        }
    }
}

/// More than one function of the name takes the arguments.
pub(super) fn ambiguous(name: &str, receiver: Option<&Value>) -> TemplateError {
    match receiver {
        None => {
            let message = format!("Ambiguous function \"{name}\"");
            TemplateError::new("AmbiguousFunctionException", message)
        }
        Some(receiver) => {
            let message =
                format!("Ambiguous method \"{name}\" for receiver {}", print::text(receiver));
            TemplateError::new("AmbiguousMethodException", message)
        }
    }
}
