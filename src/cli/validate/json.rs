//! Findings as one JSON document; `docs/validate.md` says what is in it.

use serde_json::{Value, json};

use super::{count, word};
use crate::template::{Diagnosis, Documents, Finding, Severity};

/// The whole report.
pub(super) fn report(documents: &Documents, diagnosis: &Diagnosis) -> String {
    let findings: Vec<Value> = diagnosis.findings.iter().map(shown).collect();
    let report = json!({
        "file": documents.template.0,
        "valid": diagnosis.definition.is_some(),
        "errors": count(diagnosis, Severity::Error),
        "warnings": count(diagnosis, Severity::Warning),
        "findings": findings,
    });
    format!("{report:#}\n")
}

fn shown(finding: &Finding) -> Value {
    json!({
        "severity": word(finding.severity),
        "code": finding.code,
        "message": finding.message,
        "path": finding.path,
        "file": finding.document,
        "line": finding.span.map(|span| span.line),
        "column": finding.span.map(|span| span.column),
        "end_column": finding.span.map(|span| span.end_column),
        "suggestion": finding.suggestion,
        "note": finding.note,
    })
}
