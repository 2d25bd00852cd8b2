//! Filtering, sorting and paging of stacks, as one SQL statement.

use rusqlite::types::Value as Sql;
use rusqlite::{Connection, OptionalExtension, params_from_iter};
use serde_json::Value;
use uuid::Uuid;

use super::columns::bytes;
use super::past;
use super::stacks::{COLUMNS, StackRow, row};
use crate::events::Position;
use crate::model::{ProjectId, StackId};

/// Which stacks, and in which order. The default is every living stack, newest first.
#[derive(Clone, Debug, Default)]
pub struct StackQuery {
    /// None looks into every project.
    pub project: Option<ProjectId>,
    /// Each field must have one of its values.
    pub filters: Vec<(StackField, Vec<String>)>,
    pub tags: TagFilter,
    /// Whether stacks that stand within others are among them.
    pub nested: bool,
    /// Whether deleted stacks are among them.
    pub deleted: bool,
    pub sort: Vec<StackSort>,
    /// None is Heat's default: newest first, or ascending where keys are given.
    pub descending: Option<bool>,
    /// The page starts after this stack; an unknown one is ignored.
    pub marker: Option<StackId>,
    pub limit: Option<u64>,
    /// The stacks as they were at a position; none takes them as they are.
    pub at: Option<Position>,
}

/// What stacks can be filtered by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StackField {
    Id,
    Name,
    Action,
    Status,
    StatusReason,
    Project,
    Owner,
    Timeout,
    DisableRollback,
    /// The stack that this one stands within.
    Parent,
    /// A project of its own: no stack has one yet.
    UserProject,
}

/// What stacks can be sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StackSort {
    Name,
    Status,
    Created,
    Updated,
}

/// Conditions on the tags of a stack. Empty ones do not count.
#[derive(Clone, Debug, Default)]
pub struct TagFilter {
    pub all: Vec<String>,
    pub any: Vec<String>,
    pub not_all: Vec<String>,
    pub not_any: Vec<String>,
    /// Stacks with one of these are kept out of sight.
    pub hidden: Vec<String>,
}

impl StackQuery {
    /// Whether it asks for all living stacks that stand within no other and are not hidden.
    fn is_plain(&self) -> bool {
        let tags = &self.tags;
        let others = [&tags.all, &tags.any, &tags.not_all, &tags.not_any];
        self.filters.is_empty()
            && others.iter().all(|tags| tags.is_empty())
            && !self.nested
            && self.has_tag_rows()
    }

    /// Whether all stacks that it may find have rows of their tags: deleted ones have none, nor has
    /// what was.
    fn has_tag_rows(&self) -> bool {
        !self.deleted && self.at.is_none()
    }
}

/// An SQL condition and its values.
#[derive(Default)]
struct Condition {
    sql: String,
    values: Vec<Sql>,
}

impl Condition {
    fn and(&mut self, sql: &str, values: impl IntoIterator<Item = Sql>) {
        if !self.sql.is_empty() {
            self.sql.push_str(" AND ");
        }
        self.sql.push_str(sql);
        self.values.extend(values);
    }

    fn with(&mut self, other: &Condition) {
        self.and(&other.sql, other.values.iter().cloned());
    }

    fn without(&mut self, other: &Condition) {
        self.and(&format!("NOT ({})", other.sql), other.values.iter().cloned());
    }

    /// It as the WHERE clause that it is.
    fn clause(&self) -> String {
        if self.sql.is_empty() { String::new() } else { format!(" WHERE {}", self.sql) }
    }
}

/// The page of stacks that a query asks for.
pub(super) fn page(db: &Connection, query: &StackQuery) -> rusqlite::Result<Vec<StackRow>> {
    let (sql, values) = statement(db, query)?;
    db.prepare_cached(&sql)?.query_map(params_from_iter(values), row)?.collect()
}

/// The statement for a page, and its values.
fn statement(db: &Connection, query: &StackQuery) -> rusqlite::Result<(String, Vec<Sql>)> {
    let mut condition = condition(query);
    let descending = query.descending.unwrap_or(query.sort.is_empty());
    let (after, direction) = if descending { ("<", "DESC") } else { (">", "ASC") };
    let keys = sort_keys(&query.sort);
    let marker = match query.marker {
        Some(id) => number_of(db, query, id)?,
        None => None,
    };
    if let Some(number) = marker {
        let keys = keys.join(", ");
        let sql = format!("({keys}) {after} (SELECT {keys} FROM stacks WHERE number = ?)");
        condition.and(&sql, [Sql::Integer(number)]);
    }
    let order: Vec<String> = keys.iter().map(|key| format!("{key} {direction}")).collect();
    let limit = query.limit.map_or(-1, |limit| i64::try_from(limit).unwrap_or(i64::MAX));
    condition.values.push(Sql::Integer(limit));
    let sql = format!(
        "{}SELECT {COLUMNS} FROM stacks{} ORDER BY {} LIMIT ?",
        then(query),
        condition.clause(),
        order.join(", ")
    );
    Ok((sql, condition.values))
}

