//! What Prometheus reads of a server at work, what the page on operating says of it, and the board
//! that shows it.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;

use super::process::Served;

const TEMPLATE: &str = "\
heat_template_version: 2021-04-16
resources:
  net: { type: OS::Neutron::Net, properties: { name: a-name-of-the-tenants } }
";

/// A page as Prometheus reads it: families with their kind, and samples with their labels.
#[derive(Default)]
struct Scraped {
    kinds: BTreeMap<String, String>,
    samples: Vec<(String, BTreeMap<String, String>, f64)>,
}

impl Scraped {
    /// Reads each line; whatever Prometheus would not take is a panic.
    fn read(page: &str) -> Self {
        assert!(page.ends_with('\n'));
        let mut scraped = Self::default();
        let mut family = String::new();
        let mut explained = String::new();
        for line in page.lines() {
            if let Some(help) = line.strip_prefix("# HELP ") {
                explained = help.split_once(' ').unwrap().0.to_owned();
            } else if let Some(kind) = line.strip_prefix("# TYPE ") {
                let (name, kind) = kind.split_once(' ').unwrap();
                assert!(["counter", "gauge", "histogram"].contains(&kind), "{line}");
                assert!(is_name(name) && name == explained, "{line}");
                assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
                let twice = scraped.kinds.insert(name.to_owned(), kind.to_owned());
                assert!(twice.is_none(), "twice: {line}");
                name.clone_into(&mut family);
            } else {
                let (name, labels, value) = sample(line);
                let suffixes: &[&str] = match scraped.kinds[&family].as_str() {
                    "histogram" => &["_bucket", "_sum", "_count"],
                    _ => &[""],
                };
                let is_own = suffixes.iter().any(|suffix| name == format!("{family}{suffix}"));
                assert!(is_own, "{line} is not of {family}");
                let is_new = !scraped.samples.iter().any(|it| (&it.0, &it.1) == (&name, &labels));
                assert!(is_new, "twice: {line}");
                scraped.samples.push((name, labels, value));
            }
        }
        scraped
    }

    /// The sum of all samples of a name that have these labels.
    fn sum(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        let has = |all: &BTreeMap<String, String>| {
            labels.iter().all(|(label, value)| all.get(*label).is_some_and(|it| it == value))
        };
        let fitting = self.samples.iter().filter(|sample| sample.0 == name && has(&sample.1));
        fitting.map(|sample| sample.2).sum()
    }

    fn names(&self) -> BTreeSet<&str> {
        self.samples.iter().map(|sample| sample.0.as_str()).collect()
    }
}

fn is_name(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    text.starts_with(|c: char| c.is_ascii_lowercase()) && text.chars().all(plain)
}

/// `name{label="value",…} number`
fn sample(line: &str) -> (String, BTreeMap<String, String>, f64) {
    let (name, value) = line.rsplit_once(' ').unwrap();
    let value: f64 = value.parse().unwrap_or_else(|_| panic!("no number: {line}"));
    let Some((name, rest)) = name.split_once('{') else {
        assert!(is_name(name), "{line}");
        return (name.to_owned(), BTreeMap::new(), value);
    };
    let mut rest = rest.strip_suffix('}').unwrap();
    let mut labels = BTreeMap::new();
    while !rest.is_empty() {
        let (label, after) = rest.split_once("=\"").unwrap();
        assert!(is_name(label) && is_name(name), "{line}");
        // No value of a label of ours has a quotation mark.
        let (text, after) = after.split_once('"').unwrap();
        assert!(labels.insert(label.to_owned(), text.to_owned()).is_none(), "{line}");
        rest = after.strip_prefix(',').unwrap_or(after);
    }
    (name.to_owned(), labels, value)
}

async fn get(url: &str) -> (u16, String) {
    let answer = reqwest::get(url).await.unwrap();
    (answer.status().as_u16(), answer.text().await.unwrap())
}

/// A server that has made a stack, and what it shows then.
async fn scrape() -> (Scraped, String) {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data");
    let served = Served::start(&data, &[], &[("HEARTH_METRICS_LISTEN", "127.0.0.1:0")]);
    let template = home.path().join("web.yaml");
    std::fs::write(&template, TEMPLATE).unwrap();
    let mut up = Command::new(env!("CARGO_BIN_EXE_hearth"));
    up.arg("up").arg(&template).arg("--data").arg(&data);
    for name in ["OS_CLOUD", "OS_AUTH_URL", "OS_CLIENT_CONFIG_FILE"] {
        up.env_remove(name);
    }
    let up = up.output().unwrap();
    assert!(up.status.success(), "{up:?}");

    // A tenant, who reaches the APIs, sees nothing of all this. His connections stay.
    let tenant = reqwest::Client::new();
    for api in ["orchestration API", "cloudformation API"] {
        let root = served.told(api).trim_end_matches("/v1");
        let answer = tenant.get(format!("{root}/metrics")).send().await.unwrap();
        assert_eq!(answer.status(), 404, "{api}");
        answer.bytes().await.unwrap();
    }
    let url = served.told("metrics").to_owned();
    let answer = reqwest::get(&url).await.unwrap();
    assert_eq!(answer.headers()["content-type"], "text/plain; version=0.0.4; charset=utf-8");
    let page = answer.text().await.unwrap();
    let own = url.trim_end_matches("/metrics");
    assert_eq!(get(&format!("{own}/healthcheck/ready")).await, (200, String::new()));
    assert_eq!(get(&format!("{own}/v1/p/stacks")).await.0, 404, "no API is served there");
    drop(tenant);
    served.stop();
    (Scraped::read(&page), page)
}

