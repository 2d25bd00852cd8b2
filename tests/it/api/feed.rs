//! The feed: every event once, in order, from anywhere, and only one's own.

use hearth::events::log::Filter;
use hearth::events::stack::{Owner, StackCreated};
use hearth::events::{Position, StackEvent, StreamId};
use hearth::model::{Action, StackId, Status};
use hearth::openstack::CloudLimits;
use hearth::projections::{Landmark, Search, Views};
use serde_json::Value;

use super::app::{App, SetUp};
use super::story::Story;

/// A frame as a client reads it.
struct Frame {
    id: u64,
    event: String,
    data: Value,
}

/// Reads frames until there are as many as wanted.
async fn frames(app: &App, query: &str, last: Option<u64>, wanted: usize) -> Vec<Frame> {
    // As after a command, whose answer waits for the views.
    app.views.after(app.log.durable_position()).await.unwrap();
    let url = format!("{}/v1/{}/feed{query}", app.url, app.project);
    let mut request = app.client.get(url).header("x-auth-token", &app.token);
    if let Some(last) = last {
        request = request.header("last-event-id", last.to_string());
    }
    let mut response = request.send().await.unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let (mut text, mut frames) = (String::new(), Vec::new());
    while frames.len() < wanted {
        let chunk = response.chunk().await.unwrap().unwrap();
        text.push_str(std::str::from_utf8(&chunk).unwrap());
        while let Some((frame, rest)) = text.split_once("\n\n") {
            let field = |name: &str| {
                let line = frame.lines().find_map(|line| line.strip_prefix(name));
                line.map(|value| value.trim().to_owned())
            };
            if let (Some(id), Some(event), Some(data)) =
                (field("id:"), field("event:"), field("data:"))
            {
                let data = serde_json::from_str(&data).unwrap();
                frames.push(Frame { id: id.parse().unwrap(), event, data });
            }
            text = rest.to_owned();
        }
    }
    frames.truncate(wanted);
    frames
}

#[actix::test]
async fn a_client_that_comes_back_misses_and_repeats_nothing() {
    let app = App::start().await;
    let story = Story::of(app.log.clone(), &app.project, 21);
    let (mut stack, ids) = story.created("web", &["net"]).await;
    let first = frames(&app, "", None, 3).await;
    assert_eq!(first[0].event, "StackCreated");
    assert_eq!(first[0].data["body"]["name"], "web");
    assert_eq!(first[0].data["caller"]["user_name"], "alice");
    assert_eq!(first[0].data["request_id"], "req-1");
    // More happens while it is away, and while it listens again.
    story.walk(&mut stack, Action::Delete, &[]).await;
    let last = first[2].id;
    let (rest, ()) = futures::join!(frames(&app, "", Some(last), 7), async {
        story.act(&stack, "net", ids[0], Action::Delete).await;
        story.walked(&stack, Action::Delete, Status::Complete).await;
    });
    let ids: Vec<u64> = first[..3].iter().chain(&rest).map(|frame| frame.id).collect();
    assert_eq!(ids, (1..=10).collect::<Vec<u64>>()[..ids.len()]);
    let asked: Vec<u64> = frames(&app, "?after=8", None, 1).await.iter().map(|f| f.id).collect();
    assert_eq!(asked, [9]);
    app.stop().await;
}

#[actix::test]
async fn a_feed_carries_ones_own_stacks_and_no_secret() {
    let app = App::start().await;
    let other = Story::of(app.log.clone(), "another", 22);
    other.created("secret-web", &["net"]).await;
    let story = Story::of(app.log.clone(), &app.project, 23);
    let (stack, _) = story.created("web", &["net"]).await;
    let seen = frames(&app, "", None, 5).await;
    assert!(seen.iter().all(|frame| frame.id > 6));
    assert_eq!(seen[0].data["stream"], format!("stack-{}", stack.id));
    assert_eq!(seen[1].data["body"]["parameters"]["password"], "******");
    assert_eq!(seen[3].event, "ActionStarted");
    assert_eq!(seen[3].data["body"]["definition"]["properties"]["secret"], "******");
    app.stop().await;
}

