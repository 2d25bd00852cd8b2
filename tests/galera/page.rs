//! What `docs/operating.md` has an operator do with a log in a database, as it stands there.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::bench::Bench;
use super::database::{Database, PASSWORD};
use super::shown::shown;

const PAGE: &str = include_str!("../../docs/operating.md");
const URL: &str = "mysql://hearth@db1:3306,db2:3306/hearth?password_file=/etc/hearth/password";
const TEMPLATE: &str =
    "heat_template_version: 2021-04-16\nresources:\n  net: { type: OS::Neutron::Net }\n";

#[test]
fn a_log_is_moved_backed_up_and_brought_back_as_the_page_on_operating_says() {
    let database = Database::documented();
    let name = database.name();
    let mut bench = Bench::with(&[("net.yaml", TEMPLATE)]);
    let password = bench.of_machine("/etc/hearth/password");
    fs::create_dir_all(password.parent().unwrap()).unwrap();
    fs::write(&password, PASSWORD).unwrap();
    fs::set_permissions(&password, fs::Permissions::from_mode(0o600)).unwrap();
    let url = database.url_of(name).replace(&format!(":{PASSWORD}@"), "@");
    let url = format!("{url}?password_file={}", password.display());
    // The tools of the database are an administrator's, at its first server.
    bench.write_home(".my.cnf", &database.client_settings());
    bench.places = vec![
        (URL.to_owned(), url.clone()),
        (" hearth >".to_owned(), format!(" {name} >")),
        ("mariadb hearth ".to_owned(), format!("mariadb {name} ")),
    ];
    bench.said("hearth up net.yaml --data /var/lib/hearth");

    let mut ran = 0;
    for section in ["### Moving a log", "### Backups of a database"] {
        for shown in shown(PAGE).iter().filter(|shown| shown.section == section) {
            bench.run(&shown.line, 0, &shown.output);
            ran += 1;
        }
    }
    assert_eq!(ran, 5);
    let dumped = fs::read(bench.path().join("hearth.sql")).unwrap();
    assert!(String::from_utf8_lossy(&dumped).contains("INSERT INTO `events`"));
    for key in ["master.key", "signing.key"] {
        bench.said(&format!("cp /var/lib/hearth/{key} /backups/{key}"));
    }
    bench.said("hearth verify --data /backups");
    // What was brought back is served.
    bench.said("rm /var/lib/hearth/log.db");
    bench.variables.insert("HEARTH_LOG".to_owned(), url);
    bench.said("hearth verify --data /var/lib/hearth");
    bench.run("hearth serve --data /var/lib/hearth", 0, "");
    let listed = bench.said("hearth list --data /var/lib/hearth");
    assert!(listed.contains("CREATE_COMPLETE"), "{listed}");
    bench.stop();
}