/// How many stacks a query matches, whatever its page. Those of a plain list are counted as they
/// come and go, and only those that are kept out of sight are looked for.
pub(super) fn count(db: &Connection, query: &StackQuery) -> rusqlite::Result<u64> {
    let hidden = TagFilter { any: query.tags.hidden.clone(), ..TagFilter::default() };
    let found = if !query.is_plain() {
        matches(db, query)?
    } else if hidden.any.is_empty() {
        listed(db, query.project.as_ref())?
    } else {
        let hidden = StackQuery { tags: hidden, ..query.clone() };
        listed(db, query.project.as_ref())? - matches(db, &hidden)?
    };
    Ok(u64::try_from(found).unwrap_or(0))
}

/// How many living stacks stand within no other.
fn listed(db: &Connection, project: Option<&ProjectId>) -> rusqlite::Result<i64> {
    let of = if project.is_some() { " WHERE project = ?" } else { "" };
    db.prepare_cached(&format!("SELECT coalesce(sum(listed), 0) FROM stack_counts{of}"))?
        .query_row(params_from_iter(project.map(ProjectId::as_str)), |row| row.get(0))
}

fn matches(db: &Connection, query: &StackQuery) -> rusqlite::Result<i64> {
    let condition = condition(query);
    db.prepare_cached(&format!("{}SELECT count(*) FROM stacks{}", then(query), condition.clause()))?
        .query_row(params_from_iter(condition.values), |row| row.get(0))
}

/// What stands before a query that looks back.
fn then(query: &StackQuery) -> String {
    query.at.map(past::stacks_then).unwrap_or_default()
}

/// The columns to sort by. Creation is the order of the numbers; they also break every tie, so
/// that pages neither repeat nor miss a stack.
fn sort_keys(sort: &[StackSort]) -> Vec<&'static str> {
    let mut keys = Vec::with_capacity(sort.len() + 1);
    for key in sort {
        match key {
            StackSort::Name => keys.push("name"),
            StackSort::Status => keys.push("status"),
            StackSort::Updated => keys.push("coalesce(updated_at, 0)"),
            StackSort::Created => break,
        }
    }
    keys.push("number");
    keys
}

fn number_of(db: &Connection, query: &StackQuery, id: StackId) -> rusqlite::Result<Option<i64>> {
    db.prepare_cached(&format!("{}SELECT number FROM stacks WHERE id = ?1", then(query)))?
        .query_row([bytes(id.0)], |row| row.get(0))
        .optional()
}

fn condition(query: &StackQuery) -> Condition {
    let mut condition = Condition::default();
    if !query.deleted {
        condition.and("deleted_at IS NULL", []);
    }
    if !query.nested {
        condition.and("parent IS NULL", []);
    }
    if let Some(project) = &query.project {
        condition.and("project = ?", [Sql::Text(project.0.clone())]);
    }
    for (field, wanted) in &query.filters {
        let values: Vec<Sql> =
            wanted.iter().filter_map(|value| column_value(*field, value)).collect();
        let marks = vec!["?"; values.len()].join(", ");
        condition.and(&format!("{} IN ({marks})", column(*field)), values);
    }
    let tags = &query.tags;
    // The first is looked up; two lists that are looked up would be gone through each with the other.
    let any = Some(tags.any.as_slice()).filter(|any| !any.is_empty());
    for (turn, one_of) in tags.all.iter().map(std::slice::from_ref).chain(any).enumerate() {
        let lookup = if turn == 0 { tagged } else { has_tag };
        condition.with(&lookup(query, one_of));
    }
    if !tags.not_all.is_empty() {
        let mut each = Condition::default();
        for tag in &tags.not_all {
            each.with(&has_tag(query, std::slice::from_ref(tag)));
        }
        condition.without(&each);
    }
    for none_of in [&tags.not_any, &tags.hidden] {
        if !none_of.is_empty() {
            condition.without(&has_tag(query, none_of));
        }
    }
    condition
}

