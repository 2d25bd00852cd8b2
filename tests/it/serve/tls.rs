//! TLS of the API's own: there from the start, and renewed while it serves.

use std::fs;
use std::path::Path;

use reqwest::Certificate;

use super::process::{Served, refused};

const FIRST: [&str; 3] = ["server.pem", "server.key", "authority.pem"];
const NEXT: [&str; 3] = ["next.pem", "next.key", "next_authority.pem"];

fn pem(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/tls").join(name);
    fs::read_to_string(path).unwrap()
}

/// Puts a certificate and a key where the server looks for them.
fn install(home: &Path, certificate: &str, key: &str) {
    fs::write(home.join("cert.pem"), pem(certificate)).unwrap();
    fs::write(home.join("key.pem"), pem(key)).unwrap();
}

fn configure(home: &Path, more: &str) -> String {
    let file = home.join("heat.conf");
    let (cert, key) = (home.join("cert.pem"), home.join("key.pem"));
    let text =
        format!("[ssl]\ncert_file = {}\nkey_file = {}\n{more}", cert.display(), key.display());
    fs::write(&file, text).unwrap();
    file.to_str().unwrap().to_owned()
}

/// A client that believes one authority and no other.
fn believing(authority: &str) -> reqwest::Client {
    let authority = Certificate::from_pem(pem(authority).as_bytes()).unwrap();
    reqwest::Client::builder().tls_certs_only([authority]).build().unwrap()
}

async fn works(client: &reqwest::Client, root: &str) -> bool {
    client.get(format!("{root}/healthcheck")).send().await.is_ok_and(|it| it.status() == 200)
}

#[actix::test]
async fn a_certificate_is_renewed_under_a_client_that_stays_and_a_broken_one_is_not_taken() {
    let home = tempfile::tempdir().unwrap();
    install(home.path(), FIRST[0], FIRST[1]);
    let config = configure(home.path(), "");
    let mut served = Served::start(&home.path().join("data"), &["--config-file", &config], &[]);
    let root = served.told("orchestration API").trim_end_matches("/v1").to_owned();
    assert!(root.starts_with("https://"), "{root}");
    let stays = believing(FIRST[2]);
    assert!(works(&stays, &root).await);
    assert!(!works(&believing(NEXT[2]), &root).await, "the next one is not there yet");
    let plain = root.replace("https:", "http:");
    assert!(!works(&reqwest::Client::new(), &plain).await, "it is spoken to in clear");

    // A key of another certificate, and no certificate at all.
    install(home.path(), NEXT[0], FIRST[1]);
    served.signal("HUP");
    served.logs("the old one stays");
    fs::write(home.path().join("cert.pem"), "nonsense").unwrap();
    served.signal("HUP");
    served.logs("the old one stays");
    assert!(works(&believing(FIRST[2]), &root).await, "the old one stays");

    install(home.path(), NEXT[0], NEXT[1]);
    served.signal("HUP");
    served.logs("read anew");
    assert!(works(&believing(NEXT[2]), &root).await);
    assert!(!works(&believing(FIRST[2]), &root).await);
    assert!(works(&stays, &root).await, "its connection was dropped");
    served.stop();
}

#[actix::test]
async fn a_client_without_a_certificate_is_not_let_in_where_one_is_needed() {
    let home = tempfile::tempdir().unwrap();
    install(home.path(), FIRST[0], FIRST[1]);
    fs::write(home.path().join("clients.pem"), pem(NEXT[2])).unwrap();
    let more = format!("ca_file = {}\n", home.path().join("clients.pem").display());
    let config = configure(home.path(), &more);
    let served = Served::start(&home.path().join("data"), &["--config-file", &config], &[]);
    let root = served.told("orchestration API").trim_end_matches("/v1").to_owned();
    assert!(!works(&believing(FIRST[2]), &root).await);
    let authority = Certificate::from_pem(pem(FIRST[2]).as_bytes()).unwrap();
    let pair = format!("{}{}", pem(NEXT[0]), pem(NEXT[1]));
    let known = reqwest::Client::builder()
        .tls_certs_only([authority])
        .identity(reqwest::Identity::from_pem(pair.as_bytes()).unwrap())
        .build()
        .unwrap();
    assert!(works(&known, &root).await);
    served.stop();
}

#[test]
fn a_server_that_cannot_speak_tls_does_not_fall_back_to_speaking_in_clear() {
    let home = tempfile::tempdir().unwrap();
    install(home.path(), NEXT[0], FIRST[1]);
    let config = configure(home.path(), "");
    let said = refused(&home.path().join("data"), &["--config-file", &config], &[]);
    assert!(said.contains("cannot be used with its key"), "{said}");
}
