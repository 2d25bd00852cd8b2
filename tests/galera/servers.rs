//! Servers as operators have them: with users who may do no more than they must, with TLS, and with
//! minds of their own.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use hearth::events::StreamRevision;
use hearth::events::log::{Address, EventLog, Head, MariadbLog, Side, SqliteLog, transfer};

use super::cases::{append, number, stream};
use super::database::{Database, PASSWORD};

const AUTHORITY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/tls/authority.pem");
/// How the answers of a server begin that has errors 1969 and 1142.
const TOO_LONG: [u8; 4] = [0xff, 0xb1, 0x07, b'#'];
const NOT_ALLOWED: [u8; 4] = [0xff, 0x76, 0x04, b'#'];
/// How long an append may take that has to find another server.
const ELSEWHERE_WITHIN: Duration = Duration::from_secs(5);

fn open(url: &str) -> MariadbLog {
    MariadbLog::open(&Address::parse(url).unwrap(), "a test", None).unwrap()
}

async fn write(log: &MariadbLog, head: Head) -> Head {
    let appended = append(log, &stream("a"), head, number(head.next)).await;
    log.durable(appended.position).await.unwrap();
    appended.head
}

async fn events(log: &MariadbLog) -> usize {
    log.read(&stream("a"), StreamRevision(0)).await.unwrap().events.len()
}

#[tokio::test]
async fn the_user_of_the_documents_may_do_all_that_is_done_and_a_reader_needs_to_select_alone() {
    let database = Database::documented();
    let url = database.url_of(database.name());
    let log = open(&url);
    let head = write(&log, Head::default()).await;
    let reader = format!("{}_r", database.name());
    database.administer(&format!("CREATE USER '{reader}'@'%' IDENTIFIED BY '{PASSWORD}'"));
    database.administer(&format!("GRANT SELECT ON {}.* TO '{reader}'@'%'", database.name()));
    let address = Address::parse(&database.url_of(&reader)).unwrap();
    assert_eq!(events(&MariadbLog::open_read_only(&address).unwrap()).await, 1);
    database.administer(&format!("DROP USER '{reader}'@'%'"));
    write(&log, head).await;
    drop(log);

    // Over a copy that broke off, whose tables are emptied.
    let holder = "a copy that is not whole; copying again goes over it";
    database.run(&format!("UPDATE sequencer SET holder = '{holder}', seen = '9999-01-01'"));
    let refused = MariadbLog::open(&Address::parse(&url).unwrap(), "a test", None).err().unwrap();
    assert!(refused.to_string().ends_with(holder), "{refused}");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.db");
    let file = SqliteLog::open(&path).unwrap();
    let appended = append(&file, &stream("a"), Head::default(), number(0)).await;
    file.durable(appended.position).await.unwrap();
    drop(file);
    let there = Side::Database(Address::parse(&url).unwrap());
    assert_eq!(transfer(&Side::File(path), &there), Ok(1));
    assert_eq!(events(&open(&url)).await, 1);
}

#[tokio::test]
async fn a_server_that_wants_tls_gets_it_and_one_of_another_authority_gets_nothing() {
    let database = Database::documented();
    database.administer(&format!("ALTER USER '{}'@'%' REQUIRE SSL", database.name()));
    let url = database.url_of(database.name());
    let log = open(&format!("{url}?tls_ca={AUTHORITY}"));
    write(&log, Head::default()).await;
    assert_eq!(events(&log).await, 1);
    drop(log);
    // Without TLS, and with the public authorities alone.
    let trials = [url.clone(), format!("{url}?tls=true")].map(|url| {
        std::thread::spawn(move || {
            let address = Address::parse(&url).unwrap();
            MariadbLog::open_read_only(&address).err().unwrap().to_string()
        })
    });
    let [plain, unknown] = trials.map(|trial| trial.join().unwrap());
    assert!(plain.ends_with("the server refused it (error 1045)"), "{plain}");
    assert!(unknown.contains("the connection failed"), "{unknown}");
}

