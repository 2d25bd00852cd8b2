//! The server that runs, or could: its address, and the files that it may open.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use tokio::net::UnixStream;

use super::report::Report;
use crate::cli::data::Files;
use crate::cli::node::front::{FILES_PER_CONNECTION, open_files};
use crate::config::{CloudChoice, Settings};

/// How long the server's own port may take to answer.
const CONNECT_WITHIN: Duration = Duration::from_secs(3);
/// With fewer files than these a server has none to spare for its cloud and its log.
const FILES_MIN: usize = 1024;

/// The server that works with the data directory.
pub(super) struct Running {
    pid: Option<i32>,
}

impl Running {
    /// Finds the one that listens on the directory's socket, or, as one that only reads has none,
    /// at its address. The lock of the log is not tried: a server that starts just now would find
    /// it taken.
    pub(super) async fn find(files: &Files, settings: &Settings) -> Option<Self> {
        if settings.read_only {
            let found = TcpStream::connect_timeout(&settings.listen, CONNECT_WITHIN);
            return found.is_ok().then_some(Self { pid: None });
        }
        let socket = UnixStream::connect(files.data.admin_socket()).await.ok()?;
        Some(Self { pid: socket.peer_cred().ok().and_then(|peer| peer.pid()) })
    }
}

pub(super) fn look(settings: &Settings, running: Option<&Running>, report: &mut Report) {
    let process = match running {
        Some(Running { pid: Some(pid) }) => {
            report.fine("server", format!("runs as process {pid}"));
            pid.to_string()
        }
        Some(Running { pid: None }) if settings.read_only => {
            report.fine("server", format!("one answers at {}", settings.listen));
            "self".to_owned()
        }
        Some(Running { pid: None }) => {
            report.fine("server", "runs");
            "self".to_owned()
        }
        None => {
            report.note("server", "does not run on this data directory");
            "self".to_owned()
        }
    };
    for (flag, listened) in listened(settings) {
        address(flag, listened, running.is_some(), report);
    }
    files(settings, &process, report);
}

/// Where a server with these settings listens, each with the flag that says so.
fn listened(settings: &Settings) -> impl Iterator<Item = (&'static str, SocketAddr)> {
    // The other APIs are those of the server that writes.
    let amazon = |address: Option<SocketAddr>| address.filter(|_| !settings.read_only);
    let sandbox = (settings.cloud == CloudChoice::Sandbox).then_some(settings.sandbox_listen);
    let all = [
        ("--listen", Some(settings.listen)),
        ("--cfn-listen", amazon(settings.cfn_listen)),
        ("--cloudwatch-listen", amazon(settings.cloudwatch_listen)),
        ("--sandbox-listen", sandbox),
    ];
    all.into_iter().filter_map(|(flag, address)| Some((flag, address?)))
}

fn address(flag: &str, address: SocketAddr, is_running: bool, report: &mut Report) {
    const WHAT: &str = "address";
    if address.port() == 0 {
        report.note(WHAT, format!("{address}: any free port"));
        return;
    }
    match is_running {
        true => match TcpStream::connect_timeout(&address, CONNECT_WITHIN) {
            Ok(_) => report.fine(WHAT, format!("{address} takes connections")),
            Err(error) => report.wrong(
                WHAT,
                format!("{address} takes no connections: {error}"),
                "ask with the flags and the configuration file of the server that runs, and look \
                 at its log",
            ),
        },
        false => match TcpListener::bind(address) {
            Ok(_) => report.fine(WHAT, format!("{address} is free")),
            Err(error) => report.wrong(
                WHAT,
                format!("{address} cannot be listened on: {error}"),
                match error.kind() {
                    io::ErrorKind::AddrInUse => format!(
                        "stop what listens there (`ss -ltnp` shows it), or choose another {flag}"
                    ),
                    _ => format!("choose another {flag}"),
                },
            ),
        },
    }
}

fn files(settings: &Settings, process: &str, report: &mut Report) {
    const WHAT: &str = "open files";
    let limits = std::fs::read_to_string(format!("/proc/{process}/limits")).unwrap_or_default();
    let Some(limit) = open_files(&limits) else {
        report.note(WHAT, "no limit is known");
        return;
    };
    let wanted = settings.front.open.connections.map_or(0, |it| it * FILES_PER_CONNECTION);
    let wanted = wanted.max(FILES_MIN);
    if limit >= wanted {
        report.fine(WHAT, format!("{limit} may be open"));
        return;
    }
    report.warning(
        WHAT,
        format!(
            "{limit} may be open, which is enough for {} connections",
            limit / FILES_PER_CONNECTION
        ),
        format!("raise the limit to {wanted} (LimitNOFILE= in systemd, `ulimit -n` in a shell)"),
    );
}
