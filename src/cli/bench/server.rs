//! The server under measurement: a process of the same binary, on free ports and a directory of
//! its own, so that only the public API stands between it and the workloads.

use std::io;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
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
    serve: Process,
    /// `hearth sandbox`, where the cloud is a process of its own.
    _cloud: Option<Process>,
    data: PathBuf,
    ports: Ports,
    /// From the start of the process to the first answer.
    pub(super) ready_after: Duration,
}

/// Where a server and its cloud listen.
#[derive(Clone, Copy)]
struct Ports {
    api: u16,
    cfn: u16,
    cloud: u16,
}

impl Ports {
    fn free() -> io::Result<Ports> {
        Ok(Ports { api: free_port()?, cfn: free_port()?, cloud: free_port()? })
    }
}

/// A process that does not outlive its owner.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        // After a clean stop this finds nothing; after an error nothing may be left running.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Server {
    /// Starts on a directory and waits until it answers; `settings` are `HEARTH_…` variables.
    pub(super) async fn start(
        data: &Path,
        settings: &[(&str, &str)],
    ) -> Result<Server, BenchError> {
        let ports = Ports::free()?;
        let cloud = format!("127.0.0.1:{}", ports.cloud);
        Self::serve(data, settings, ports, &["--sandbox-listen", &cloud], None).await
    }

    /// The same with the cloud in a process of its own, whose time does not count, and which is
    /// not made slow.
    pub(super) async fn start_apart(data: &Path) -> Result<Server, BenchError> {
        let ports = Ports::free()?;
        let child = Command::new(std::env::current_exe()?)
            .arg("sandbox")
            .args(["--listen", &format!("127.0.0.1:{}", ports.cloud)])
            .args(["--hearth-url", &format!("http://127.0.0.1:{}", ports.api)])
            .args(["--cfn-url", &format!("http://127.0.0.1:{}", ports.cfn)])
            .args(["--latency", "0", "--no-quotas"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()?;
        let mut cloud = Process(child);
        let url = format!("http://127.0.0.1:{}/v3", ports.cloud);
        wait_for(&mut cloud, &url, Instant::now()).await?;
        Self::serve(data, &[], ports, &["--sandbox", &url], Some(cloud)).await
    }

    async fn serve(
        data: &Path,
        settings: &[(&str, &str)],
        ports: Ports,
        cloud_at: &[&str],
        cloud: Option<Process>,
    ) -> Result<Server, BenchError> {
        let began = Instant::now();
        let child = Command::new(std::env::current_exe()?)
            .arg("serve")
            .arg("--data")
            .arg(data)
            .args(["--listen", &format!("127.0.0.1:{}", ports.api)])
            .args(["--cfn-listen", &format!("127.0.0.1:{}", ports.cfn)])
            .args(["--cloudwatch-listen", "none"])
            .args(cloud_at)
            .env("HEARTH_LOG_FILTER", "error")
            // The workloads hold more stacks than a project may by default.
            .env("HEARTH_DEFAULT__MAX_STACKS_PER_TENANT", "-1")
            .envs(settings.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()?;
        let mut serve = Process(child);
        let url = format!("http://127.0.0.1:{}/healthcheck", ports.api);
        let ready_after = wait_for(&mut serve, &url, began).await?;
        Ok(Server { serve, _cloud: cloud, data: data.to_owned(), ports, ready_after })
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
        format!("http://127.0.0.1:{}/v3", self.ports.cloud)
    }

    /// Where its log is.
    pub(super) fn data(&self) -> &Path {
        &self.data
    }

    /// The memory that it holds, in MiB.
    pub(super) fn resident_mib(&self) -> Result<f64, BenchError> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.serve.0.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = line.and_then(|rest| rest.trim().trim_end_matches(" kB").parse::<f64>().ok());
        kib.map(|kib| kib / 1024.0).ok_or_else(|| BenchError::Server("no VmRSS".to_owned()))
    }

    /// What it has used of the processors since it began.
    pub(super) fn cpu_time(&self) -> Result<Duration, BenchError> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.serve.0.id()))?;
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
        let child = &mut self.serve.0;
        Command::new("kill").args(["-TERM", &child.id().to_string()]).status()?;
        let began = Instant::now();
        while began.elapsed() < STOPPED_WITHIN {
            if child.try_wait()?.is_some() {
                return Ok(());
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
        Err(BenchError::Server("it does not stop".to_owned()))
    }
}

/// Waits until a process answers; how long that took from its start.
async fn wait_for(
    process: &mut Process,
    url: &str,
    began: Instant,
) -> Result<Duration, BenchError> {
    let http = reqwest::Client::new();
    while began.elapsed() < READY_WITHIN {
        if let Some(status) = process.0.try_wait()? {
            return Err(BenchError::Server(format!("it ended with {status}")));
        }
        if http.get(url).send().await.is_ok_and(|reply| reply.status().is_success()) {
            return Ok(began.elapsed());
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
    Err(BenchError::Server("it does not answer".to_owned()))
}

fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}