#[actix::test]
async fn filters_narrow_the_feed() {
    let app = App::start().await;
    let story = Story::of(app.log.clone(), &app.project, 24);
    story.created("one", &["net", "port"]).await;
    story.created("two", &["net"]).await;
    let events = async |query: &str, wanted| {
        let seen = frames(&app, query, None, wanted).await;
        seen.iter().map(|frame| format!("{} {}", frame.id, frame.event)).collect::<Vec<_>>()
    };
    assert_eq!(events("?stack=two", 1).await, ["9 StackCreated"]);
    assert_eq!(events("?resource=port", 2).await, ["6 ActionStarted", "7 ActionSettled"]);
    assert_eq!(
        events("?type=TraversalSettled", 2).await,
        ["8 TraversalSettled", "14 TraversalSettled"]
    );
    assert_eq!(
        events("?stack=two&status=CREATE_COMPLETE", 2).await,
        ["13 ActionSettled", "14 TraversalSettled"]
    );
    let (mut gone, _) = story.created("three", &[]).await;
    story.walk(&mut gone, Action::Delete, &[]).await;
    story.walked(&gone, Action::Delete, Status::Complete).await;
    assert_eq!(events("?stack=three", 1).await, ["15 StackCreated"]);
    // What no event of a feed has, and what no event follows.
    for query in ["type=ConfigCreated", "type=Zzz", "after=999999"] {
        let path = format!("/v1/{}/feed?{query}", app.project);
        let headers = [("x-auth-token", app.token.as_str())];
        assert_eq!(app.send("GET", &path, &headers, None).await.status, 400, "{query}");
    }
    let path = format!("/v1/{}/feed?stack=nothing", app.project);
    let headers = [("x-auth-token", app.token.as_str())];
    assert_eq!(app.send("GET", &path, &headers, None).await.status, 404);
    let path = format!("/v1/{}/feed?all_projects=true", app.project);
    assert_eq!(app.send("GET", &path, &headers, None).await.status, 403);
    app.stop().await;
}

/// What there is by a query, and no more: position and type of each event.
async fn listed(app: &App, query: &str) -> Vec<String> {
    listed_to(app, &app.token, &format!("/v1/{}{query}", app.project)).await
}

/// The same for somebody else.
async fn listed_to(app: &App, token: &str, path: &str) -> Vec<String> {
    let headers = [("x-auth-token", token), ("accept", "application/x-ndjson")];
    let answer = app.send("GET", path, &headers, None).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert_eq!(answer.header("content-type"), "application/x-ndjson");
    let lines = answer.text.lines().filter(|line| !line.is_empty());
    let events = lines.map(|line| serde_json::from_str::<Value>(line).unwrap());
    events
        .map(|event| format!("{} {}", event["position"], event["type"].as_str().unwrap()))
        .collect()
}

