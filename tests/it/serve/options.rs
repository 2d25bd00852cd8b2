//! An option that hardens is in force, or the server does not start.

use super::process::{Served, refused};

#[test]
fn nobody_believes_to_be_protected_by_an_option_that_does_nothing() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("heat.conf");
    for (option, named) in [
        ("[ssl]\nciphers = HIGH", "[ssl] ciphers"),
        ("[clients_nova]\ncert_file = /x", "[clients_nova] cert_file"),
        (
            "[DEFAULT]\nencrypt_parameters_and_properties = true",
            "[DEFAULT] encrypt_parameters_and_properties",
        ),
        ("[healthcheck]\nallowed_source_ranges = 10.0.0.0/8", "allowed_source_ranges"),
        ("[ssl]\ncert_file = /x", "[ssl] key_file must be set"),
        ("[oslo_middleware]\nsecure_proxy_ssl_header = X Y", "secure_proxy_ssl_header"),
    ] {
        std::fs::write(&file, option).unwrap();
        let arguments = ["--config-file", file.to_str().unwrap()];
        let said = refused(&home.path().join("data"), &arguments, &[]);
        assert!(said.contains(named), "{option}: {said}");
    }
}

#[test]
fn an_option_that_asks_for_nothing_does_not_keep_a_server_from_starting() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("heat.conf");
    let options = "[DEFAULT]\nencrypt_parameters_and_properties = False\nnum_engine_workers = 4\n\
                   auth_encryption_key = 0123456789abcdef0123456789abcdef\n\
                   [keystone_authtoken]\ntoken_cache_time = -1\n";
    std::fs::write(&file, options).unwrap();
    let arguments = ["--config-file", file.to_str().unwrap()];
    let log = Served::start(&home.path().join("data"), &arguments, &[]).stop();
    assert!(log.contains("[DEFAULT] num_engine_workers"), "{log}");
}
