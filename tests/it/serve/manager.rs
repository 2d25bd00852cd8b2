//! What systemd hears of the service that it started.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

use super::process::Served;

/// The next thing that is said which is not the watchdog's.
fn next(socket: &UnixDatagram) -> String {
    loop {
        let word = heard(socket);
        if word != "WATCHDOG=1" {
            return word;
        }
    }
}

fn heard(socket: &UnixDatagram) -> String {
    let mut word = [0; 64];
    let length = socket.recv(&mut word).unwrap();
    String::from_utf8(word[..length].to_vec()).unwrap()
}

fn patient(socket: UnixDatagram) -> UnixDatagram {
    socket.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    socket
}

#[test]
fn a_service_manager_hears_of_the_start_the_end_and_in_between_that_all_is_well() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("notify");
    let socket = patient(UnixDatagram::bind(&path).unwrap());
    let variables = [("NOTIFY_SOCKET", path.to_str().unwrap()), ("WATCHDOG_USEC", "20000")];
    let served = Served::start(&home.path().join("data"), &[], &variables);
    assert_eq!(heard(&socket), "READY=1");
    for _ in 0..3 {
        assert_eq!(heard(&socket), "WATCHDOG=1");
    }
    served.signal("TERM");
    assert_eq!(next(&socket), "STOPPING=1");
    served.stop();
}

#[test]
fn a_socket_without_a_path_is_found_and_another_processs_watchdog_is_not_fed() {
    let home = tempfile::tempdir().unwrap();
    let name = format!("hearth-test-{}", std::process::id());
    let address = SocketAddr::from_abstract_name(&name).unwrap();
    let socket = patient(UnixDatagram::bind_addr(&address).unwrap());
    let name = format!("@{name}");
    let variables =
        [("NOTIFY_SOCKET", name.as_str()), ("WATCHDOG_USEC", "1000"), ("WATCHDOG_PID", "1")];
    let served = Served::start(&home.path().join("data"), &[], &variables);
    assert_eq!(heard(&socket), "READY=1");
    served.stop();
    assert_eq!(heard(&socket), "STOPPING=1");
}

#[test]
fn a_manager_that_is_gone_keeps_nobody_from_serving() {
    let home = tempfile::tempdir().unwrap();
    let nobody = home.path().join("nobody");
    let variables = [("NOTIFY_SOCKET", nobody.to_str().unwrap())];
    let log = Served::start(&home.path().join("data"), &[], &variables).stop();
    assert!(log.contains("the service manager was not told"), "{log}");
}
