//! The read models: what histories look like in them, and that they can always be made anew.

use std::sync::Arc;

use hearth::events::Position;
use hearth::events::log::{EventLog, MemoryLog};
use hearth::model::{Action, Status};
use hearth::projections::{EventQuery, StackQuery, StackSort, TagFilter, ViewError, Views};

use super::story::{Stack, Story};

async fn views_of(story: &Story) -> Views {
    let views = Views::in_memory(Arc::clone(&story.log)).await.unwrap();
    views.after(story.log.durable_position()).await.unwrap();
    views
}

/// `name: ACTION_STATUS` of what a stack lists.
async fn listed(views: &Views, stack: &Stack) -> Vec<String> {
    let rows = views.resources(stack.id).await.unwrap();
    rows.iter().map(|row| format!("{}: {}_{}", row.name, row.action, row.status)).collect()
}

/// `name ACTION_STATUS reason`, oldest first.
async fn event_list(views: &Views, stack: &Stack) -> Vec<String> {
    let query = EventQuery { descending: Some(false), ..EventQuery::default() };
    let events = views.events(stack.id, query).await.unwrap();
    events
        .iter()
        .map(|event| format!("{} {}_{} {}", event.name, event.action, event.status, event.reason))
        .collect()
}

#[actix::test]
async fn a_creation_reads_as_heat_tells_it() {
    let story = Story::new();
    let (stack, ids) = story.created("web", &["net", "port"]).await;
    let views = views_of(&story).await;
    assert_eq!(
        event_list(&views, &stack).await,
        [
            "web CREATE_IN_PROGRESS Stack CREATE started",
            "net CREATE_IN_PROGRESS state changed",
            "net CREATE_COMPLETE state changed",
            "port CREATE_IN_PROGRESS state changed",
            "port CREATE_COMPLETE state changed",
            "web CREATE_COMPLETE Stack CREATE completed successfully",
        ]
    );
    assert_eq!(listed(&views, &stack).await, ["net: CREATE_COMPLETE", "port: CREATE_COMPLETE"]);
    let rows = views.resources(stack.id).await.unwrap();
    assert_eq!(rows[0].required_by, ["port".into()]);
    assert_eq!(rows[0].physical_id, Some(format!("phys-{}", ids[0])));
    let shown = views.stack_shown(stack.id).await.unwrap().unwrap();
    assert_eq!((shown.stack.action, shown.stack.status), (Action::Create, Status::Complete));
    assert_eq!(shown.outputs[0].placed.value, "http://web");
    assert_eq!(shown.stack.updated_at, None);
}

#[actix::test]
async fn resources_are_listed_before_anything_is_done() {
    let story = Story::new();
    let mut stack = story.stack("web").await;
    let (net, port) = (story.fresh_resource(), story.fresh_resource());
    story.walk(&mut stack, Action::Create, &[("net", net), ("port", port)]).await;
    story.start(&stack, "net", net, Action::Create).await;
    let views = views_of(&story).await;
    assert_eq!(listed(&views, &stack).await, ["net: CREATE_IN_PROGRESS", "port: INIT_COMPLETE"]);
    assert_eq!(views.unsettled_stacks().await.unwrap(), [stack.id]);
}

#[actix::test]
async fn a_stack_at_rest_with_a_resource_at_work_is_to_be_woken() {
    let story = Story::new();
    let (stack, ids) = story.created("web", &["net"]).await;
    let views = views_of(&story).await;
    assert!(views.unsettled_stacks().await.unwrap().is_empty());
    story.start(&stack, "net", ids[0], Action::Delete).await;
    assert_eq!(views.unsettled_stacks().await.unwrap(), [stack.id]);
}