#[actix::test]
async fn an_administrator_follows_the_events_of_every_project() {
    let app = App::start().await;
    let other = Story::of(app.log.clone(), "another", 41);
    let (theirs, _) = other.created("theirs", &["net"]).await;
    let story = Story::of(app.log.clone(), &app.project, 42);
    story.created("ours", &["port"]).await;
    app.views.after(app.log.durable_position()).await.unwrap();
    let (token, project) = app.login("admin", "admin").await;
    let follow = async |query: &str| {
        listed_to(&app, &token, &format!("/v1/{project}/feed?until=now{query}")).await
    };
    let all = follow("&all_projects=true").await;
    assert_eq!(all.len(), 12);
    assert_eq!((all[0].as_str(), all[6].as_str()), ("1 StackCreated", "7 StackCreated"));
    // A stack is found by its id wherever it is, and by its name in his own project.
    assert_eq!(follow(&format!("&all_projects=true&stack={}", theirs.id)).await, all[..6]);
    for query in ["&all_projects=true&stack=theirs", &format!("&stack={}", theirs.id)] {
        let path = format!("/v1/{project}/feed?until=now{query}");
        let refused = app.send("GET", &path, &[("x-auth-token", &token)], None).await;
        assert_eq!(refused.status, 404, "{query}");
    }
    assert_eq!(
        follow("&all_projects=true&resource=port").await,
        ["10 ActionStarted", "11 ActionSettled"]
    );
    // Unasked, he sees his own project's, as everybody does.
    assert_eq!(follow("").await, Vec::<String>::new());

    // What is yet to come is everybody's, too.
    let path = format!("{}/v1/{project}/feed?all_projects=true&after=12", app.url);
    let mut open = app.client.get(path).header("x-auth-token", &token).send().await.unwrap();
    assert_eq!(open.status(), 200);
    other.created("later", &[]).await;
    let mut text = String::new();
    while !text.contains("\"later\"") {
        text.push_str(std::str::from_utf8(&open.chunk().await.unwrap().unwrap()).unwrap());
    }
    drop(open);
    app.stop().await;
}

#[actix::test]
async fn a_feed_that_is_to_end_gives_what_there_is_as_lines() {
    let app = App::start().await;
    let story = Story::of(app.log.clone(), &app.project, 31);
    let (stack, _) = story.created("one", &["net", "port"]).await;
    story.created("two", &["net"]).await;
    let all = listed(&app, "/feed?until=now").await;
    assert_eq!(all.len(), 14);
    assert_eq!(listed(&app, "/feed?until=6").await, all[..6]);
    assert_eq!(listed(&app, "/feed?until=6&after=4").await, all[4..6]);
    let of_stack = format!("/stacks/one/{}/feed?until=now", stack.id);
    assert_eq!(listed(&app, &of_stack).await, all[..8]);
    for (query, wanted) in [
        ("resource=port", vec!["6 ActionStarted", "7 ActionSettled"]),
        ("resource=port&status=COMPLETE", vec!["7 ActionSettled"]),
        (
            "action=CREATE&status=IN_PROGRESS&stack=two",
            vec!["11 TraversalStarted", "12 ActionStarted"],
        ),
        ("action=DELETE", vec![]),
        ("caller=alice&type=StackCreated", vec!["1 StackCreated", "9 StackCreated"]),
        ("caller=u1&type=StackCreated&after=1", vec!["9 StackCreated"]),
        ("caller=bob", vec![]),
    ] {
        assert_eq!(listed(&app, &format!("/feed?until=now&{query}")).await, wanted, "{query}");
    }
    app.stop().await;
}

#[actix::test]
async fn a_feed_begins_and_ends_at_times() {
    let app = App::start().await;
    let story = Story::of(app.log.clone(), &app.project, 32);
    story.created("one", &["net"]).await;
    let all = app.log.read_all(Position(0), &Filter::default(), 10).await.unwrap();
    let time = |at: usize| all[at - 1].at.to_rfc3339().replace('+', "%2B");
    let query = format!("/feed?after={}&until={}", time(2), time(4));
    assert_eq!(listed(&app, &query).await, ["3 TraversalStarted", "4 ActionStarted"]);
    for query in [
        "after=yesterday",
        "until=tomorrow",
        "type=Zzz",
        "status=FOO",
        "status=CREATE",
        "action=create",
        "tpye=StackCreated",
    ] {
        let path = format!("/feed?{query}");
        assert_eq!(app.get(&path).await.status, 400, "{query}");
    }
    let many = "&caller=a".repeat(101);
    assert_eq!(app.get(&format!("/feed?until=now{many}")).await.status, 400);
    app.stop().await;
}

