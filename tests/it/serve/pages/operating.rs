//! `docs/operating.md`: what an operator does, beside a server that runs and where the page says so.

use std::fs;

use super::Page;
use super::bench::Bench;
use crate::support::eventstore::StandIn;

const TEMPLATE: &str =
    "heat_template_version: 2021-04-16\nresources:\n  net: { type: OS::Neutron::Net }\n";

/// What a heat.conf has that is there before Hearth is.
const HEAT_CONF: &str = "\
[DEFAULT]
num_engine_workers = 4
[keystone_authtoken]
auth_url = KEYSTONE
username = hearth
password = secret
project_name = service
user_domain_name = Default
project_domain_name = Default
";

const OF_PACKAGES: &str =
    "`.ci/run package` does it in a Debian of its own: it wants root, and minutes";
const OF_MARIADB: &str = "tests/galera/page.rs does it: it wants MariaDB";
const OF_A_CLOUD: &str = "tests/live/federated.rs does it: the sandbox has no identity providers";

const TO_DATABASE: &str = "hearth log copy sqlite:/var/lib/hearth/log.db mysql://hearth@db1:3306,db2:3306/hearth?password_file=/etc/hearth/password";
const FROM_DATABASE: &str = "hearth log copy mysql://hearth@db1:3306,db2:3306/hearth?password_file=/etc/hearth/password sqlite:/backups/log.db";
const BACK_TO_DATABASE: &str = "hearth log copy sqlite:/backups/log.db mysql://hearth@db1:3306,db2:3306/hearth?password_file=/etc/hearth/password";

const PAGE: Page<'static> = Page {
    path: "docs/operating.md",
    without_server: &[],
    codes: &[],
    left_out: &[
        ("cargo build --release && packaging/deb/build target/release/hearth .", OF_PACKAGES),
        ("apt install ./hearth_0.1.0_amd64.deb", OF_PACKAGES),
        (TO_DATABASE, OF_MARIADB),
        (FROM_DATABASE, OF_MARIADB),
        (BACK_TO_DATABASE, OF_MARIADB),
        ("mariadb-dump --single-transaction hearth > hearth.sql", OF_MARIADB),
        ("mariadb hearth < hearth.sql", OF_MARIADB),
        ("openstack identity provider set --authorization-ttl 10080 acme", OF_A_CLOUD),
    ],
};

#[test]
fn every_command_of_the_page_on_operating_works() {
    let mut cloud = Bench::with(&[]);
    cloud.move_to_fresh();
    cloud.run("hearth sandbox --listen 127.0.0.1:5000 --data sandbox-data", 0, "");
    let keystone = format!("http://{}/v3", cloud.address("5000"));

    let mut bench = Bench::with(&[("net.yaml", TEMPLATE)]);
    let write = |path: &str, text: &str| {
        let path = bench.of_machine(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("/etc/heat/heat.conf", &HEAT_CONF.replace("KEYSTONE", &keystone));
    let data = bench.path().join("hearth-data");
    let reader = format!(
        "[hearth]\ndata = {}\nlog = sqlite:{}\nmaster_key_file = {}\nsandbox = {keystone}\n",
        bench.of_machine("/var/lib/reader").display(),
        data.join("log.db").display(),
        data.join("master.key").display(),
    );
    write("/etc/hearth/reader.conf", &reader);
    fs::create_dir_all(bench.of_machine("/etc/bash_completion.d")).unwrap();
    bench.move_home(true);
    bench.said("hearth up net.yaml");
    let stack = bench.json("hearth replay net --json");
    let id = stack["stack"]["id"].as_str().unwrap().to_owned();
    bench.places = vec![
        ("8c7fa7a5-1f2b-4b43-9c0c-8a8d1a4bd0a5".to_owned(), id.clone()),
        ("PASSWORD=…".to_owned(), "PASSWORD=secret".to_owned()),
    ];
    PAGE.play(&mut bench, |bench, line| {
        if line.starts_with("curl -H") {
            bench.sign_in(&id);
        }
        if line.ends_with("--os-cloud admin") {
            // An administrator's credentials lie where the client looks for them.
            let clouds = fs::read_to_string(data.join("clouds.yaml")).unwrap();
            let clouds = clouds.replace("hearth-admin:", "admin:");
            fs::write(bench.path().join("clouds.yaml"), clouds).unwrap();
        }
    });

    // A server goes on with what came back, on the cloud that there was.
    bench.move_home(false);
    bench.said("cp -r hearth-data/sandbox hearth-data-restored/sandbox");
    bench.run("hearth serve --data hearth-data-restored", 0, "");
    let restored = bench.said("hearth list --data hearth-data-restored");
    assert!(restored.contains("CREATE_COMPLETE"), "{restored}");
    bench.stop();
}

/// What the page has an operator do to move a log and to bring it back, with a server of events in the
/// place of the database.
#[test]
fn a_log_that_is_moved_as_the_page_says_is_served_there_and_comes_back() {
    let there = StandIn::start(1);
    let mut bench = Bench::with(&[("net.yaml", TEMPLATE)]);
    let url = "mysql://hearth@db1:3306,db2:3306/hearth?password_file=/etc/hearth/password";
    bench.places = vec![
        (url.to_owned(), format!("'{}'", there.url())),
        ("/var/lib/hearth/".to_owned(), format!("{}/hearth-data/", bench.path().display())),
    ];
    bench.move_home(true);
    bench.said("hearth up net.yaml");
    // While the server runs, and once more when it does not.
    bench.said(TO_DATABASE);
    bench.said("hearth up net.yaml --name later");
    bench.stop();
    bench.said(TO_DATABASE);
    bench.variables.insert("HEARTH_LOG".to_owned(), there.url());
    bench.run("hearth serve", 0, "");
    let listed = bench.said("hearth list");
    assert!(listed.contains("later") && listed.contains("net"), "{listed}");
    bench.said("hearth down later --yes");
    // A backup of it, also while it runs, is a file that a server goes on with.
    bench.said(FROM_DATABASE);
    bench.stop();
    bench.variables.clear();
    assert!(bench.said("hearth verify --data /backups").contains("not signed: "));
    for kept in ["master.key", "signing.key", "sandbox"] {
        bench.said(&format!("cp -r hearth-data/{kept} /backups/{kept}"));
    }
    bench.run("hearth serve --data /backups", 0, "");
    let listed = bench.said("hearth list --data /backups");
    assert!(listed.contains("net") && !listed.contains("later"), "{listed}");
    bench.stop();
    // By then it is.
    let proved = bench.said("hearth verify --data /backups");
    assert!(!proved.contains("not signed"), "{proved}");
}

/// What the page has an administrator of EventStoreDB set.
#[test]
fn the_access_lists_of_the_page_are_ones_and_let_the_user_of_hearth_in() {
    let page = include_str!("../../../../docs/operating.md");
    let mut lists = 0;
    for block in page.split("```json\n").skip(1) {
        let list: serde_json::Value =
            serde_json::from_str(block.split("```").next().unwrap()).unwrap();
        let rights = match list.get("$userStreamAcl") {
            Some(rights) => rights,
            None => &list["$acl"],
        };
        for (right, who) in rights.as_object().unwrap() {
            assert_eq!(*who, serde_json::json!(["$admins", "hearth"]), "{right}");
        }
        lists += 1;
    }
    assert_eq!(lists, 2);
}