#[actix::test]
async fn a_replacement_takes_the_place_of_the_former_incarnation() {
    let story = Story::new();
    let (mut stack, ids) = story.created("web", &["net"]).await;
    story.walk(&mut stack, Action::Update, &[("net", ids[0])]).await;
    story.start(&stack, "net", ids[0], Action::Update).await;
    let new = story.replace(&stack, "net", ids[0]).await;
    let views = views_of(&story).await;
    assert_eq!(listed(&views, &stack).await, ["net: INIT_COMPLETE"]);
    story.act(&stack, "net", new, Action::Create).await;
    story.act(&stack, "net", ids[0], Action::Delete).await;
    let last = story.walked(&stack, Action::Update, Status::Complete).await;
    views.after(last.position).await.unwrap();
    assert_eq!(listed(&views, &stack).await, ["net: CREATE_COMPLETE"]);
    assert_eq!(
        event_list(&views, &stack).await[4..],
        [
            "web UPDATE_IN_PROGRESS Stack UPDATE started",
            "net UPDATE_IN_PROGRESS state changed",
            "net UPDATE_COMPLETE The Resource net requires replacement.",
            "net CREATE_IN_PROGRESS state changed",
            "net CREATE_COMPLETE state changed",
            "net DELETE_IN_PROGRESS state changed",
            "net DELETE_COMPLETE state changed",
            "web UPDATE_COMPLETE Stack UPDATE completed successfully",
        ]
    );
}

#[actix::test]
async fn going_back_takes_the_old_incarnation_back() {
    let story = Story::new();
    let (mut stack, ids) = story.created("web", &["net"]).await;
    story.walk(&mut stack, Action::Update, &[("net", ids[0])]).await;
    story.start(&stack, "net", ids[0], Action::Update).await;
    let new = story.replace(&stack, "net", ids[0]).await;
    story.start(&stack, "net", new, Action::Create).await;
    story.settle(&stack, new, Action::Create, Status::Failed).await;
    let views = views_of(&story).await;
    assert_eq!(listed(&views, &stack).await, ["net: CREATE_FAILED"]);
    let last = story.walk(&mut stack, Action::Rollback, &[("net", ids[0])]).await;
    views.after(last.position).await.unwrap();
    // Its former status is left over, as in Heat.
    assert_eq!(listed(&views, &stack).await, ["net: UPDATE_COMPLETE"]);
}

#[actix::test]
async fn a_resource_left_out_is_listed_until_the_walk_ends() {
    let story = Story::new();
    let (mut stack, ids) = story.created("web", &["net", "port"]).await;
    story.walk(&mut stack, Action::Update, &[("net", ids[0])]).await;
    story.start(&stack, "port", ids[1], Action::Delete).await;
    let views = views_of(&story).await;
    let both = ["net: CREATE_COMPLETE", "port: DELETE_IN_PROGRESS"];
    assert_eq!(listed(&views, &stack).await, both);
    let last = story.settle(&stack, ids[1], Action::Delete, Status::Complete).await;
    views.after(last.position).await.unwrap();
    let both = ["net: CREATE_COMPLETE", "port: DELETE_COMPLETE"];
    assert_eq!(listed(&views, &stack).await, both);
    let last = story.walked(&stack, Action::Update, Status::Complete).await;
    views.after(last.position).await.unwrap();
    assert_eq!(listed(&views, &stack).await, ["net: CREATE_COMPLETE"]);
}

#[actix::test]
async fn a_deleted_stack_is_found_by_its_id_alone() {
    let story = Story::new();
    let (mut stack, ids) = story.created("web", &["net"]).await;
    story.walk(&mut stack, Action::Delete, &[]).await;
    story.act(&stack, "net", ids[0], Action::Delete).await;
    story.walked(&stack, Action::Delete, Status::Complete).await;
    let views = views_of(&story).await;
    let project = story.project.clone();
    assert!(views.find(project.clone(), "web".into()).await.unwrap().is_none());
    let found = views.find(project, stack.id.to_string()).await.unwrap().unwrap();
    assert!(found.is_deleted());
    assert!(found.deleted_at.is_some());
    assert_eq!(listed(&views, &stack).await, [""; 0]);
    assert!(views.stacks(StackQuery::default()).await.unwrap().is_empty());
    let deleted = StackQuery { deleted: true, ..StackQuery::default() };
    assert_eq!(views.count_stacks(deleted).await.unwrap(), 1);
    // What a deleted resource was is still known: the feed asks for it.
    let owner = views.owner_of(ids[0]).await.unwrap();
    assert_eq!(owner, Some((stack.id, "net".into())));
}