/// Only the blocks are read in which there may be something.
#[actix::test]
async fn a_filter_that_nothing_fits_reads_nothing_of_the_log() {
    let story = Story::new();
    for number in 0..60 {
        story.created(&format!("web-{number}"), &["net", "port"]).await;
    }
    let (failed, _) = story.created("failed", &["disk"]).await;
    let views = Views::in_memory(story.log.clone()).await.unwrap();
    views.after(story.log.durable_position()).await.unwrap();
    let blocks = async |landmarks: &[Landmark<'_>]| {
        let mut search = Search::default();
        landmarks.iter().for_each(|landmark| search.one_of([*landmark]));
        views.blocks(&search, Position(0)).await.unwrap()
    };
    assert_eq!(blocks(&[Landmark::Type("SnapshotStarted")]).await, []);
    assert_eq!(blocks(&[Landmark::Project(&"another".into())]).await, []);
    assert_eq!(blocks(&[Landmark::Resource("net")]).await, [0..=255, 256..=511]);
    let of_disk = [Landmark::Resource("disk"), Landmark::Project(&story.project)];
    assert_eq!(blocks(&of_disk).await, [256..=511]);
    assert_eq!(blocks(&[Landmark::Stack(failed.id)]).await, [256..=511]);
    assert_eq!(blocks(&[Landmark::Tree(failed.id), Landmark::Resource("port")]).await, [256..=511]);
}

