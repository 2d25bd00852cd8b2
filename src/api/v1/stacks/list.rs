//! `GET …/stacks`: filtering, sorting and paging; `GET …/stacks/detail`.

use actix_web::{HttpRequest, HttpResponse};
use serde::Serialize;

use super::view::Listed;
use crate::api::ApiState;
use crate::api::context::Context;
use crate::api::error::Fault;
use crate::api::past::position_at;
use crate::api::query::{Param, SORT_DIR, boolean, number, text, texts};
use crate::api::request::Params;
use crate::api::url::{Link, Links, link, root};
use crate::api::v1::{Answer, State, answer};
use crate::model::StackId;
use crate::projections::{StackField, StackQuery, StackRow, StackSort, TagFilter};

/// What can be filtered by, under each name that Heat knows it by.
const FILTERS: &[(&str, StackField)] = &[
    ("action", StackField::Action),
    ("disable_rollback", StackField::DisableRollback),
    ("id", StackField::Id),
    ("name", StackField::Name),
    ("owner_id", StackField::Parent),
    ("parent", StackField::Parent),
    ("stack_action", StackField::Action),
    ("stack_name", StackField::Name),
    ("stack_owner", StackField::Owner),
    ("stack_status", StackField::Status),
    ("stack_status_reason", StackField::StatusReason),
    ("stack_user_project_id", StackField::UserProject),
    ("status", StackField::Status),
    ("tenant", StackField::Project),
    ("timeout_mins", StackField::Timeout),
    ("username", StackField::Owner),
];

/// What can be sorted by; other keys are dropped.
const SORT_KEYS: &[(&str, StackSort)] = &[
    ("stack_name", StackSort::Name),
    ("stack_status", StackSort::Status),
    ("creation_time", StackSort::Created),
    ("updated_time", StackSort::Updated),
];

/// What is read of the query beside the filters.
const OTHERS: &[Param] = &[
    boolean("global_tenant"),
    boolean("with_count"),
    boolean("show_hidden"),
    boolean("show_nested"),
    boolean("show_deleted"),
    text("tags"),
    text("tags_any"),
    text("not_tags"),
    text("not_tags_any"),
    texts("sort_keys"),
    SORT_DIR,
    text("marker"),
    number("limit"),
];

/// What the list reads of its query.
pub(in crate::api) fn reads() -> Vec<Param> {
    FILTERS.iter().map(|(name, _)| texts(name)).chain(OTHERS.iter().copied()).collect()
}

pub(in crate::api) async fn index(state: State, context: Context, request: HttpRequest) -> Answer {
    context.require("stacks:index").await?;
    let params = Params::of(&request);
    let mut query = query(&state, &context, &params)?;
    query.at = position_at(&state, &params).await?;
    let mut with_project = context.caller.is_admin();
    if params.boolean("global_tenant")?.unwrap_or(false) {
        context.require("stacks:global_index").await?;
        query.project = None;
        with_project = true;
    }
    let count = match params.boolean("with_count")? {
        Some(true) => Some(state.views.count_stacks(query.clone()).await?),
        Some(false) | None => None,
    };
    let limit = query.limit;
    let stacks = state.views.stacks(query).await?;
    page(with_project, &request, &params, &stacks, limit, count)
}

pub(in crate::api) async fn detail(
    state: &ApiState,
    context: &Context,
    request: &HttpRequest,
) -> Answer {
    context.require("stacks:detail").await?;
    let at = position_at(state, &Params::of(request)).await?;
    let query = StackQuery { project: context.visible_project(), at, ..StackQuery::default() };
    let links = Links::of(request);
    let stacks = state.views.stacks(query).await?;
    let stacks = stacks.iter().map(|stack| Listed::of(&links, stack, false)).collect();
    answer(&Page { stacks, links: None, count: None })
}

fn query(state: &ApiState, context: &Context, params: &Params) -> Result<StackQuery, Fault> {
    let hidden = match params.boolean("show_hidden")? {
        Some(true) => Vec::new(),
        Some(false) | None => state.settings.hidden_stack_tags.clone(),
    };
    let sort = params.all("sort_keys").iter().filter_map(|key| found(SORT_KEYS, key)).collect();
    Ok(StackQuery {
        project: context.visible_project(),
        filters: filters(params),
        tags: TagFilter {
            all: params.tags("tags")?,
            any: params.tags("tags_any")?,
            not_all: params.tags("not_tags")?,
            not_any: params.tags("not_tags_any")?,
            hidden,
        },
        nested: params.boolean("show_nested")?.unwrap_or(false),
        deleted: params.boolean("show_deleted")?.unwrap_or(false),
        sort,
        descending: params.descending()?,
        marker: params.one("marker").and_then(|id| id.parse().ok()).map(StackId),
        limit: params.number("limit")?,
        at: None,
    })
}