#[actix::test]
async fn every_line_of_a_scrape_is_read_and_nobody_is_named_in_it() {
    let (scraped, page) = scrape().await;
    let stacks = "/v1/{project}/stacks";
    let created = [("api", "orchestration"), ("method", "POST"), ("route", stacks)];
    let made = scraped.sum("hearth_api_request_duration_seconds_count", &created);
    assert!((made - 1.0).abs() < f64::EPSILON, "{page}");
    for (name, labels) in [
        ("hearth_api_connections", &[][..]),
        ("hearth_engine_actors", &[("kind", "project")]),
        ("hearth_engine_commands_total", &[("kind", "stack"), ("outcome", "accepted")]),
        ("hearth_engine_commands_total", &[("kind", "resource"), ("outcome", "accepted")]),
        ("hearth_log_position", &[]),
        ("hearth_log_writable", &[]),
        ("hearth_log_size_bytes", &[]),
        ("hearth_log_append_duration_seconds_count", &[]),
        ("hearth_views_position", &[]),
        ("hearth_views_following", &[]),
        (
            "hearth_cloud_call_duration_seconds_count",
            &[("service", "network"), ("outcome", "answered")],
        ),
        ("hearth_sandbox_requests_total", &[("service", "network"), ("status", "201")]),
        ("process_resident_memory_bytes", &[]),
        ("process_open_fds", &[]),
    ] {
        assert!(scraped.sum(name, labels) > 0.0, "{name} {labels:?}: {page}");
    }
    let position = scraped.sum("hearth_log_position", &[]);
    let views = scraped.sum("hearth_views_position", &[]);
    let lag = scraped.sum("hearth_views_lag_events", &[]);
    assert!((views + lag - position).abs() < f64::EPSILON, "{page}");
    assert!(!page.contains("a-name-of-the-tenants") && !page.contains("\"web\""), "{page}");
    for (name, labels, _) in &scraped.samples {
        let has_id = |value: &String| uuid::Uuid::try_parse(value).is_ok();
        assert!(!labels.values().any(has_id), "{name} {labels:?}");
    }
}

#[actix::test]
async fn the_page_on_operating_has_every_metric_and_the_board_shows_them_all() {
    let (scraped, _) = scrape().await;
    let page = include_str!("../../../docs/operating.md");
    let table = page.split("| Metric | Kind | Meaning |").nth(1).unwrap();
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let told: BTreeMap<String, String> = rows
        .map(|row| {
            let cells: Vec<&str> =
                row.split('|').map(|cell| cell.trim().trim_matches('`')).collect();
            (cells[1].split('{').next().unwrap().to_owned(), cells[2].to_owned())
        })
        .collect();
    let written: BTreeSet<&str> = told.keys().map(String::as_str).collect();
    let source = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut measured = BTreeSet::new();
    measures(&source, &mut measured);
    assert_eq!(written, measured.iter().map(String::as_str).collect::<BTreeSet<_>>());
    let here = told.iter().filter(|(name, _)| !ELSEWHERE.contains(&name.as_str()));
    let here: BTreeMap<_, _> = here.map(|(name, kind)| (name.clone(), kind.clone())).collect();
    assert_eq!(here, scraped.kinds);

    let board: Value =
        serde_json::from_str(include_str!("../../../examples/grafana.json")).unwrap();
    let mut asked = BTreeSet::new();
    expressions(&board, &mut asked);
    assert!(asked.len() >= 15, "{asked:?}");
    let names = scraped.names();
    let mut shown = BTreeSet::new();
    for expression in &asked {
        let words = expression.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let metrics: Vec<&str> = words
            .filter(|word| word.starts_with("hearth_") || word.starts_with("process_"))
            .collect();
        assert!(!metrics.is_empty(), "{expression}");
        for metric in metrics {
            let is_there = names.contains(metric) || ELSEWHERE.contains(&metric);
            assert!(is_there, "{metric} of {expression} is not in a scrape");
            let of_histogram = ["_bucket", "_sum", "_count"]
                .iter()
                .find_map(|suffix| metric.strip_suffix(suffix))
                .filter(|family| written.contains(family));
            shown.insert(of_histogram.unwrap_or(metric).to_owned());
        }
    }
    assert_eq!(shown, measured);
}

/// What is measured of another log than a file alone.
const ELSEWHERE: [&str; 1] = ["hearth_log_reachable"];

/// The names of what the source puts on a page.
fn measures(place: &std::path::Path, found: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(place).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            measures(&path, found);
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        for kind in ["gauge", "counter", "metric", "family", "info"] {
            let call = format!("page.{kind}(\"");
            let calls = text.split(&call).skip(1);
            let names = calls.filter_map(|rest| rest.split('"').next());
            let own = |name: &&str| name.starts_with("hearth_") || name.starts_with("process_");
            found.extend(names.filter(own).map(str::to_owned));
        }
    }
}

/// Every `expr` of a board.
fn expressions(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            found.extend(map.get("expr").and_then(Value::as_str).map(str::to_owned));
            map.values().for_each(|inner| expressions(inner, found));
        }
        Value::Array(list) => list.iter().for_each(|inner| expressions(inner, found)),
        _ => {}
    }
}
