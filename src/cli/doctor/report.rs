//! What was found, line by line.

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Verdict {
    Fine,
    /// As it should be, or not; worth knowing.
    Note,
    /// It works, and something is likely to be missed.
    Warning,
    /// It does not work.
    Wrong,
}

impl Verdict {
    fn word(self) -> &'static str {
        match self {
            Verdict::Fine => "ok",
            Verdict::Note => "note",
            Verdict::Warning => "warning",
            Verdict::Wrong => "WRONG",
        }
    }
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Finding {
    verdict: Verdict,
    what: String,
    says: String,
    advice: Option<String>,
}

/// Everything that was looked at, in its order.
#[derive(Debug, Default)]
pub(super) struct Report {
    findings: Vec<Finding>,
}

impl Report {
    pub(super) fn fine(&mut self, what: impl Into<String>, says: impl Into<String>) {
        self.add(Verdict::Fine, what, says, None);
    }

    pub(super) fn note(&mut self, what: impl Into<String>, says: impl Into<String>) {
        self.add(Verdict::Note, what, says, None);
    }

    pub(super) fn warning(
        &mut self,
        what: impl Into<String>,
        says: impl Into<String>,
        advice: impl Into<String>,
    ) {
        self.add(Verdict::Warning, what, says, Some(advice.into()));
    }

    pub(super) fn wrong(
        &mut self,
        what: impl Into<String>,
        says: impl Into<String>,
        advice: impl Into<String>,
    ) {
        self.add(Verdict::Wrong, what, says, Some(advice.into()));
    }

    fn add(
        &mut self,
        verdict: Verdict,
        what: impl Into<String>,
        says: impl Into<String>,
        advice: Option<String>,
    ) {
        self.findings.push(Finding { verdict, what: what.into(), says: says.into(), advice });
    }

    pub(super) fn worst(&self) -> Verdict {
        self.findings.iter().map(|finding| finding.verdict).max().unwrap_or(Verdict::Fine)
    }

    /// A line for each finding, with what to do below it, and one for all of them.
    pub(super) fn text(&self) -> String {
        let width = self.findings.iter().map(|it| it.what.chars().count()).max().unwrap_or(0);
        let mut text = String::new();
        for Finding { verdict, what, says, advice } in &self.findings {
            text.push_str(&format!("{:<8} {what:<width$}  {says}\n", verdict.word()));
            if let Some(advice) = advice {
                text.push_str(&format!("{:8} {:width$}  → {advice}\n", "", ""));
            }
        }
        let count = |verdict| self.findings.iter().filter(|it| it.verdict == verdict).count();
        let (wrong, warnings) = (count(Verdict::Wrong), count(Verdict::Warning));
        let end = match (wrong, warnings) {
            (0, 0) => "all is well".to_owned(),
            _ => format!("wrong: {wrong}, warnings: {warnings}"),
        };
        text + "\n" + &end + "\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_finding_is_a_line_and_what_to_do_is_below_it() {
        let mut report = Report::default();
        report.fine("log", "ends at position 3");
        assert_eq!(report.worst(), Verdict::Fine);
        assert!(report.text().ends_with("\nall is well\n"));
        report.wrong("master key", "is another one", "put the right one back");
        let expected = [
            "ok       log         ends at position 3",
            "WRONG    master key  is another one",
            "                     → put the right one back",
            "",
            "wrong: 1, warnings: 0",
        ];
        assert_eq!(report.text().lines().collect::<Vec<_>>(), expected);
        assert_eq!(report.worst(), Verdict::Wrong);
    }
}
