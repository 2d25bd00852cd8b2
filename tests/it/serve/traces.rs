//! What a collector of OpenTelemetry's gets of a server at work.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::process::Command;
use std::sync::{Arc, Mutex};

use serde_json::Value;

use super::process::Served;

const TEMPLATE: &str = "\
heat_template_version: 2021-04-16
resources:
  secretive: { type: OS::Neutron::Net, properties: { name: a-name-of-the-tenants } }
";

/// Takes every message; ends with the test's process.
fn collector() -> (String, Arc<Mutex<Vec<Value>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let spans: Arc<Mutex<Vec<Value>>> = Arc::default();
    let taken = Arc::clone(&spans);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = BufReader::new(stream.unwrap());
            let mut head = String::new();
            while stream.read_line(&mut head).unwrap() > 2 {}
            if head.is_empty() {
                continue; // It was opened for nothing.
            }
            assert!(head.starts_with("POST /v1/traces HTTP/1.1\r\n"), "{head}");
            let head = head.to_lowercase();
            assert!(head.contains("content-type: application/json"), "{head}");
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            let mut body = vec![0; length.unwrap().parse().unwrap()];
            stream.read_exact(&mut body).unwrap();
            let message: Value = serde_json::from_slice(&body).unwrap();
            let scopes = &message["resourceSpans"][0]["scopeSpans"];
            taken.lock().unwrap().extend(scopes[0]["spans"].as_array().unwrap().clone());
            let answer = b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{}";
            stream.get_mut().write_all(answer).unwrap();
        }
    });
    (url, spans)
}

fn up(home: &std::path::Path, data: &std::path::Path) {
    let template = home.join("web.yaml");
    std::fs::write(&template, TEMPLATE).unwrap();
    let mut up = Command::new(env!("CARGO_BIN_EXE_hearth"));
    up.arg("up").arg(&template).arg("--data").arg(data);
    for name in ["OS_CLOUD", "OS_AUTH_URL", "OS_CLIENT_CONFIG_FILE"] {
        up.env_remove(name);
    }
    let up = up.output().unwrap();
    assert!(up.status.success(), "{up:?}");
}

#[test]
fn one_trace_leads_from_a_request_to_the_calls_it_led_to() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data");
    let (url, spans) = collector();
    let served = Served::start(&data, &[], &[("HEARTH_OTLP_ENDPOINT", &url)]);
    up(home.path(), &data);
    served.stop();

    let spans = spans.lock().unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let request = spans.iter().find(|span| span["name"] == "POST /v1/{project}/stacks").unwrap();
    let trace: Vec<&Value> =
        spans.iter().filter(|span| span["traceId"] == request["traceId"]).collect();
    let by_id: BTreeMap<String, &Value> =
        trace.iter().map(|span| (text(&span["spanId"]), *span)).collect();
    assert_eq!(by_id.len(), trace.len(), "each has an id of its own: {trace:?}");
    let made = trace.iter().find(|span| {
        let parent = span["parentSpanId"].as_str().and_then(|id| by_id.get(id));
        span["name"] == "POST network"
            && parent.is_some_and(|parent| parent["name"] == "CREATE OS::Neutron::Net")
    });
    let mut way = Vec::new();
    let mut at = Some(*made.unwrap_or_else(|| panic!("no call of the resource's: {trace:?}")));
    while let Some(span) = at {
        way.push((text(&span["name"]), span["kind"].as_u64().unwrap()));
        at = span["parentSpanId"].as_str().map(|id| by_id[id]);
    }
    let expected = [
        ("POST network", 3),
        ("CREATE OS::Neutron::Net", 1),
        ("CREATE stack", 1),
        ("POST /v1/{project}/stacks", 2),
    ];
    assert_eq!(way, expected.map(|(name, kind)| (name.to_owned(), kind)));
    // Keystone's calls are part of what needs them: whoever asks is looked up, and gives a trust; the
    // resource's work takes a token by it.
    for (parent, call) in [
        ("POST /v1/{project}/stacks", "GET identity"),
        ("POST /v1/{project}/stacks", "POST identity"),
        ("CREATE OS::Neutron::Net", "POST identity"),
    ] {
        let is_within = |span: &&&Value| {
            span["parentSpanId"].as_str().is_some_and(|id| by_id[id]["name"] == parent)
        };
        let within: Vec<_> = trace.iter().filter(is_within).map(|span| &span["name"]).collect();
        assert!(within.iter().any(|name| **name == call), "{parent}: {within:?}");
    }
    let all = serde_json::to_string(&*spans).unwrap();
    for theirs in ["a-name-of-the-tenants", "secretive", "web"] {
        assert!(!all.contains(theirs), "{theirs}");
    }
}

#[test]
fn a_collector_that_is_gone_holds_nothing_up() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data");
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let url = format!("http://{gone}");
    let served = Served::start(&data, &[], &[("HEARTH_OTLP_ENDPOINT", &url)]);
    up(home.path(), &data);
    let log = served.stop();
    assert!(!log.contains("panicked"), "{log}");
}
