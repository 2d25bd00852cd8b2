//! The template language: reading and resolving a template as large as one may be, many ordinary
//! ones, and one by a process of its own.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

use super::figure::{Figure, shortest};
use super::{BenchError, Scale};
use crate::resource_types::Registry;
use crate::template::{
    PseudoParameters, RESOURCES_MAX, StackDefinition, StackSource, TEMPLATE_SIZE_MAX_BYTES,
};

const LARGE_MS: f64 = 30.0;
const ORDINARY_PER_SEC: f64 = 2_000.0;
const PROCESS_MS: f64 = 50.0;

/// What a small project has: a server on a network, with volume, address and a few choices.
const ORDINARY: &str = r#"heat_template_version: 2018-08-31
description: A server on a network of its own
parameters:
  name: { type: string, default: web, constraints: [{ length: { min: 1, max: 20 } }] }
  flavor: { type: string, default: m1.small, description: The size of the server }
  image: { type: string, default: debian }
  cidr: { type: string, default: 10.0.0.0/24, constraints: [{ custom_constraint: net_cidr }] }
  volume_size: { type: number, default: 10, constraints: [{ range: { min: 1, max: 1024 } }] }
  names: { type: comma_delimited_list, default: "one,two,three" }
  public: { type: boolean, default: true }
conditions:
  reachable: { equals: [{ get_param: public }, true] }
resources:
  network:
    type: OS::Neutron::Net
    properties: { name: { list_join: ["-", [{ get_param: name }, net]] } }
  subnet:
    type: OS::Neutron::Subnet
    properties:
      network: { get_resource: network }
      cidr: { get_param: cidr }
      dns_nameservers: [192.0.2.1, 192.0.2.2]
  group:
    type: OS::Neutron::SecurityGroup
    properties:
      rules:
        repeat:
          for_each: { "%port%": ["22", "80", "443"] }
          template: { protocol: tcp, port_range_min: "%port%", port_range_max: "%port%" }
  port:
    type: OS::Neutron::Port
    properties:
      network: { get_resource: network }
      fixed_ips: [{ subnet: { get_resource: subnet } }]
      security_groups: [{ get_resource: group }]
  server:
    type: OS::Nova::Server
    depends_on: subnet
    properties:
      name: { get_param: name }
      image: { get_param: image }
      flavor: { get_param: flavor }
      networks: [{ port: { get_resource: port } }]
      metadata: { names: { list_join: [",", { get_param: names }] } }
      user_data:
        str_replace:
          params: { $name: { get_param: name }, $first: { get_param: [names, 0] } }
          template: |
            #!/bin/sh
            echo $name > /etc/hostname
            echo "$first" >> /etc/motd
  volume:
    type: OS::Cinder::Volume
    properties: { size: { get_param: volume_size } }
  attachment:
    type: OS::Cinder::VolumeAttachment
    properties:
      instance_uuid: { get_resource: server }
      volume_id: { get_resource: volume }
  address:
    type: OS::Neutron::FloatingIP
    condition: reachable
    properties: { floating_network: public, port_id: { get_resource: port } }
outputs:
  address:
    description: Where the server is reached
    value: { if: [reachable, { get_attr: [address, floating_ip_address] }, none] }
  addresses: { value: { get_attr: [server, networks, private, 0] } }
"#;

/// Measures; the directory is for what the processes read.
pub(super) fn run(scale: Scale, dir: &Path) -> Result<Vec<Figure>, BenchError> {
    let (repeats, count) = if scale == Scale::Quick { (1, 50) } else { (9, 10_000) };
    let large = large()?;
    let size = large.len() / 1024;
    Ok(vec![
        Figure::millis(
            format!("read and resolve {RESOURCES_MAX} resources, {size} KiB"),
            shortest(&times(repeats, || resolve(&large))?),
            LARGE_MS,
        ),
        Figure::rate(
            format!("resolve a batch of {count}"),
            count as f64 / batch(count)?.as_secs_f64(),
            "templates/s",
            ORDINARY_PER_SEC,
        ),
        Figure::millis(
            "validate in a process of its own",
            shortest(&times(repeats, || validate(dir))?),
            PROCESS_MS,
        ),
    ])
}

