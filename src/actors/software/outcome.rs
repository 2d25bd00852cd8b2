//! What a server says of a deployment, read in Heat's words.

use std::collections::HashSet;

use serde_json::{Value, json};

use crate::model::JsonMap;
use crate::model::sizes::REASON;
use crate::resource_types::python;

/// What every signal to a deployment may bring besides the outputs of its configuration.
const COMMON_OUTPUTS: [&str; 3] = ["deploy_stdout", "deploy_stderr", "deploy_status_code"];

/// What a signal makes of a deployment.
pub(super) struct Outcome {
    pub(super) status: &'static str,
    pub(super) status_reason: String,
    pub(super) outputs: JsonMap,
    /// The words for the event list.
    pub(super) event: String,
}

/// Reads a signal by the outputs that the configuration declares, in Heat's words.
pub(super) fn outcome(id: &str, details: &Value, declared: &[JsonMap], former: JsonMap) -> Outcome {
    let mut outputs = former;
    let mut failures: Vec<String> = Vec::new();
    let mut read = HashSet::new();
    let mut event = format!("deployment {id} succeeded");
    let code = details.get("deploy_status_code").filter(|code| !is_empty(code));
    if let Some(code) = code.map(python::text).filter(|code| code != "0") {
        failures.push(format!(
            "deploy_status_code : Deployment exited with non-zero status code: {code}"
        ));
        event = format!("deployment {id} failed ({code})");
    }
    for output in declared {
        let Some(name) = output.get("name").and_then(Value::as_str) else { continue };
        let Some(value) = details.get(name) else { continue };
        // One that is declared again says nothing new, and could be declared many times.
        if !read.insert(name) {
            continue;
        }
        outputs.insert(name.to_owned(), value.clone());
        if output.get("error_output") == Some(&json!(true)) {
            failures.push(format!("{name} : {}", python::text(value)));
            event = format!("deployment {id} failed");
        }
    }
    for name in COMMON_OUTPUTS {
        outputs.insert(name.to_owned(), details.get(name).cloned().unwrap_or_default());
    }
    let (status, status_reason) = match failures.is_empty() {
        true => ("COMPLETE", "Outputs received".to_owned()),
        false => ("FAILED", REASON.shortened(failures.join(", "))),
    };
    Outcome { status, status_reason, outputs, event }
}

/// What Python takes for nothing.
fn is_empty(value: &Value) -> bool {
    value.is_null() || value == "" || value == 0 || value == false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(details: Value) -> Outcome {
        let declared = [
            json!({ "name": "result", "error_output": false }),
            json!({ "name": "oops", "error_output": true }),
        ];
        let declared: Vec<JsonMap> =
            declared.iter().map(|it| it.as_object().unwrap().clone()).collect();
        outcome("d", &details, &declared, JsonMap::new())
    }

    #[test]
    fn a_signal_of_success_brings_its_outputs() {
        let said = read(json!({ "result": 7, "deploy_stdout": "fine", "deploy_status_code": 0 }));
        assert_eq!((said.status, said.status_reason.as_str()), ("COMPLETE", "Outputs received"));
        assert_eq!(said.event, "deployment d succeeded");
        let expected = json!({ "result": 7, "deploy_stdout": "fine", "deploy_stderr": null,
                               "deploy_status_code": 0 });
        assert_eq!(Value::Object(said.outputs), expected);
    }

    #[test]
    fn a_status_code_and_an_error_output_are_failures() {
        let said = read(json!({ "deploy_status_code": "2" }));
        assert_eq!(said.status, "FAILED");
        assert_eq!(said.event, "deployment d failed (2)");
        let said = read(json!({ "deploy_status_code": 1, "oops": "no disk" }));
        let expected = "deploy_status_code : Deployment exited with non-zero status code: 1, \
                        oops : no disk";
        assert_eq!(said.status_reason, expected);
        assert_eq!(said.event, "deployment d failed");
    }

    #[test]
    fn an_output_that_is_declared_many_times_is_read_once_and_a_reason_has_its_bound() {
        let output = json!({ "name": "oops", "error_output": true });
        let declared = vec![output.as_object().unwrap().clone(); 3];
        let read = |text: &str| outcome("d", &json!({ "oops": text }), &declared, JsonMap::new());
        assert_eq!(read("no disk").status_reason, "oops : no disk");
        let long = read(&"x".repeat(REASON.max)).status_reason;
        assert_eq!(long, format!("oops : {}", "x".repeat(REASON.max - "oops : ".len())));
    }
}
