//! Findings as workflow commands of GitHub Actions, which shows them in the changed files.

use std::fmt::Write;

use super::{help, word};
use crate::template::Diagnosis;

/// One line a finding.
pub(super) fn report(diagnosis: &Diagnosis) -> String {
    let mut out = String::new();
    for finding in &diagnosis.findings {
        let mut properties = vec![format!("file={}", property(&finding.document))];
        if let Some(span) = finding.span {
            properties.push(format!("line={}", span.line));
            properties.push(format!("col={}", span.column));
            properties.push(format!("endColumn={}", span.end_column));
        }
        properties.push(format!("title={}", property(&finding.code)));
        let at = (!finding.path.is_empty()).then(|| format!("at {}", finding.path));
        let more = [help(finding), finding.note.clone(), at].into_iter().flatten();
        let text: Vec<String> = std::iter::once(finding.message.clone()).chain(more).collect();
        let command = word(finding.severity);
        let _ = writeln!(out, "::{command} {}::{}", properties.join(","), data(&text.join("\n")));
    }
    out
}

fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::{Finding, Severity, Span};

    #[test]
    fn what_ends_a_command_or_a_property_is_escaped() {
        let finding = Finding {
            severity: Severity::Warning,
            code: "unused-parameter".to_owned(),
            message: "100% of\nit".to_owned(),
            path: "parameters.a".to_owned(),
            document: "a,b:c.yaml".to_owned(),
            span: Some(Span { line: 3, column: 5, end_column: 8 }),
            suggestion: Some("b".to_owned()),
            note: None,
        };
        let diagnosis = Diagnosis { findings: vec![finding], definition: None };
        assert_eq!(
            report(&diagnosis),
            "::warning file=a%2Cb%3Ac.yaml,line=3,col=5,endColumn=8,title=unused-parameter::\
             100%25 of%0Ait%0Adid you mean `b`?%0Aat parameters.a\n"
        );
    }
}
