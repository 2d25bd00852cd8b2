//! The actions of a stack as people read them: by whom, what changed, and a bar for each resource
//! from when work on it began to when it ended, in the width that there is.

use chrono::{DateTime, Utc};
use serde_json::Value;

use super::columns::{cut, fill, width};

/// The width where there is no terminal.
const COLUMNS: usize = 100;

/// What names take at most, and bars at least.
const NAME_MAX_COLUMNS: usize = 30;
const BAR_MIN_COLUMNS: usize = 10;

/// What stands behind a bar: seconds, and a status that is not COMPLETE.
const FIGURES_COLUMNS: usize = 24;

/// The answer of `GET …/history`, the oldest action first.
pub(super) fn text(history: &Value, columns: Option<usize>, now: DateTime<Utc>) -> String {
    let columns = columns.unwrap_or(COLUMNS);
    let actions = history["history"].as_array().into_iter().flatten().rev();
    let parts: Vec<String> = actions.map(|action| of_action(action, columns, now)).collect();
    parts.join("\n")
}

fn of_action(action: &Value, columns: usize, now: DateTime<Utc>) -> String {
    let word = |key: &str| action[key].as_str().unwrap_or("-").to_owned();
    let heading = [
        format!("{} {}", word("action"), word("status")),
        revision(action),
        word("started_at"),
        format!("{} s", seconds(action)),
        word("user_name"),
        word("request_id"),
    ];
    let mut text = format!("{}\n", cut(&heading.join("  "), columns));
    for part in ["template", "parameters", "environment", "settings"] {
        for change in action["changes"][part].as_array().into_iter().flatten() {
            let place = change["place"].as_str().unwrap_or_default();
            let line = format!("  {part} {place}: {} → {}", change["old"], change["new"]);
            text.push_str(&format!("{}\n", cut(&line, columns)));
        }
    }
    let rows: Vec<&Value> = action["resources"].as_array().into_iter().flatten().collect();
    let names = rows.iter().map(|row| width(row["resource_name"].as_str().unwrap_or_default()));
    let name_columns = names.max().unwrap_or(0).min(NAME_MAX_COLUMNS);
    // What is done to resources has a column, unless it is the same to all.
    let verb = |row: &Value| row["action"].as_str().unwrap_or_default().to_owned();
    let is_same = rows.iter().all(|row| row["action"] == action["action"]);
    let verbs = rows.iter().filter(|_| !is_same).map(|row| width(&verb(row)) + 2);
    let verb_columns = verbs.max().unwrap_or(0);
    let bar_columns = columns
        .saturating_sub(name_columns + verb_columns + FIGURES_COLUMNS + 4)
        .max(BAR_MIN_COLUMNS);
    let span = Span::of(action, &rows, now);
    for row in rows {
        let name = fill(row["resource_name"].as_str().unwrap_or_default(), name_columns);
        let verb = match is_same {
            true => String::new(),
            false => fill(&format!("  {}", verb(row)), verb_columns),
        };
        let status = match row["status"].as_str() {
            Some("COMPLETE") | None => String::new(),
            Some(status) => format!("  {status}"),
        };
        let bar = fill(&span.bar(row, bar_columns), bar_columns);
        let line = format!("  {name}{verb}  {bar}{:>8} s{status}", seconds(row));
        text.push_str(&format!("{}\n", cut(&line, columns).trim_end()));
    }
    for finding in action["drift"]["findings"].as_array().into_iter().flatten().rev() {
        let at = finding["at"].as_str().unwrap_or("-");
        let resources = finding["resources"].as_array().into_iter().flatten();
        let word = |it: &Value, key: &str| it[key].as_str().unwrap_or_default().to_owned();
        let mut told: Vec<String> = resources
            .map(|it| format!("{} {}{}", word(it, "path"), word(it, "drift"), places(it)))
            .collect();
        told.extend(
            finding["more"]
                .as_u64()
                .filter(|more| *more > 0)
                .map(|more| format!("and {more} more")),
        );
        let line = format!("  drift {at}: {}", told.join(", "));
        text.push_str(&format!("{}\n", cut(&line, columns)));
    }
    text
}