#[ignore = "tells the servers of the cluster that HEARTH_TEST_MARIADB names what others would notice"]
#[test]
fn servers_that_close_what_rests_are_read_only_or_not_ready_cost_nobody_an_event() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let database = Database::documented();
    let url = database.url_of(database.name());
    let address = Address::parse(&url).unwrap();
    let closing = [0, 1, 2].map(|server| {
        database.tell(server, "SET GLOBAL wait_timeout = 1", "SET GLOBAL wait_timeout = 28800")
    });
    let log = open(&url);
    let mut head = runtime.block_on(write(&log, Head::default()));
    for _ in 0..3 {
        // Every connection has rested for longer than the servers have them rest.
        std::thread::sleep(Duration::from_millis(2_500));
        head = runtime.block_on(write(&log, head));
        assert_eq!(runtime.block_on(events(&log)) as u64, head.next);
    }
    drop(closing);
    for (set, undo) in [
        ("SET GLOBAL read_only = ON", "SET GLOBAL read_only = OFF"),
        // What a server says that joins its cluster: error 1047.
        ("SET GLOBAL wsrep_reject_queries = ALL", "SET GLOBAL wsrep_reject_queries = NONE"),
    ] {
        // One of them is the one that is written to.
        for server in [0, 1, 2] {
            let told = database.tell(server, set, undo);
            let begun = Instant::now();
            head = runtime.block_on(write(&log, head));
            assert!(begun.elapsed() < ELSEWHERE_WITHIN, "{set}: {:?}", begun.elapsed());
            assert_eq!(runtime.block_on(events(&log)) as u64, head.next);
            let another = MariadbLog::open_read_only(&address).unwrap();
            assert_eq!(runtime.block_on(events(&another)) as u64, head.next);
            drop(told);
        }
    }
    let small = [0, 1, 2].map(|server| {
        let (set, undo) = ("SET GLOBAL max_allowed_packet = ", 16 << 20);
        database.tell(server, &format!("{set}{}", 4 << 20), &format!("{set}{undo}"))
    });
    let refused = MariadbLog::open_read_only(&address).err().unwrap().to_string();
    assert!(refused.contains("max_allowed_packet is less than 16 MiB"), "{refused}");
    drop((small, log));
    assert_eq!(runtime.block_on(events(&open(&url))) as u64, head.next);
}

#[ignore = "tells the servers of the cluster that HEARTH_TEST_MARIADB names what others would notice"]
#[test]
fn servers_that_commit_nothing_by_themselves_and_begin_anew_after_each_commit_are_told_otherwise() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let database = Database::fresh();
    let told = [0, 1, 2].map(|server| {
        let set = "SET GLOBAL autocommit = 0, GLOBAL completion_type = 'CHAIN'";
        let undo = "SET GLOBAL autocommit = 1, GLOBAL completion_type = 'NO_CHAIN'";
        database.tell(server, set, undo)
    });
    let log = open(&database.url());
    runtime.block_on(write(&log, Head::default()));
    let refused = MariadbLog::open(&database.address(), "another", None).err().unwrap();
    assert!(refused.to_string().ends_with("is in use by a test"), "{refused}");
    drop(log);
    let another = MariadbLog::open(&database.address(), "another", None).unwrap();
    assert_eq!(runtime.block_on(events(&another)), 1);
    drop((told, another));
}

#[ignore = "locks the servers of the cluster that HEARTH_TEST_MARIADB names, which others would notice"]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_is_cut_off_contended_with_and_kept_waiting_writes_all_of_it_once() {
    let database = Database::fresh();
    let log = open(&database.url());
    let mut head = Head::default();
    for round in 0..12 {
        match round % 3 {
            0 => database.cut_off_clients(),
            1 => database.contend("sequencer", "seen = UTC_TIMESTAMP(6)"),
            _ => database.silence(Duration::from_millis(300)),
        }
        for _ in 0..5 {
            head = write(&log, head).await;
        }
    }
    let elsewhere = MariadbLog::open_read_only(&database.address_of_the_last()).unwrap();
    assert_eq!((events(&elsewhere).await, head.next), (60, 60));
}

/// Another address of a server, by which it does not hear that a client has gone, and what took too
/// long there comes back as what the client may not do.
fn way_to(server: String) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let mut kept = Vec::new();
        for client in listener.incoming() {
            let (mut client, mut there) = (client.unwrap(), TcpStream::connect(&server).unwrap());
            let (mut back, mut on) = (client.try_clone().unwrap(), there.try_clone().unwrap());
            kept.push(there.try_clone().unwrap());
            std::thread::spawn(move || std::io::copy(&mut client, &mut on));
            std::thread::spawn(move || {
                let mut answer = vec![0; 64 << 10];
                while let Ok(length @ 1..) = there.read(&mut answer) {
                    let answer = &mut answer[..length];
                    if let Some(at) = answer.windows(4).position(|it| it == TOO_LONG) {
                        answer[at..at + NOT_ALLOWED.len()].copy_from_slice(&NOT_ALLOWED);
                    }
                    if back.write_all(answer).is_err() {
                        return;
                    }
                }
            });
        }
    });
    address
}

#[ignore = "holds up the first server that HEARTH_TEST_MARIADB names, which others would notice"]
#[test]
fn a_group_that_is_refused_is_not_lost_while_a_commit_of_it_may_come_still() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let database = Database::fresh();
    let log = open(&database.url_by(way_to(database.first().to_owned())));
    let head = runtime.block_on(write(&log, Head::default()));
    let stage = "BACKUP STAGE START; BACKUP STAGE BLOCK_COMMIT";
    let commits = database.tell(0, stage, "BACKUP STAGE END");
    // Whoever connects from now on is refused what waits for the commit.
    let (set, undo) = ("SET GLOBAL max_statement_time = 1", "SET GLOBAL max_statement_time = 0");
    let impatient = database.tell(0, set, undo);
    let appended = runtime.block_on(append(&log, &stream("a"), head, number(head.next)));
    std::thread::sleep(Duration::from_secs(8));
    drop((impatient, commits));
    runtime.block_on(log.durable(appended.position)).unwrap();
    let head = runtime.block_on(write(&log, appended.head));
    assert_eq!((runtime.block_on(events(&log)), head.next), (3, 3));
}
