//! The picture of stacks at work: a pure function of what is known, of the size of the terminal and
//! of the time. Only the lines that are in sight are made.

use chrono::{DateTime, TimeDelta, Utc};

use super::super::columns::{cut, fill, width, wrapped};
use super::state::{Member, StackState, State};
use super::status::{LiveStatus, Progress};
use crate::model::StackId;

/// From this width on the whole status is shown, and not the action alone.
const STATUS_FROM_COLUMNS: usize = 60;
/// From this width on resource types are shown.
const TYPE_FROM_COLUMNS: usize = 90;
/// The longest status.
const STATUS_COLUMNS: usize = 20;
/// The longest action.
const ACTION_COLUMNS: usize = 8;
const ELAPSED_COLUMNS: usize = 6;
/// A mark and the space after it.
const MARK_COLUMNS: usize = 2;
/// A name is cut before it takes more than this part of the width, where there is a status.
const NAME_SHARE: usize = 3;

/// What the picture is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum Focus {
    One(StackId),
    All,
}

/// How much of it is seen.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::cli) struct View {
    pub(in crate::cli) columns: usize,
    /// Without a height everything is shown.
    pub(in crate::cli) lines: Option<usize>,
    /// The first row in sight; without one the picture follows what is at work.
    pub(in crate::cli) top: Option<usize>,
}

/// How a part of a line looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum Tone {
    Plain,
    Head,
    Quiet,
    Working,
    Done,
    Failed,
}

/// A line, in parts.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::cli) struct Line(pub(in crate::cli) Vec<(Tone, String)>);

/// What is to be seen, and where it stands in the whole.
#[derive(Clone, Debug, Default)]
pub(in crate::cli) struct Picture {
    pub(in crate::cli) lines: Vec<Line>,
    /// The first row in sight.
    pub(in crate::cli) top: usize,
    /// How many rows fit.
    pub(in crate::cli) room: usize,
    /// How many there are.
    pub(in crate::cli) rows: usize,
}