/// `revision 3, back to revision 1, repairs drift`.
fn revision(action: &Value) -> String {
    let revision = action["revision"].as_u64().map(|number| format!("revision {number}"));
    let back = action["back_to"].as_u64().map(|number| match number {
        0 => "back to nothing".to_owned(),
        number => format!("back to revision {number}"),
    });
    let settles = action["settles_drift"].as_str().map(|word| format!("{word}s drift"));
    [revision, back, settles].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// ` (name, mtu)`: the properties of a resource that differ.
fn places(found: &Value) -> String {
    let properties = found["properties"].as_array().into_iter().flatten();
    let names: Vec<&str> = properties.filter_map(|property| property["name"].as_str()).collect();
    if names.is_empty() { String::new() } else { format!(" ({})", names.join(", ")) }
}

fn seconds(of: &Value) -> String {
    of["seconds"].as_f64().map_or("…".to_owned(), |seconds| format!("{seconds:.1}"))
}

fn time(of: &Value) -> Option<DateTime<Utc>> {
    Some(DateTime::parse_from_rfc3339(of.as_str()?).ok()?.to_utc())
}

/// The time that an action took, or has taken by what is known.
struct Span {
    from: DateTime<Utc>,
    seconds: f64,
}

impl Span {
    fn of(action: &Value, rows: &[&Value], now: DateTime<Utc>) -> Span {
        let from = time(&action["started_at"]).unwrap_or_default();
        let moments = rows.iter().flat_map(|row| [&row["started_at"], &row["settled_at"]]);
        let goes_on = (action["status"] == "IN_PROGRESS").then_some(now);
        let ends = moments.chain([&action["settled_at"]]).filter_map(time).chain(goes_on);
        let last = ends.max().unwrap_or(from);
        Span { from, seconds: (last - from).as_seconds_f64() }
    }

    /// Where a moment is in so many columns.
    fn column(&self, at: DateTime<Utc>, columns: usize) -> usize {
        let share = match self.seconds > 0.0 {
            true => ((at - self.from).as_seconds_f64() / self.seconds).clamp(0.0, 1.0),
            false => 0.0,
        };
        // Between 0 and the number of columns, both of them small.
        (0..=columns).rev().find(|column| *column as f64 <= share * columns as f64).unwrap_or(0)
    }

    /// A bar, which is solid on the longest path; work that goes on reaches to the end.
    fn bar(&self, row: &Value, columns: usize) -> String {
        let Some(started) = time(&row["started_at"]) else { return String::new() };
        let from = self.column(started, columns).min(columns.saturating_sub(1));
        let to = time(&row["settled_at"]).map_or(columns, |at| self.column(at, columns));
        let block = if row["longest_path"] == true { "█" } else { "░" };
        format!("{}{}", " ".repeat(from), block.repeat(to.saturating_sub(from).max(1)))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn actions_read_as_bars_in_the_width_that_there_is() {
        let at = |second: u32| format!("2026-01-31T12:00:{second:02}.000000Z");
        let row = |name: &str, from: u32, to: Option<u32>, status: &str, longest: bool| {
            json!({
                "resource_name": name, "action": "UPDATE", "status": status, "started_at": at(from),
                "settled_at": to.map(at), "seconds": to.map(|to| f64::from(to - from)),
                "longest_path": longest,
            })
        };
        let history = json!({ "history": [{
            "action": "UPDATE", "status": "FAILED", "revision": 2, "started_at": at(0),
            "settled_at": at(10), "seconds": 10.0, "user_name": "alice", "request_id": "req-1",
            "changes": {
                "template": [{ "place": "resources.net.properties.mtu", "old": null, "new": 9000 }],
                "parameters": [], "environment": [],
            },
            "resources": [
                row("net", 0, Some(4), "COMPLETE", true),
                row("volume", 0, Some(1), "COMPLETE", false),
                row("server", 4, Some(10), "FAILED", true),
                row("later", 9, None, "IN_PROGRESS", false),
            ],
            "drift": { "looks": 2, "looked_at": at(50), "findings": [
                { "at": at(50), "resources": [{ "path": "a/net", "drift": "gone" }] },
                { "at": at(30), "more": 2, "resources": [{ "path": "net", "drift": "differs",
                  "properties": [{ "name": "mtu", "live": 1 }, { "name": "name", "live": "x" }] }] },
            ] },
        }] });
        let expected = "\
UPDATE FAILED  revision 2  2026-01-31T12:00:00.000000…
  template resources.net.properties.mtu: null → 9000
  net     ████████                 4.0 s
  volume  ░░                       1.0 s
  server          ████████████     6.0 s  FAILED
  later                     ░░       … s  IN_PROGRESS
  drift 2026-01-31T12:00:30.000000Z: net differs (mtu…
  drift 2026-01-31T12:00:50.000000Z: a/net gone
";
        let now = time(&json!(at(59))).unwrap();
        assert_eq!(text(&history, Some(54), now), expected);
        assert!(text(&history, None, now).lines().all(|line| width(line) <= COLUMNS));
        assert_eq!(text(&json!({ "history": [] }), Some(20), now), "");
        let running = json!({ "history": [{
            "action": "UPDATE", "status": "IN_PROGRESS", "started_at": at(0),
            "resources": [row("net", 0, Some(29), "COMPLETE", false), row("a", 29, None, "", false)],
        }] });
        let told = text(&running, Some(60), now);
        let bars: Vec<usize> = told.lines().map(|line| line.matches('░').count()).collect();
        assert_eq!(bars, [0, 14, 15], "{told}");
    }

    #[test]
    fn a_replacement_is_told_as_what_is_done_to_each_incarnation() {
        let at = |second: u32| format!("2026-01-31T12:00:{second:02}.000000Z");
        let row = |action: &str, from: u32, to: u32| {
            json!({
                "resource_name": "b", "action": action, "status": "COMPLETE",
                "started_at": at(from), "settled_at": at(to), "seconds": to - from,
                "longest_path": true,
            })
        };
        let history = json!({ "history": [{
            "action": "UPDATE", "status": "COMPLETE", "revision": 3, "back_to": 1,
            "settles_drift": "repair", "started_at": at(0), "settled_at": at(3), "seconds": 3.0,
            "changes": { "settings": [{ "place": "tags", "old": [], "new": ["green"] }] },
            "resources": [row("UPDATE", 0, 1), row("CREATE", 1, 2), row("DELETE", 2, 3)],
        }] });
        let told = text(&history, Some(70), DateTime::default());
        let lines: Vec<&str> = told.lines().collect();
        assert!(
            lines[0].starts_with(
                "UPDATE COMPLETE  revision 3, back to revision 1, repairs drift  2026"
            )
        );
        assert_eq!(lines[1], "  settings tags: [] → [\"green\"]");
        let verbs = lines[2..].iter().map(|line| line.split_whitespace().nth(1).unwrap());
        assert_eq!(verbs.collect::<Vec<_>>(), ["UPDATE", "CREATE", "DELETE"], "{told}");
        assert!(lines.iter().all(|line| width(line) <= 70), "{told}");
    }
}
