//! The server under measurement: a process of the same binary, on free ports and a directory of
//! its own, so that only the public API stands between it and the workloads.

use std::io;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::{Duration, Instant};

use super::BenchError;
use crate::cli::client::Client;
use crate::cli::login::LoginFound;

const READY_WITHIN: Duration = Duration::from_secs(60);
const STOPPED_WITHIN: Duration = Duration::from_secs(30);
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// Linux counts the time of a process in hundredths of a second, whatever the machine.
const TICK: Duration = Duration::from_millis(10);

/// A running `hearth serve`.
pub(super) struct Server {
    child: Child,
    data: PathBuf,
    api_port: u16,
    cloud_port: u16,
    /// From the start of the process to the first answer.
    pub(super) ready_after: Duration,
}

impl Server {
    /// Starts on a directory and waits until it answers; `settings` are `HEARTH_…` variables.
    pub(super) async fn start(
        data: &Path,
        settings: &[(&str, &str)],
    ) -> Result<Server, BenchError> {
        Self::start_with(data, settings, Stdio::inherit()).await
    }

    /// The same, with another place for what it logs.
    pub(super) async fn start_with(
        data: &Path,
        settings: &[(&str, &str)],
        log: Stdio,
    ) -> Result<Server, BenchError> {
        let (api_port, cloud_port) = (free_port()?, free_port()?);
        let began = Instant::now();
        let child = Command::new(std::env::current_exe()?)
            .arg("serve")
            .arg("--data")
            .arg(data)
            .args(["--listen", &format!("127.0.0.1:{api_port}")])
            .args(["--sandbox-listen", &format!("127.0.0.1:{cloud_port}")])
            .env("HEARTH_LOG_FILTER", "error")
            // The workloads hold more stacks than a project may by default.
            .env("HEARTH_DEFAULT__MAX_STACKS_PER_TENANT", "-1")
            .envs(settings.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()?;
        let data = data.to_owned();
        let mut server = Server { child, data, api_port, cloud_port, ready_after: Duration::ZERO };
        server.wait_until_ready(began).await?;
        Ok(server)
    }

    async fn wait_until_ready(&mut self, began: Instant) -> Result<(), BenchError> {
        let url = format!("http://127.0.0.1:{}/healthcheck", self.api_port);
        let http = reqwest::Client::new();
        while began.elapsed() < READY_WITHIN {
            if let Some(status) = self.child.try_wait()? {
                return Err(BenchError::Server(format!("it ended with {status}")));
            }
            if http.get(&url).send().await.is_ok_and(|reply| reply.status().is_success()) {
                self.ready_after = began.elapsed();
                return Ok(());
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
        Err(BenchError::Server("it does not answer".to_owned()))
    }

    /// What it logs, where that is a pipe; once.
    pub(super) fn said(&mut self) -> Option<ChildStderr> {
        self.child.stderr.take()
    }

    /// A client signed in as `demo`.
    pub(super) async fn client(&self) -> Result<Client, BenchError> {
        self.client_of("demo").await
    }

    /// A client signed in as the user of a project of the same name.
    pub(super) async fn client_of(&self, project: &str) -> Result<Client, BenchError> {
        let auth_url = self.auth_url();
        let login = LoginFound::of_sandbox(&auth_url, project);
        Ok(Client::sign_in(&login).await?)
    }

    /// The sandbox's Keystone.
    pub(super) fn auth_url(&self) -> String {
        format!("http://127.0.0.1:{}/v3", self.cloud_port)
    }

    /// Where its log is.
    pub(super) fn data(&self) -> &Path {
        &self.data
    }

    /// The memory that it holds, in MiB.
    pub(super) fn resident_mib(&self) -> Result<f64, BenchError> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = line.and_then(|rest| rest.trim().trim_end_matches(" kB").parse::<f64>().ok());
        kib.map(|kib| kib / 1024.0).ok_or_else(|| BenchError::Server("no VmRSS".to_owned()))
    }

    /// What it has used of the processors since it began.
    pub(super) fn cpu_time(&self) -> Result<Duration, BenchError> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        // Behind the name, which may have anything in it: eleven other fields, user, system.
        let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields).split_whitespace();
        let ticks: Vec<u64> = fields.skip(11).take(2).flat_map(str::parse).collect();
        match ticks[..] {
            [user, system] => Ok(TICK * u32::try_from(user + system).unwrap_or(u32::MAX)),
            _ => Err(BenchError::Server("no times in stat".to_owned())),
        }
    }

    /// Ends it as an operator does.
    pub(super) async fn stop(mut self) -> Result<(), BenchError> {
        let pid = self.child.id().to_string();
        Command::new("kill").args(["-TERM", &pid]).status()?;
        let began = Instant::now();
        while began.elapsed() < STOPPED_WITHIN {
            if self.child.try_wait()?.is_some() {
                return Ok(());
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
        Err(BenchError::Server("it does not stop".to_owned()))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // After a clean stop this finds nothing; after an error nothing may be left running.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}