/// Runs one of the examples against a server.
async fn example(app: &App, name: &str, arguments: &[&str]) -> String {
    let mut command = std::process::Command::new(format!("examples/feed/{name}"));
    command.args(arguments).env("OS_TOKEN", &app.token);
    command.env("HEAT_URL", format!("{}/v1/{}", app.url, app.project));
    let output = tokio::task::spawn_blocking(move || command.output());
    let output = output.await.unwrap().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{name}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

#[actix::test]
async fn the_examples_do_what_they_say() {
    let app = App::start().await;
    let story = Story::of(app.log.clone(), &app.project, 33);
    story.created("one", &["net"]).await;
    let followed = example(&app, "follow.py", &["until=now&stack=one"]).await;
    let types: Vec<&str> = followed.lines().map(|line| line.rsplit(' ').next().unwrap()).collect();
    assert_eq!(types.len(), 6);
    assert_eq!(types[..2], ["StackCreated", "RevisionAccepted"]);
    assert!(followed.starts_with("1 ") && followed.contains(" alice "), "{followed}");
    let place = tempfile::tempdir().unwrap();
    let trail = place.path().join("trail.jsonl");
    let positions = || {
        let text = std::fs::read_to_string(&trail).unwrap();
        let events = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        events.map(|event| event["position"].as_u64().unwrap()).collect::<Vec<u64>>()
    };
    let trail = trail.to_str().unwrap();
    example(&app, "trail.sh", &[trail]).await;
    assert_eq!(positions(), [1, 2, 3, 4, 5, 6]);
    story.created("two", &["net"]).await;
    example(&app, "trail.sh", &[trail]).await;
    assert_eq!(positions(), (1..=12).collect::<Vec<u64>>());
    app.stop().await;
}

#[actix::test]
async fn a_feed_begins_with_what_the_stack_is_at() {
    let app = App::start().await;
    let story = Story::of(app.log.clone(), &app.project, 28);
    let (mut stack, ids) = story.created("web", &["net"]).await;
    story.walk(&mut stack, Action::Delete, &[]).await;
    story.act(&stack, "net", ids[0], Action::Delete).await;
    let seen = frames(&app, "?stack=web&after=action", None, 2).await;
    assert_eq!((seen[0].event.as_str(), seen[0].id), ("TraversalStarted", 7));
    assert_eq!(seen[0].data["body"]["action"], "DELETE");
    let headers = [("x-auth-token", app.token.as_str())];
    let path = format!("/v1/{}/feed?after=action", app.project);
    assert_eq!(app.send("GET", &path, &headers, None).await.status, 400);
    app.stop().await;
}

#[actix::test]
async fn a_feed_of_a_stack_carries_what_is_within_it_if_that_is_asked_for() {
    let app = App::start().await;
    let story = Story::of(app.log.clone(), &app.project, 29);
    let (web, ids) = story.created("web", &["group"]).await;
    let child = StackId(story.fresh_resource().0);
    let within = StackCreated {
        stack_id: child,
        name: "web-group".into(),
        project_id: story.project.clone(),
        owner_user_id: "u1".into(),
        owner_user_name: "alice".into(),
        owner: Some(Owner {
            stack: web.id,
            resource: ids[0],
            name: "group".into(),
            root: web.id,
            depth: 1,
        }),
    };
    story.write(StreamId::stack(child), StackEvent::from(within)).await;
    story.created("other", &["net"]).await;
    let seen = frames(&app, "?stack=web&nested=true", None, 7).await;
    assert_eq!(seen[6].data["stream"], format!("stack-{child}"));
    let seen = frames(&app, "?stack=web&stack=other", None, 12).await;
    assert!(seen.iter().all(|frame| frame.data["stream"] != format!("stack-{child}")));
    app.stop().await;
}

#[actix::test]
async fn an_open_feed_does_not_hold_up_a_stop() {
    let app = App::start().await;
    let url = format!("{}/v1/{}/feed", app.url, app.project);
    let feed = app.client.get(url).header("x-auth-token", &app.token).send().await.unwrap();
    let started = std::time::Instant::now();
    app.stop().await;
    assert!(started.elapsed() < std::time::Duration::from_secs(8));
    drop(feed);
}

async fn opened(app: &App) -> reqwest::Response {
    let url = format!("{}/v1/{}/feed", app.url, app.project);
    let feed = app.client.get(url).header("x-auth-token", &app.token).send().await.unwrap();
    assert_eq!(feed.status(), 200);
    feed
}

/// Waits until the server ends a feed.
async fn ended_after(mut feed: reqwest::Response) -> std::time::Duration {
    let began = std::time::Instant::now();
    while feed.chunk().await.unwrap().is_some() {}
    began.elapsed()
}

#[actix::test]
async fn a_feed_ends_with_its_token_and_so_does_the_token_everywhere_else() {
    let app = App::start().await;
    let feed = opened(&app).await;
    app.revoke(&app.token).await;
    let ended = ended_after(feed).await;
    assert!(ended < std::time::Duration::from_secs(60), "{ended:?}");
    assert_eq!(app.get("/stacks").await.status, 401);
    app.stop().await;
}

#[actix::test]
async fn a_feed_does_not_outlive_its_token() {
    // Keystone is asked of it every five seconds, and so not just when it ends.
    let token_life = std::time::Duration::from_secs(11);
    let log = std::sync::Arc::new(hearth::events::log::MemoryLog::new());
    let app = App::set_up(log, SetUp { token_life, ..SetUp::default() }).await;
    let ended = ended_after(opened(&app).await).await;
    assert!(ended < token_life + std::time::Duration::from_secs(3), "{ended:?}");
    app.stop().await;
}

#[actix::test]
async fn a_token_that_was_taken_back_is_good_for_as_long_as_the_operator_lets_it_be_remembered() {
    for (kept, status) in [(0, 401), (300, 200)] {
        let token_cache_time = std::time::Duration::from_secs(kept);
        let cloud = CloudLimits { token_cache_time, ..CloudLimits::default() };
        let log = std::sync::Arc::new(hearth::events::log::MemoryLog::new());
        let app = App::set_up(log, SetUp { cloud, ..SetUp::default() }).await;
        assert_eq!(app.get("/stacks").await.status, 200);
        app.revoke(&app.token).await;
        assert_eq!(app.get("/stacks").await.status, status);
        app.stop().await;
    }
}