fn found<T: Copy>(table: &[(&str, T)], name: &str) -> Option<T> {
    table.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
}

/// The filters that are given; a status may name its action as well.
fn filters(params: &Params) -> Vec<(StackField, Vec<String>)> {
    let mut filters: Vec<(StackField, Vec<String>)> = Vec::new();
    let mut add = |field: StackField, values: Vec<String>| {
        if values.is_empty() {
            return;
        }
        match filters.iter_mut().find(|(known, _)| *known == field) {
            Some((_, known)) => known.extend(values),
            None => filters.push((field, values)),
        }
    };
    for (name, field) in FILTERS {
        let values = params.all(name);
        if *field == StackField::Status {
            let (actions, statuses) = split_states(&values);
            add(StackField::Action, actions);
            add(StackField::Status, statuses);
        } else {
            add(*field, values);
        }
    }
    filters
}

/// `CREATE_FAILED` is the action CREATE with the status FAILED; `FAILED` alone is just that.
pub(in crate::api::v1) fn split_states(states: &[String]) -> (Vec<String>, Vec<String>) {
    let (mut actions, mut statuses) = (Vec::new(), Vec::new());
    for state in states {
        let status = ["COMPLETE", "FAILED", "IN_PROGRESS"]
            .into_iter()
            .find_map(|status| state.rfind(status));
        let Some(at) = status else {
            statuses.push(state.clone());
            continue;
        };
        statuses.push(state[at..].to_owned());
        // What stands between the two is one character, whichever.
        let mut action = state[..at].chars();
        action.next_back();
        if !action.as_str().is_empty() {
            actions.push(action.as_str().to_owned());
        }
    }
    (actions, statuses)
}

fn page(
    with_project: bool,
    request: &HttpRequest,
    params: &Params,
    stacks: &[StackRow],
    limit: Option<u64>,
    count: Option<u64>,
) -> Result<HttpResponse, Fault> {
    let links = Links::of(request);
    let is_full = limit.is_some_and(|limit| limit > 0 && limit == stacks.len() as u64);
    let last = stacks.last().filter(|_| is_full);
    answer(&Page {
        stacks: stacks.iter().map(|stack| Listed::of(&links, stack, with_project)).collect(),
        links: last.map(|last| [link(next_page(request, params, &last.id.to_string()), "next")]),
        count,
    })
}

#[derive(Serialize)]
struct Page<'a> {
    stacks: Vec<Listed<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    links: Option<[Link; 1]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<u64>,
}

/// The same query, from the last stack of this page on.
fn next_page(request: &HttpRequest, params: &Params, marker: &str) -> String {
    let mut query = ::url::form_urlencoded::Serializer::new(String::new());
    for (name, value) in params.pairs().filter(|(name, _)| *name != "marker") {
        query.append_pair(name, value);
    }
    query.append_pair("marker", marker);
    format!("{}{}?{}", root(request), request.path(), query.finish())
}

#[cfg(test)]
mod tests {
    use super::split_states;

    #[test]
    fn a_state_is_an_action_and_a_status_whatever_stands_between() {
        let split = |state: &str| split_states(&[state.to_owned()]);
        let of = |actions: &[&str], status: &str| {
            (actions.iter().map(ToString::to_string).collect(), vec![status.to_owned()])
        };
        assert_eq!(split("CREATE_IN_PROGRESS"), of(&["CREATE"], "IN_PROGRESS"));
        assert_eq!(split("FAILED"), of(&[], "FAILED"));
        assert_eq!(split("_FAILED"), of(&[], "FAILED"));
        assert_eq!(split("éFAILED"), of(&[], "FAILED"));
        assert_eq!(split("CREATEéFAILED"), of(&["CREATE"], "FAILED"));
        assert_eq!(split("nothing"), of(&[], "nothing"));
    }
}
