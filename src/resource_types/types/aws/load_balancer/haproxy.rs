//! What haproxy is told: where requests are taken, and who they are shared out to.

use std::fmt::Write as _;

use serde_json::Value;

use crate::model::JsonMap;
use crate::resource_types::python;

/// What holds for all of it.
const BEGINNING: &str = "\
global
    daemon
    maxconn 4000
defaults
    balance roundrobin
    timeout connect 5s
    timeout client 50s
    timeout server 50s
";

/// What stands for an address that is not known.
const NO_ADDRESS: &str = "0.0.0.0";

/// The ids of the instances.
pub(super) fn instances(properties: &JsonMap) -> impl Iterator<Item = &str> {
    list(properties, "Instances").iter().filter_map(Value::as_str)
}

fn list<'a>(properties: &'a JsonMap, name: &str) -> &'a [Value] {
    properties.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The file; `addresses` are those of the instances by their ids.
pub(super) fn config(properties: &JsonMap, addresses: &Value) -> String {
    let mut config = BEGINNING.to_owned();
    let check = properties.get("HealthCheck").filter(|check| check.is_object());
    let looks = check.map(Looks::of).unwrap_or_default();
    for (number, listener) in list(properties, "Listeners").iter().enumerate() {
        let text = |name: &str| python::text(&listener[name]);
        let mode = text("Protocol").to_lowercase();
        let takes = text("LoadBalancerPort");
        let _ = write!(
            config,
            "frontend taken{number}\n    mode {mode}\n    bind *:{takes}\n    \
             default_backend shared{number}\nbackend shared{number}\n    mode {mode}\n"
        );
        if mode == "http" {
            config.push_str("    option forwardfor\n");
        }
        config.push_str(&looks.options);
        for (index, instance) in instances(properties).enumerate() {
            let address = addresses[instance].as_str().unwrap_or(NO_ADDRESS);
            let port = text("InstancePort");
            let each = &looks.each;
            let _ = writeln!(config, "    server server{} {address}:{port}{each}", index + 1);
        }
    }
    config
}

/// How instances are looked at.
#[derive(Default)]
struct Looks {
    /// Lines of a backend.
    options: String,
    /// What stands behind each of its servers.
    each: String,
}

impl Looks {
    fn of(check: &Value) -> Self {
        let text = |name: &str| python::text(&check[name]);
        let mut options = format!("    timeout check {}s\n", text("Timeout"));
        let mut each = format!(
            " check inter {}s fall {} rise {}",
            text("Interval"),
            text("UnhealthyThreshold"),
            text("HealthyThreshold"),
        );
        // `HTTP:80/path` or `TCP:80`.
        let target = check["Target"].as_str().unwrap_or_default();
        let (protocol, place) = target.split_once(':').unwrap_or((target, ""));
        let end = place.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(place.len());
        let (port, path) = place.split_at(end);
        if !port.is_empty() {
            let _ = write!(each, " port {port}");
        }
        if protocol.eq_ignore_ascii_case("HTTP") {
            let path = path.split_whitespace().next().unwrap_or("/");
            let _ = writeln!(options, "    option httpchk GET {path}");
        }
        Self { options, each }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn made(properties: Value) -> String {
        let addresses = json!({ "a": "10.0.0.4" });
        config(properties.as_object().unwrap(), &addresses)
    }

    #[test]
    fn requests_are_shared_out_to_all_instances_and_those_are_looked_at() {
        let config = made(json!({
            "Listeners": [{ "LoadBalancerPort": 80, "InstancePort": 8080, "Protocol": "HTTP" }],
            "Instances": ["a", "b"],
            "HealthCheck": { "Target": "HTTP:8081/alive now", "Interval": 30, "Timeout": 5,
                             "HealthyThreshold": 3, "UnhealthyThreshold": 2 },
        }));
        let expected = "\
frontend taken0
    mode http
    bind *:80
    default_backend shared0
backend shared0
    mode http
    option forwardfor
    timeout check 5s
    option httpchk GET /alive
    server server1 10.0.0.4:8080 check inter 30s fall 2 rise 3 port 8081
    server server2 0.0.0.0:8080 check inter 30s fall 2 rise 3 port 8081
";
        assert_eq!(config.strip_prefix(BEGINNING), Some(expected));
    }

    #[test]
    fn each_listener_has_servers_of_its_own() {
        let listener = |port: u16| json!({ "LoadBalancerPort": port, "InstancePort": port, "Protocol": "TCP" });
        let config =
            made(json!({ "Listeners": [listener(25), listener(143)], "Instances": ["a"] }));
        for line in
            ["bind *:25\n", "bind *:143\n", "server1 10.0.0.4:25\n", "server1 10.0.0.4:143\n"]
        {
            assert!(config.contains(line), "{config}");
        }
        assert!(!config.contains("check") && !config.contains("forwardfor"), "{config}");
    }
}