/// The stacks with one of some tags: looked up, where the tags of all that are meant have rows.
fn tagged(query: &StackQuery, tags: &[String]) -> Condition {
    let Some(project) = query.project.as_ref().filter(|_| query.has_tag_rows()) else {
        return has_tag(query, tags);
    };
    let mut values = vec![Sql::Text(project.0.clone())];
    values.extend(tags.iter().cloned().map(Sql::Text));
    let sql = format!(
        "number IN (SELECT stack FROM stack_tags WHERE project = ? AND tag IN ({}))",
        marks(tags)
    );
    Condition { sql, values }
}

/// Whether the stack at hand has one of some tags.
fn has_tag(query: &StackQuery, tags: &[String]) -> Condition {
    let texts = tags.iter().cloned().map(Sql::Text);
    let marks = marks(tags);
    if query.has_tag_rows() {
        let sql = format!(
            "EXISTS (SELECT 1 FROM stack_tags AS t WHERE t.project = stacks.project \
             AND t.tag IN ({marks}) AND t.stack = stacks.number)"
        );
        return Condition { sql, values: texts.collect() };
    }
    // Most have none of them, and their JSON is not read: a tag that is there is found in its text.
    let quoted = tags.iter().map(|tag| Sql::Text(Value::from(tag.as_str()).to_string()));
    let found = vec!["instr(stacks.tags, ?)"; tags.len()].join(" OR ");
    let sql = format!(
        "(({found}) AND EXISTS (SELECT 1 FROM json_each(stacks.tags) WHERE value IN ({marks})))"
    );
    Condition { sql, values: quoted.chain(texts).collect() }
}

fn marks(values: &[String]) -> String {
    vec!["?"; values.len()].join(", ")
}

fn column(field: StackField) -> &'static str {
    match field {
        StackField::Id => "id",
        StackField::Name => "name",
        StackField::Action => "action",
        StackField::Status => "status",
        StackField::StatusReason => "reason",
        StackField::Project => "project",
        StackField::Owner => "owner",
        StackField::Timeout => "timeout_mins",
        StackField::DisableRollback => "disable_rollback",
        StackField::Parent => "parent",
        StackField::UserProject => "user_project",
    }
}