fn times(
    repeats: usize,
    mut once: impl FnMut() -> Result<Duration, BenchError>,
) -> Result<Vec<Duration>, BenchError> {
    (0..repeats).map(|_| once()).collect()
}

/// A template of as many resources as may be, and nearly as large as may be.
fn large() -> Result<String, BenchError> {
    let mut text = "heat_template_version: 2018-08-31\nparameters:\n  p: { type: string, default: \
                    v }\nresources:\n"
        .to_owned();
    let padding = "x".repeat(TEMPLATE_SIZE_MAX_BYTES / RESOURCES_MAX - 390);
    for number in 0..RESOURCES_MAX {
        let before = number.saturating_sub(1);
        let value = match number {
            0 => "{ get_param: p }".to_owned(),
            _ => format!("{{ get_attr: [r{before}, output] }}"),
        };
        write!(
            text,
            "  r{number}:\n    type: OS::Heat::TestResource\n    properties:\n      value: {value}\n      \
             wait_secs: 0\n      fail: false\n    metadata:\n      names: [one, two, 3, 4.5, true]\n      \
             text:\n        str_replace:\n          template: a $b of %c%\n          params: {{ $b: \
             {{ get_param: p }}, \"%c%\": {number} }}\n      joined: {{ list_join: [\"-\", [a, b, \
             {{ get_param: p }}]] }}\n      padding: {padding}\n"
        )
        .map_err(|error| BenchError::Unexpected(error.to_string()))?;
    }
    Ok(text)
}

/// Reads, checks and lays open a template.
fn resolve(text: &str) -> Result<Duration, BenchError> {
    let unexpected = |what: String| BenchError::Unexpected(what);
    let registry = Registry::built_in().map_err(|error| unexpected(error.to_string()))?;
    let source = StackSource { template: text.into(), ..StackSource::default() };
    let began = Instant::now();
    let definition = StackDefinition::load(&source, &PseudoParameters::default(), &registry)
        .and_then(|definition| registry.validate(&definition).map(|()| definition))
        .map_err(|refusal| unexpected(refusal.message))?;
    let described = definition.describe();
    let took = began.elapsed();
    if described.len() < text.len() / 2 {
        return Err(unexpected(format!("{} bytes came of {}", described.len(), text.len())));
    }
    Ok(took)
}

/// How long `hearth resolve --batch` takes, its start included.
fn batch(count: usize) -> Result<Duration, BenchError> {
    let line = json!({ "id": 0, "template": ORDINARY }).to_string() + "\n";
    let began = Instant::now();
    let mut child = Command::new(std::env::current_exe()?)
        .args(["resolve", "--batch"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut input = child.stdin.take();
    let writer = std::thread::spawn(move || {
        (0..count)
            .try_for_each(|_| input.iter_mut().try_for_each(|it| it.write_all(line.as_bytes())))
    });
    let output = child.stdout.take().map(BufReader::new);
    let mut resolved = 0;
    for answer in output.into_iter().flat_map(BufRead::lines) {
        resolved += usize::from(answer?.contains("\"ok\": true"));
    }
    let took = began.elapsed();
    let _ = writer.join();
    child.wait()?;
    if resolved != count {
        return Err(BenchError::Unexpected(format!("{resolved} of {count} were resolved")));
    }
    Ok(took)
}

/// How long `hearth validate` takes from its start to its end.
fn validate(dir: &Path) -> Result<Duration, BenchError> {
    std::fs::create_dir_all(dir)?;
    let path = dir.join("ordinary.yaml");
    std::fs::write(&path, ORDINARY)?;
    let began = Instant::now();
    let output = Command::new(std::env::current_exe()?).arg("validate").arg(&path).output()?;
    let took = began.elapsed();
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        return Err(BenchError::Unexpected(said));
    }
    Ok(took)
}
