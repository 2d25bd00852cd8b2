//! Filtering, sorting and paging of stacks, as one SQL statement.

use rusqlite::types::Value as Sql;
use rusqlite::{Connection, OptionalExtension, params_from_iter};
use uuid::Uuid;

use super::columns::bytes;
use super::stacks::{COLUMNS, StackRow, row};
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

/// An SQL condition and its values.
struct Condition {
    sql: String,
    values: Vec<Sql>,
}

impl Condition {
    fn and(&mut self, sql: &str, values: impl IntoIterator<Item = Sql>) {
        self.sql.push_str(if self.sql.is_empty() { " WHERE " } else { " AND " });
        self.sql.push_str(sql);
        self.values.extend(values);
    }
}

/// The page of stacks that a query asks for.
pub(super) fn page(db: &Connection, query: &StackQuery) -> rusqlite::Result<Vec<StackRow>> {
    let mut condition = condition(query);
    let descending = query.descending.unwrap_or(query.sort.is_empty());
    let (after, direction) = if descending { ("<", "DESC") } else { (">", "ASC") };
    let keys = sort_keys(&query.sort);
    let marker = match query.marker {
        Some(id) => number_of(db, id)?,
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
        "SELECT {COLUMNS} FROM stacks{} ORDER BY {} LIMIT ?",
        condition.sql,
        order.join(", ")
    );
    db.prepare_cached(&sql)?.query_map(params_from_iter(condition.values), row)?.collect()
}

/// How many stacks a query matches, whatever its page.
pub(super) fn count(db: &Connection, query: &StackQuery) -> rusqlite::Result<u64> {
    let condition = condition(query);
    let found: i64 = db
        .prepare_cached(&format!("SELECT count(*) FROM stacks{}", condition.sql))?
        .query_row(params_from_iter(condition.values), |row| row.get(0))?;
    Ok(u64::try_from(found).unwrap_or(0))
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

fn number_of(db: &Connection, id: StackId) -> rusqlite::Result<Option<i64>> {
    db.prepare_cached("SELECT number FROM stacks WHERE id = ?1")?
        .query_row([bytes(id.0)], |row| row.get(0))
        .optional()
}

fn condition(query: &StackQuery) -> Condition {
    let mut condition = Condition { sql: String::new(), values: Vec::new() };
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
    for tag in &tags.all {
        condition.and(&tagged(1), [Sql::Text(tag.clone())]);
    }
    if !tags.any.is_empty() {
        condition.and(&tagged(tags.any.len()), texts(&tags.any));
    }
    if !tags.not_all.is_empty() {
        let each = vec![tagged(1); tags.not_all.len()].join(" AND ");
        condition.and(&format!("NOT ({each})"), texts(&tags.not_all));
    }
    for none_of in [&tags.not_any, &tags.hidden] {
        if !none_of.is_empty() {
            condition.and(&format!("NOT {}", tagged(none_of.len())), texts(none_of));
        }
    }
    condition
}

fn tagged(count: usize) -> String {
    let marks = vec!["?"; count].join(", ");
    format!("EXISTS (SELECT 1 FROM json_each(stacks.tags) WHERE value IN ({marks}))")
}

fn texts(values: &[String]) -> Vec<Sql> {
    values.iter().cloned().map(Sql::Text).collect()
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
