//! How a service words what it refuses.

use serde_json::json;

use super::super::answer::{self, Answer};
use super::definition::{Collection, Errors};

impl Collection {
    pub(super) fn fault(&self, status: u16, kind: &str, text: impl Into<String>) -> Answer {
        let text: String = text.into();
        match self.errors {
            Errors::Neutron => answer::neutron(status, kind, text),
            Errors::Octavia => answer::octavia(status, text),
            Errors::Keystone => answer::keystone(status, text),
            Errors::Nova => answer::nova(status, text),
            Errors::Barbican => answer::barbican(status, text),
            Errors::Designate => {
                Answer::json(status, &json!({"code": status, "type": snake(kind), "message": text}))
            }
            Errors::Magnum => {
                let error = json!({
                    "status": status, "code": "client", "title": text, "detail": text, "links": [],
                    "request_id": "",
                });
                Answer::json(status, &json!({"errors": [error]}))
            }
            Errors::Ironic => {
                let error =
                    json!({ "faultcode": "Client", "faultstring": text, "debuginfo": null });
                Answer::json(status, &json!({ "error_message": error }))
            }
            Errors::Blazar => {
                let error = json!({
                    "error_code": status, "error_name": status, "error_message": text,
                });
                Answer::json(status, &error)
            }
        }
    }

    pub(super) fn not_found(&self, id: &str) -> Answer {
        let text = match &self.missing {
            Some(text) => text.replace("{id}", id),
            None => format!("{} {id} could not be found.", self.class),
        };
        self.fault(404, &format!("{}NotFound", self.class), text)
    }

    pub(super) fn stays(&self, id: &str) -> Answer {
        let text = match &self.in_use {
            Some(text) => text.replace("{id}", id),
            None => format!("{} {id} is in use.", self.class),
        };
        self.fault(self.statuses.in_use, &format!("{}InUse", self.class), text)
    }

    pub(super) fn exists(&self, what: &str) -> Answer {
        let text = match &self.alike {
            Some(text) => text.clone(),
            None => format!("A {} with the same {what} exists already.", self.wrap),
        };
        self.fault(409, &format!("{}Exists", self.class), text)
    }

    pub(super) fn is_busy(&self, root: &str) -> Answer {
        let text = match &self.busy {
            Some(text) => text.replace("{id}", root),
            None => format!("{root} is immutable and cannot be updated."),
        };
        self.fault(409, "Immutable", text)
    }

    pub(super) fn bad_request(&self, text: impl Into<String>) -> Answer {
        self.fault(400, "HTTPBadRequest", text)
    }

    /// A body without the key that an object is under.
    pub(super) fn unwrapped(&self) -> Answer {
        let wrap = &self.wrap;
        self.bad_request(match self.errors {
            Errors::Nova | Errors::Keystone => {
                format!("Invalid input for field/attribute {wrap}.")
            }
            _ => format!("Unable to find '{wrap}' in request body"),
        })
    }

    /// An attribute that only administrators set.
    pub(super) fn not_settable(&self, verb: &str, name: &str) -> Answer {
        let rule = format!("rule:{verb}_{}", self.wrap);
        match self.errors {
            Errors::Neutron => {
                let text = format!("({rule} and {rule}:{name}) is disallowed by policy");
                self.fault(403, "PolicyNotAuthorized", text)
            }
            _ => self.forbidden(verb),
        }
    }

    pub(super) fn forbidden(&self, verb: &str) -> Answer {
        match self.errors {
            Errors::Neutron => {
                let text = format!("rule:{verb}_{} is disallowed by policy", self.wrap);
                self.fault(403, "PolicyNotAuthorized", text)
            }
            Errors::Keystone => {
                let wrap = &self.wrap;
                let text = format!(
                    "You are not authorized to perform the requested action: identity:{verb}_{wrap}."
                );
                self.fault(403, "Forbidden", text)
            }
            _ => self.fault(403, "", "Policy does not allow this request to be performed."),
        }
    }
}

/// `ZoneNotFound` as Designate writes it: `zone_not_found`.
fn snake(name: &str) -> String {
    let mut snake = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.extend(letter.to_lowercase());
    }
    snake
}
