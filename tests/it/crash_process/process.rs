//! The server as a process of its own, started and killed.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use crate::support::wait::polled;

/// How long a start may take on a machine that is busy with other tests.
const READY: Duration = Duration::from_secs(20);

/// `hearth serve` on a data directory; killed when dropped.
pub(super) struct Server {
    pub(super) port: u16,
    /// CloudWatch's API.
    pub(super) watch_port: u16,
    pub(super) kills: u32,
    data: PathBuf,
    cloud: String,
    config: Option<PathBuf>,
    child: Option<Child>,
}

/// A port that stays free while a server is down: below those that the system gives to whoever
/// connects, and no other server's here.
fn free_port() -> u16 {
    static TAKEN: AtomicU16 = AtomicU16::new(0);
    let first = 20_000 + (std::process::id() % 10_000) as u16;
    loop {
        let port = first + TAKEN.fetch_add(1, Ordering::SeqCst);
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

impl Server {
    pub(super) fn new(data: &Path, auth_url: &str) -> Self {
        let [port, watch_port] = [free_port(), free_port()];
        let (data, cloud) = (data.to_owned(), auth_url.to_owned());
        Self { port, watch_port, kills: 0, data, cloud, config: None, child: None }
    }

    /// The same with settings of its own.
    pub(super) fn with_config(mut self, text: &str) -> Self {
        let file = self.data.join("heat.conf");
        std::fs::write(&file, text).unwrap();
        self.config = Some(file);
        self
    }

    pub(super) fn start(&mut self) {
        assert!(self.child.is_none());
        let child = Command::new(env!("CARGO_BIN_EXE_hearth"))
            .arg("serve")
            .arg("--data")
            .arg(&self.data)
            .args(["--listen", &format!("127.0.0.1:{}", self.port), "--sandbox", &self.cloud])
            .args(["--cfn-listen", "127.0.0.1:0"])
            .args(["--cloudwatch-listen", &format!("127.0.0.1:{}", self.watch_port)])
            .args(self.config.iter().flat_map(|file| [OsStr::new("--config-file"), file.as_ref()]))
            // A killed client's request never reaches the sandbox late.
            .env("HEARTH_LOST_CALL_REST", "0")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(self.output())
            .spawn()
            .unwrap();
        self.child = Some(child);
    }

    /// Returns when it takes requests.
    pub(super) async fn ready(&mut self) {
        let takes = async || match TcpStream::connect(("127.0.0.1", self.port)) {
            Ok(_) => Ok(()),
            Err(_) => {
                self.still_runs();
                Err(self.said())
            }
        };
        polled(READY, "the server takes requests", takes).await;
    }

    /// Kills it with SIGKILL after a while.
    pub(super) async fn kill_after(&mut self, time: Duration) {
        tokio::time::sleep(time).await;
        self.still_runs();
        let mut child = self.child.take().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        self.kills += 1;
    }

    /// Asks it to stop and waits until it has.
    pub(super) fn terminate(&mut self) {
        let mut child = self.child.take().unwrap();
        let pid = child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
        assert!(child.wait().unwrap().success(), "{}", self.said());
    }

    /// A server that ends by itself has failed.
    pub(super) fn still_runs(&mut self) {
        let child = self.child.as_mut().unwrap();
        if let Some(status) = child.try_wait().unwrap() {
            panic!("the server ended with {status}: {}", self.said());
        }
    }

    /// Ends it for good.
    pub(super) fn stop(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    /// After so many crashes, every chain of the log still holds.
    pub(super) fn verify_log(&self) {
        let output = Command::new(env!("CARGO_BIN_EXE_hearth"))
            .args(["verify", "--data"])
            .arg(&self.data)
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
    }

    fn output(&self) -> File {
        let path = self.data.join("output.txt");
        OpenOptions::new().create(true).append(true).open(path).unwrap()
    }

    /// The last of what it printed.
    fn said(&self) -> String {
        let mut text = Vec::new();
        let mut file = File::open(self.data.join("output.txt")).unwrap();
        let end = file.metadata().unwrap().len();
        file.seek(SeekFrom::Start(end.saturating_sub(4_000))).unwrap();
        file.read_to_end(&mut text).unwrap();
        String::from_utf8_lossy(&text).into_owned()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
        if std::thread::panicking() {
            eprintln!("the server said last:\n{}", self.said());
            let kept = self.data.with_extension("kept");
            if std::fs::rename(&self.data, &kept).is_ok() {
                eprintln!("its log is kept for `hearth history`: --data {}", kept.display());
            }
        }
    }
}