#[actix::test]
async fn pages_neither_repeat_nor_miss() {
    let story = Story::new();
    for name in ["d", "a", "c", "b", "e"] {
        story.created(name, &[]).await;
    }
    let views = views_of(&story).await;
    for (sort, descending, expected) in [
        (vec![], None, ["e", "b", "c", "a", "d"]),
        (vec![], Some(false), ["d", "a", "c", "b", "e"]),
        (vec![StackSort::Name], None, ["a", "b", "c", "d", "e"]),
        (vec![StackSort::Status, StackSort::Name], Some(true), ["e", "d", "c", "b", "a"]),
        (vec![StackSort::Updated], None, ["d", "a", "c", "b", "e"]),
    ] {
        let mut query = StackQuery { sort, descending, limit: Some(2), ..StackQuery::default() };
        let mut names = Vec::new();
        loop {
            let page = views.stacks(query.clone()).await.unwrap();
            let Some(last) = page.last() else { break };
            query.marker = Some(last.id);
            names.extend(page.iter().map(|stack| stack.name.to_string()));
        }
        assert_eq!(names, expected);
    }
}

#[actix::test]
async fn events_are_paged_by_their_ids() {
    let story = Story::new();
    let (stack, _) = story.created("web", &["net"]).await;
    let views = views_of(&story).await;
    let all = views.events(stack.id, EventQuery::default()).await.unwrap();
    assert_eq!(all.len(), 4);
    let mut query = EventQuery { limit: Some(3), ..EventQuery::default() };
    let first = views.events(stack.id, query.clone()).await.unwrap();
    query.marker = first.last().map(|event| event.id);
    let rest = views.events(stack.id, query.clone()).await.unwrap();
    assert_eq!([first, rest].concat(), all);
    query = EventQuery { marker: Some(stack.id.0), ..EventQuery::default() };
    assert_eq!(views.events(stack.id, query).await.unwrap().len(), 4);
    let found = views.event(stack.id, all[1].id).await.unwrap();
    assert_eq!(found.as_ref(), Some(&all[1]));
}

#[actix::test]
async fn tags_are_looked_at_together_apart_and_negated() {
    let story = Story::new();
    for (name, tags) in [("a", &["x", "y"][..]), ("b", &["x"]), ("c", &[])] {
        let stack = story.stack(name).await;
        story.revision(&stack, 2, tags).await;
    }
    let views = views_of(&story).await;
    let names = async |tags: TagFilter| {
        let query = StackQuery { tags, sort: vec![StackSort::Name], ..StackQuery::default() };
        let found = views.stacks(query).await.unwrap();
        found.iter().map(|stack| stack.name.to_string()).collect::<String>()
    };
    let both = vec!["x".to_owned(), "y".to_owned()];
    assert_eq!(names(TagFilter { all: both.clone(), ..TagFilter::default() }).await, "a");
    assert_eq!(names(TagFilter { any: both.clone(), ..TagFilter::default() }).await, "ab");
    assert_eq!(names(TagFilter { not_all: both.clone(), ..TagFilter::default() }).await, "bc");
    assert_eq!(names(TagFilter { not_any: both.clone(), ..TagFilter::default() }).await, "c");
    assert_eq!(names(TagFilter { hidden: vec!["y".into()], ..TagFilter::default() }).await, "bc");
}

/// Everything the views say of a stack.
async fn told(views: &Views, stack: &Stack) -> String {
    format!(
        "{:#?} {:#?} {:#?} {:#?}",
        views.stack_shown(stack.id).await.unwrap(),
        views.resources(stack.id).await.unwrap(),
        views.events(stack.id, EventQuery::default()).await.unwrap(),
        views.revisions(stack.id).await.unwrap(),
    )
}

async fn opened(path: &std::path::Path, log: &Arc<dyn EventLog>) -> Views {
    let views = Views::open(path, Arc::clone(log)).await.unwrap();
    views.after(log.durable_position()).await.unwrap();
    views
}