/// One row below the head: a stack, or a resource so many stacks deep.
#[derive(Clone, Copy)]
enum Row<'s> {
    Stack(&'s StackState),
    Member { of: &'s Member, depth: usize },
}

impl Line {
    /// Without colors.
    pub(in crate::cli) fn plain(&self) -> String {
        let text: String = self.0.iter().map(|(_, text)| text.as_str()).collect();
        text.trim_end().to_owned()
    }

    /// With the codes of a terminal.
    pub(in crate::cli) fn painted(&self) -> String {
        let mut text = String::new();
        for (tone, part) in &self.0 {
            let code = match tone {
                Tone::Plain => "",
                Tone::Head => "1",
                Tone::Quiet => "2",
                Tone::Working => "33",
                Tone::Done => "32",
                Tone::Failed => "31",
            };
            match code {
                "" => text.push_str(part),
                code => text.push_str(&format!("\x1b[{code}m{part}\x1b[0m")),
            }
        }
        text
    }
}

/// Draws; no line is wider than the view, and there are no more of them than it has.
pub(in crate::cli) fn picture(
    state: &State,
    focus: Focus,
    view: View,
    now: DateTime<Utc>,
) -> Picture {
    let notices = notices(state, view);
    let Some(head) = head(state, focus, now) else { return Picture::default() };
    let mut lines = vec![cut_line(head, view.columns)];
    let room = view.lines.map(|lines| lines.saturating_sub(1 + notices.len()));
    let rows = rows(state, focus, room);
    let mut shown = Picture { rows: rows.len(), room: rows.len(), ..Picture::default() };
    if let Some(room) = room.filter(|room| rows.len() > *room) {
        // One line says where in the whole this is.
        shown.room = room.saturating_sub(1);
        let last = rows.len() - shown.room;
        shown.top = view.top.unwrap_or_else(|| first_at_work(&rows)).min(last);
    }
    let in_sight = &rows[shown.top..shown.top + shown.room];
    let columns = Columns::of(in_sight, view.columns);
    lines.extend(in_sight.iter().map(|row| columns.line(state, row, now)));
    if shown.room < shown.rows && room != Some(0) {
        let text = format!("{}–{} of {}", shown.top + 1, shown.top + shown.room, shown.rows);
        lines.push(Line(vec![(Tone::Quiet, cut(&text, view.columns))]));
    }
    lines.extend(notices);
    if let Some(height) = view.lines {
        lines.truncate(height);
    }
    shown.lines = lines;
    shown
}

fn notices(state: &State, view: View) -> Vec<Line> {
    let most = view.lines.map_or(usize::MAX, |lines| lines / 2);
    let lines = state.notice.iter().flat_map(|notice| wrapped(notice, view.columns));
    lines.take(most).map(|text| Line(vec![(Tone::Head, text)])).collect()
}

fn head(state: &State, focus: Focus, now: DateTime<Utc>) -> Option<Line> {
    let Focus::One(id) = focus else {
        let outermost = state.stacks.values().filter(|stack| stack.within.is_none());
        let (mut all, mut working) = (0, 0);
        for stack in outermost {
            all += 1;
            working += usize::from(stack.status.progress == Progress::Working);
        }
        let text = format!("  {all}, at work: {working}");
        return Some(Line(vec![(Tone::Head, "stacks".to_owned()), (Tone::Plain, text)]));
    };
    let stack = state.stacks.get(&id)?;
    let status = &stack.status;
    let took = time_of(status, now).map(|took| format!("  {took}"));
    Some(Line(vec![
        (Tone::Head, stack.name.clone()),
        (tone(status.progress), format!("  {}", status.status())),
        (Tone::Plain, took.unwrap_or_default()),
        (Tone::Quiet, format!("  {}", counted(stack))),
    ]))
}

/// `3 of 12`, and what else there is.
fn counted(stack: &StackState) -> String {
    let counts = stack.counts();
    let mut text = format!("{} of {}", counts.done, counts.all);
    for (count, what) in [(counts.working, "at work"), (counts.failed, "failed")] {
        if count > 0 {
            text.push_str(&format!(", {count} {what}"));
        }
    }
    text
}

fn cut_line(line: Line, columns: usize) -> Line {
    let mut left = columns;
    let parts = line.0.into_iter().map(|(tone, text)| {
        let text = cut(&text, left);
        left -= width(&text);
        (tone, text)
    });
    Line(parts.collect())
}

/// Everything, if it fits; otherwise nested stacks are folded into the lines of their resources,
/// and only what failed or is at work in them stands below.
fn rows(state: &State, focus: Focus, room: Option<usize>) -> Vec<Row<'_>> {
    let fits = |rows: &Vec<Row<'_>>| room.is_none_or(|room| rows.len() <= room);
    let mut rows = Vec::new();
    match focus {
        Focus::One(id) => {
            let Some(stack) = state.stacks.get(&id) else { return rows };
            for takes in [|_: Progress| true, is_of_interest, has_failed] {
                rows.clear();
                for member in &stack.members {
                    rows.push(Row::Member { of: member, depth: 0 });
                    below(state, member, 1, takes, &mut rows);
                }
                if fits(&rows) {
                    break;
                }
            }
        }
        Focus::All => {
            for stack in state.stacks.values().filter(|stack| stack.within.is_none()) {
                rows.push(Row::Stack(stack));
                if stack.status.progress == Progress::Working {
                    for member in &stack.members {
                        if is_of_interest(member.status.progress) {
                            rows.push(Row::Member { of: member, depth: 1 });
                        }
                        below(state, member, 2, is_of_interest, &mut rows);
                    }
                }
            }
        }
    }
    rows
}

fn is_of_interest(progress: Progress) -> bool {
    matches!(progress, Progress::Working | Progress::Failed)
}

fn has_failed(progress: Progress) -> bool {
    progress == Progress::Failed
}

/// The members of the stack that a resource stands for.
fn below<'s>(
    state: &'s State,
    member: &Member,
    depth: usize,
    takes: fn(Progress) -> bool,
    rows: &mut Vec<Row<'s>>,
) {
    let Some(child) = member.child.and_then(|child| state.stacks.get(&child)) else { return };
    for of in &child.members {
        if takes(of.status.progress) {
            rows.push(Row::Member { of, depth });
        }
        below(state, of, depth + 1, takes, rows);
    }
}

/// What is at work is in sight, or else what failed, with one row before it.
fn first_at_work(rows: &[Row<'_>]) -> usize {
    let first = |wanted: Progress| rows.iter().position(|row| row.status().progress == wanted);
    let first = first(Progress::Working).or_else(|| first(Progress::Failed));
    first.unwrap_or(0).saturating_sub(1)
}

impl<'s> Row<'s> {
    fn status(&self) -> &'s LiveStatus {
        match self {
            Row::Stack(stack) => &stack.status,
            Row::Member { of, .. } => &of.status,
        }
    }

    fn name_columns(&self) -> usize {
        match self {
            Row::Stack(stack) => width(&stack.name),
            Row::Member { of, depth } => of.width + 2 * depth,
        }
    }
}

/// How wide the columns are.
struct Columns {
    name: usize,
    type_name: usize,
    status: usize,
    is_whole_status: bool,
    all: usize,
}