/// The value as its column has it; none where no row can have it.
fn column_value(field: StackField, value: &str) -> Option<Sql> {
    match field {
        StackField::Id | StackField::Parent => {
            Uuid::try_parse(value).ok().map(|id| Sql::Blob(id.into_bytes().to_vec()))
        }
        StackField::Timeout => value.parse().ok().map(Sql::Integer),
        StackField::DisableRollback => match value.to_ascii_lowercase().as_str() {
            "true" | "1" => Some(Sql::Integer(1)),
            "false" | "0" => Some(Sql::Integer(0)),
            _ => None,
        },
        StackField::Name
        | StackField::Action
        | StackField::Status
        | StackField::StatusReason
        | StackField::Project
        | StackField::Owner
        | StackField::UserProject => Some(Sql::Text(value.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::StatementStatus::VmStep;

    use super::*;

    const PROJECTS: [&str; 2] = ["p", "q"];

    /// Views with so many stacks, most of them of one project; of every seven one is deleted, one
    /// nested; every second one is "common", of every hundred one "rare" and one "hidden".
    fn stacks(count: u32) -> Connection {
        let db = Connection::open_in_memory().unwrap();
        db.execute_batch(include_str!("schema.sql")).unwrap();
        db.execute_batch(include_str!("indexes.sql")).unwrap();
        for number in 1..=count {
            let id = bytes(Uuid::from_u128(number.into()));
            let parent = (number % 7 == 3).then_some((id, "inner")).unzip();
            db.prepare_cached(
                "INSERT INTO stacks (number, id, project, name, action, status, reason, created_at, \
                 owner, owner_id, parent, parent_resource, root, depth, revision, disable_rollback, \
                 tags, position) VALUES \
                 (?1, ?2, ?3, ?4, 'CREATE', 'COMPLETE', '', 0, '', '', ?5, ?6, ?2, 0, 1, 0, '[]', 1)",
            )
            .unwrap()
            .execute((
                number,
                id,
                PROJECTS[usize::from(number % 11 == 0)],
                format!("s{}", number.wrapping_mul(2_654_435_761)),
                parent.0,
                parent.1,
            ))
            .unwrap();
            let tags = [(2, "common"), (100, "rare"), (101, "hidden")];
            let tags = tags.iter().filter(|(every, _)| number % every == 0).map(|(_, tag)| *tag);
            let tags = Value::from_iter(tags).to_string();
            let mut tag =
                db.prepare_cached("UPDATE stacks SET tags = ?2 WHERE number = ?1").unwrap();
            tag.execute((number, r#"["former","common"]"#)).unwrap();
            tag.execute((number, tags)).unwrap();
            if number % 7 == 5 {
                db.prepare_cached("UPDATE stacks SET deleted_at = 1 WHERE number = ?1")
                    .unwrap()
                    .execute([number])
                    .unwrap();
            }
        }
        db
    }

    fn filters() -> Vec<TagFilter> {
        let (none, common) = (Vec::new, || vec!["common".to_owned()]);
        let two = || vec!["common".to_owned(), "rare".to_owned()];
        let hidden = || vec!["hidden".to_owned()];
        let filter =
            |all, any, not_all, not_any, hidden| TagFilter { all, any, not_all, not_any, hidden };
        vec![
            filter(none(), none(), none(), none(), none()),
            filter(none(), none(), none(), none(), hidden()),
            filter(common(), none(), none(), none(), hidden()),
            filter(two(), none(), none(), none(), none()),
            filter(none(), two(), none(), none(), hidden()),
            filter(none(), none(), two(), none(), none()),
            filter(none(), none(), none(), two(), hidden()),
            filter(vec!["former".to_owned()], none(), none(), none(), none()),
            filter(hidden(), none(), common(), none(), none()),
        ]
    }

    /// Asks for it by the stacks' own JSON: deleted ones are among the answers, and left out.
    fn by_their_own(db: &Connection, query: &StackQuery) -> Vec<StackId> {
        let all = page(db, &StackQuery { deleted: true, ..query.clone() }).unwrap();
        all.iter().filter(|stack| stack.deleted_at.is_none()).map(|stack| stack.id).collect()
    }

    #[test]
    fn what_is_looked_up_and_counted_is_what_the_stacks_say() {
        let db = stacks(1_000);
        for (tags, turn) in filters().into_iter().zip(0..) {
            for project in [None, Some(ProjectId("p".to_owned()))] {
                for nested in [false, true] {
                    let query = StackQuery {
                        project: project.clone(),
                        tags: tags.clone(),
                        nested,
                        ..StackQuery::default()
                    };
                    let found: Vec<StackId> =
                        page(&db, &query).unwrap().iter().map(|stack| stack.id).collect();
                    assert_eq!(found, by_their_own(&db, &query), "filter {turn}");
                    assert_eq!(count(&db, &query).unwrap(), found.len() as u64, "filter {turn}");
                }
            }
        }
    }

    /// The work of a statement in the machine's steps does not grow with the stacks that it does not
    /// answer with.
    #[test]
    fn lists_cost_what_they_answer_with() {
        let (few, many) = (stacks(1_000), stacks(8_000));
        let tags = |all: &[&str]| TagFilter {
            all: all.iter().map(|tag| (*tag).to_owned()).collect(),
            hidden: vec!["data-processing-cluster".to_owned()],
            ..TagFilter::default()
        };
        let query = |filters, sort, tags| StackQuery {
            project: Some(ProjectId("p".to_owned())),
            filters,
            sort,
            tags,
            limit: Some(5),
            ..StackQuery::default()
        };
        let named = vec![(StackField::Name, vec!["s2654435761".to_owned()])];
        let queries = [
            ("newest", query(Vec::new(), Vec::new(), tags(&[])), 2),
            ("by name", query(named, Vec::new(), tags(&[])), 2),
            ("sorted by name", query(Vec::new(), vec![StackSort::Name], tags(&[])), 3),
            ("by a tag that few have", query(Vec::new(), Vec::new(), tags(&["rare", "hidden"])), 9),
        ];
        let steps = |db: &Connection, query: &StackQuery| {
            let (sql, values) = statement(db, query).unwrap();
            let mut statement = db.prepare(&sql).unwrap();
            statement.query_map(params_from_iter(values), row).unwrap().for_each(drop);
            statement.get_status(VmStep)
        };
        for (what, query, times) in queries {
            let (few, many) = (steps(&few, &query), steps(&many, &query));
            assert!(many <= few * times, "{what}: {few} steps with few stacks, {many} with many");
        }
    }
}