#[actix::test]
async fn lost_old_foreign_and_damaged_views_are_made_anew() {
    let story = Story::new();
    let (mut stack, ids) = story.created("web", &["net", "port"]).await;
    story.walk(&mut stack, Action::Update, &[("net", ids[0])]).await;
    story.start(&stack, "net", ids[0], Action::Update).await;
    story.replace(&stack, "net", ids[0]).await;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("views.db");
    let views = opened(&path, &story.log).await;
    let expected = told(&views, &stack).await;
    views.close().await;
    assert!(expected.contains("requires replacement"));

    let indexes = |path: &std::path::Path| -> Vec<String> {
        let db = rusqlite::Connection::open(path).unwrap();
        let sql = "SELECT name FROM sqlite_schema WHERE type = 'index' ORDER BY name";
        let mut names = db.prepare(sql).unwrap();
        names.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
    };
    let expected_indexes = indexes(&path);

    type Spoil = fn(&std::path::Path);
    let spoil: [(&str, Spoil); 5] = [
        ("kept", |_| {}),
        ("lost", |path| std::fs::remove_file(path).unwrap()),
        ("damaged", |path| {
            std::fs::write(
                path,
                b"this is no database, though it is long enough to be taken for one",
            )
            .unwrap()
        }),
        ("of another schema", |path| {
            let db = rusqlite::Connection::open(path).unwrap();
            db.execute_batch("UPDATE meta SET schema = 0; DROP TABLE resources;").unwrap();
        }),
        ("cut off before all indexes were made", |path| {
            let db = rusqlite::Connection::open(path).unwrap();
            db.execute_batch("DROP INDEX stacks_by_name; DROP INDEX stacks_failed;").unwrap();
        }),
    ];
    for (what, spoil) in spoil {
        spoil(&path);
        let views = opened(&path, &story.log).await;
        assert_eq!(told(&views, &stack).await, expected, "{what}");
        views.close().await;
        assert_eq!(indexes(&path), expected_indexes, "{what}");
    }

    // Another log altogether: nothing of the former one is left.
    let other = Story::of(Arc::new(MemoryLog::new()), "p1", 8);
    let (of_other, _) = other.created("other", &["net", "port", "server", "volume"]).await;
    let views = opened(&path, &other.log).await;
    assert!(views.stack(stack.id).await.unwrap().is_none());
    assert!(views.stack(of_other.id).await.unwrap().is_some());
}

#[actix::test]
async fn views_opened_again_go_on_where_they_stood() {
    let story = Story::new();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("views.db");
    let (first, _) = story.created("first", &["net"]).await;
    opened(&path, &story.log).await.close().await;
    let (second, _) = story.created("second", &["net"]).await;
    let views = opened(&path, &story.log).await;
    for stack in [&first, &second] {
        assert_eq!(listed(&views, stack).await, ["net: CREATE_COMPLETE"]);
    }
    assert_eq!(views.count_stacks(StackQuery::default()).await.unwrap(), 2);
}

#[actix::test]
async fn a_wait_ends_when_the_views_have_passed_the_position() {
    let story = Story::new();
    let views = views_of(&story).await;
    let waiting = views.clone();
    let next = hearth::events::Position(views.position().0 + 1);
    let wait = actix::spawn(async move { waiting.after(next).await.is_ok() });
    story.stack("web").await;
    assert!(wait.await.unwrap());
}

#[actix::test]
async fn views_that_could_not_be_written_go_on_when_they_can() {
    let story = Story::new();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("views.db");
    let views = opened(&path, &story.log).await;
    let aside = |from: &str, to: &str| {
        let db = rusqlite::Connection::open(&path).unwrap();
        db.execute_batch(&format!("ALTER TABLE {from} RENAME TO {to}")).unwrap();
    };
    aside("event_list", "put_aside");
    let (web, _) = story.created("web", &["net"]).await;
    let end = story.log.durable_position();
    let wait = std::time::Duration::from_millis(200);
    assert!(tokio::time::timeout(wait, views.after(end)).await.is_err(), "nothing was in the way");
    aside("put_aside", "event_list");
    views.after(end).await.unwrap();
    assert_eq!(listed(&views, &web).await, ["net: CREATE_COMPLETE"]);
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_for_ever_for_views_that_stand_still() {
    let views = Views::in_memory(Arc::new(MemoryLog::new())).await.unwrap();
    assert!(matches!(views.soon_after(Position(1)).await, Err(ViewError::Behind)));
}