impl Columns {
    fn of(rows: &[Row<'_>], all: usize) -> Columns {
        let is_whole_status = all >= STATUS_FROM_COLUMNS;
        let status = if is_whole_status { STATUS_COLUMNS } else { ACTION_COLUMNS };
        let widest_name = rows.iter().map(Row::name_columns).max().unwrap_or(0);
        let fixed = MARK_COLUMNS + 2 + status + 1 + ELAPSED_COLUMNS;
        let room = all.saturating_sub(fixed);
        let has_types = all >= TYPE_FROM_COLUMNS;
        let share = if has_types { all / NAME_SHARE } else { room };
        let name = widest_name.min(room).min(share);
        let type_width = |row: &Row<'_>| match row {
            Row::Stack(_) => 0,
            Row::Member { of, .. } => of.type_name.len(),
        };
        let widest_type = rows.iter().map(type_width).max().unwrap_or(0);
        let type_name = if has_types { widest_type.min(room.saturating_sub(name) / 2) } else { 0 };
        Columns { name, type_name, status, is_whole_status, all }
    }

    fn line(&self, state: &State, row: &Row<'_>, now: DateTime<Utc>) -> Line {
        let status = row.status();
        let tone = tone(status.progress);
        let label = match (status.progress, self.is_whole_status) {
            (Progress::Waiting, _) => "waiting".to_owned(),
            (_, true) => status.status(),
            (_, false) => status.action.clone(),
        };
        let took = time_of(status, now).unwrap_or_default();
        let (name, type_name) = match row {
            Row::Stack(stack) => (stack.name.clone(), ""),
            Row::Member { of, depth } => {
                (format!("{}{}", "  ".repeat(*depth), of.shown), of.type_name.as_str())
            }
        };
        let mut parts = vec![
            (tone, format!("{} ", mark(status.progress))),
            (Tone::Plain, fill(&name, self.name)),
        ];
        if self.type_name > 0 {
            parts.push((Tone::Quiet, format!("  {}", fill(type_name, self.type_name))));
        }
        parts.push((tone, format!("  {}", fill(&label, self.status))));
        parts.push((Tone::Plain, format!(" {took:>ELAPSED_COLUMNS$}")));
        let note = note(state, row);
        if !note.is_empty() {
            parts.push((Tone::Quiet, format!("  {note}")));
        }
        cut_line(Line(parts), self.all)
    }
}

/// How many members a stack has done, and what went wrong.
fn note(state: &State, row: &Row<'_>) -> String {
    let (of, status) = match row {
        Row::Stack(stack) => (Some(*stack), &stack.status),
        Row::Member { of, .. } => (of.child.and_then(|child| state.stacks.get(&child)), &of.status),
    };
    let mut parts = Vec::new();
    let has_members = |stack: &&StackState| !stack.members.is_empty();
    if let Some(stack) = of.filter(has_members) {
        parts.push(counted(stack));
    }
    if let Row::Member { of: Member { remark: Some(remark), .. }, .. } = row {
        parts.push(remark.clone());
    }
    if status.progress == Progress::Failed {
        parts.push(status.reason.clone());
    }
    parts.join("  ")
}

fn mark(progress: Progress) -> &'static str {
    match progress {
        Progress::Waiting => "·",
        Progress::Working => "▸",
        Progress::Done => "✓",
        Progress::Failed => "✗",
    }
}

fn tone(progress: Progress) -> Tone {
    match progress {
        Progress::Waiting => Tone::Quiet,
        Progress::Working => Tone::Working,
        Progress::Done => Tone::Done,
        Progress::Failed => Tone::Failed,
    }
}

/// How long something has been at work, which changes once a second, or how long it took.
pub(in crate::cli) fn time_of(status: &LiveStatus, now: DateTime<Utc>) -> Option<String> {
    let took = status.elapsed(now)?;
    Some(match status.progress {
        Progress::Working => elapsed(TimeDelta::seconds(took.num_seconds())).replace(".0s", "s"),
        Progress::Waiting | Progress::Done | Progress::Failed => elapsed(took),
    })
}

/// `0.3s`, `12s`, `3m05s`, `2h10m`: at most six columns.
fn elapsed(took: TimeDelta) -> String {
    let millis = took.num_milliseconds();
    let secs = took.num_seconds();
    match secs {
        ..10 => format!("{}.{}s", secs, millis % 1_000 / 100),
        10..60 => format!("{secs}s"),
        60..3_600 => format!("{}m{:02}s", secs / 60, secs % 60),
        3_600..86_400 => format!("{}h{:02}m", secs / 3_600, secs % 3_600 / 60),
        _ => format!("{}d{:02}h", secs / 86_400, secs % 86_400 / 3_600),
    }
}
