//! What a running server is asked by the commands of its operator: a line of JSON each way, over a
//! socket in the data directory that its owner alone may open. Where no server runs, the command
//! does the work itself, under the lock of the log.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::{JoinHandle, spawn_blocking};
use uuid::Uuid;

use super::data::{DataDir, Files, with_causes};
use crate::actors::Engine;
use crate::clock::{Clock, SystemClock};
use crate::events::Position;
use crate::events::backup::{self, Copied};
use crate::events::forget::{self, Forgotten, Older};
use crate::events::log::{EventLog, OpenError, OwnedLog, SqliteLog, aside};
use crate::events::vault::Vault;
use crate::model::{StackId, Status};
use crate::projections::{StackRow, ViewError, Views};

/// The most bytes of a request or an answer.
const LINE_MAX_BYTES: u64 = 64 << 10;
/// How long a request may take to arrive.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);

/// What is asked.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Order {
    /// Seal every stack's key under a fresh master key.
    RotateMasterKey,
    /// Take away what was deleted long ago.
    Purge(Older),
    /// Copy the log and the keys into a directory.
    Backup { to: PathBuf, with_keys: bool },
    /// Give up what is under way in a stack and in those within it.
    ResetStack(StackId),
    /// Say where the API is.
    Where,
}

/// What came of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Answer {
    Rotated { keys: usize },
    Purged(Forgotten),
    BackedUp { position: Position, master_key: bool, signing_key: bool },
    Reset { stacks: usize },
    Serves(Serving),
    Failed(String),
}

/// Where a server is reached.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Serving {
    pub(super) api: String,
    /// The cloud's Keystone.
    pub(super) auth_url: String,
    /// The file with its users, where the cloud is a sandbox.
    pub(super) clouds_yaml: Option<PathBuf>,
    /// The server, as the list of services names it; unknown of an earlier version's.
    #[serde(default)]
    pub(super) engine: Option<EngineShown>,
}

/// A server, as the list of services names it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct EngineShown {
    pub(super) id: Uuid,
    pub(super) host: String,
}

/// Who carries orders out: a server, or a command where none runs.
#[derive(Clone)]
pub(super) struct Administrator {
    pub(super) log: Arc<dyn OwnedLog>,
    pub(super) vault: Arc<Vault>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) files: Files,
    /// `None` where no API is served.
    pub(super) serving: Option<Serving>,
    /// Those who work on stacks, where a server does.
    pub(super) workers: Option<(Engine, Views)>,
}

impl Administrator {
    async fn carry_out(&self, order: Order) -> Answer {
        let done = match order {
            // What takes long holds up nobody.
            Order::RotateMasterKey => {
                let (vault, file) = (Arc::clone(&self.vault), self.files.master_key.clone());
                let rotated = aside(async move { vault.rotate(&file).await }).await;
                rotated.map(|rotated| rotated.map(|keys| Answer::Rotated { keys }))
            }
            Order::Purge(older) => {
                let Self { log, vault, clock, .. } = self.clone();
                let forgotten = aside(async move {
                    let before = older.before(clock.now());
                    forget::purge(log.as_ref(), &vault, clock.as_ref(), before, &older).await
                });
                let forgotten = forgotten.await;
                forgotten.map(|forgotten| forgotten.map(Answer::Purged).map_err(Into::into))
            }
            Order::Backup { to, with_keys } => {
                let files = self.files.clone();
                let copied = spawn_blocking(move || back_up(&files, to, with_keys)).await;
                return copied.unwrap_or_else(|error| Answer::Failed(error.to_string()));
            }
            Order::ResetStack(stack) => {
                return self.reset(stack).await.unwrap_or_else(Answer::Failed);
            }
            Order::Where => {
                let serving = self.serving.clone().map(Answer::Serves);
                return serving.unwrap_or_else(|| Answer::Failed("no API is served".to_owned()));
            }
        };
        if let Err(error) = self.log.settle().await {
            tracing::error!(%error, "the checkpoint beside the log is an old one");
        }
        match done {
            Some(Ok(answer)) => answer,
            Some(Err(error)) => Answer::Failed(with_causes(&error)),
            None => Answer::Failed("it ended in a panic".to_owned()),
        }
    }

    /// Gives up what is under way in a stack and then in those within it, none of which takes it
    /// for an error of its own to be mended.
    async fn reset(&self, stack: StackId) -> Result<Answer, String> {
        let (engine, views) = self.workers.as_ref().ok_or_else(|| NO_WORKERS.to_owned())?;
        let stacks = at_work(views, stack).await.map_err(|error| with_causes(&error))?;
        let mut last = engine.reset_stack(stack).await.map_err(|refusal| refusal.message)?;
        let mut parents = vec![stack];
        while let Some(parent) = parents.pop() {
            let read = async {
                views.after(last).await?;
                let Some(parent) = views.stack(parent).await? else { return Ok(Vec::new()) };
                views.children(parent).await
            };
            let children: Result<_, ViewError> = read.await;
            for child in children.map_err(|error| with_causes(&error))? {
                // One that is gone by now needs nothing.
                if let Ok(position) = engine.reset_stack(child.id).await {
                    last = last.max(position);
                }
                parents.push(child.id);
            }
        }
        self.log.durable(last).await.map_err(|error| with_causes(&error))?;
        Ok(Answer::Reset { stacks })
    }
}

/// How many stacks are at work, of one and those within it.
async fn at_work(views: &Views, stack: StackId) -> Result<usize, ViewError> {
    let mut count = 0;
    let mut seen: Vec<StackRow> = views.stack(stack).await?.into_iter().collect();
    while let Some(row) = seen.pop() {
        count += usize::from(row.status == Status::InProgress);
        seen.extend(views.children(row).await?);
    }
    Ok(count)
}

/// What is said of an order that needs a server.
const NO_WORKERS: &str = "no server works with this data: start one, which takes up what is under \
                          way, and ask again if that comes to no end";

fn back_up(files: &Files, to: PathBuf, with_keys: bool) -> Answer {
    if let Some(reason) = files.log.backed_up_otherwise() {
        return Answer::Failed(reason.to_owned());
    }
    let to = Files::in_directory(DataDir(to)).parts();
    match backup::copy(&files.parts(), &to, with_keys) {
        Ok(Copied { position, master_key, signing_key }) => {
            Answer::BackedUp { position, master_key, signing_key }
        }
        Err(error) => Answer::Failed(with_causes(&error)),
    }
}

/// Hears orders until it is dropped.
pub(super) struct AdminSocket {
    path: PathBuf,
    task: JoinHandle<()>,
}

impl AdminSocket {
    /// Opens the socket, for the owner of this process alone.
    pub(super) fn open(path: PathBuf, administrator: Administrator) -> io::Result<Self> {
        // Whoever holds the lock of the log is the only one who may listen here.
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let listener = UnixListener::bind(&path)?;
        fs::set_permissions(&path, Permissions::from_mode(0o600))?;
        // One order at a time: two rotations or purges at once would only wait for each other.
        let task = actix::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                if let Err(error) = answer(stream, &administrator).await {
                    tracing::warn!(%error, "an order could not be heard or answered");
                }
            }
        });
        Ok(Self { path, task })
    }
}

impl Drop for AdminSocket {
    fn drop(&mut self) {
        self.task.abort();
        let _ = fs::remove_file(&self.path);
    }
}

async fn answer(mut stream: UnixStream, administrator: &Administrator) -> io::Result<()> {
    let (read, mut write) = stream.split();
    let mut line = String::new();
    let mut read = BufReader::new(read.take(LINE_MAX_BYTES));
    let length = tokio::time::timeout(REQUEST_TIMEOUT, read.read_line(&mut line)).await??;
    if length == 0 {
        // Somebody only looked whether a server is there.
        return Ok(());
    }
    let answer = match serde_json::from_str(&line) {
        Ok(order) => administrator.carry_out(order).await,
        Err(error) => Answer::Failed(format!("this is no order: {error}")),
    };
    let mut text = serde_json::to_string(&answer)?;
    text.push('\n');
    write.write_all(text.as_bytes()).await
}

/// Has an order carried out by the server that runs, or here if none does. The error is a whole
/// sentence.
pub(super) async fn order(files: &Files, order: Order) -> Result<Answer, String> {
    let answer = match ask(&files.data.admin_socket(), &order).await {
        Ok(Some(answer)) => answer,
        Ok(None) => here(files, order).await?,
        Err(error) => return Err(format!("the server did not answer: {error}")),
    };
    match answer {
        Answer::Failed(reason) => Err(reason),
        answer => Ok(answer),
    }
}

/// Where the server is reached that works on a data directory; `None` where none does.
pub(super) async fn server_on(data: &DataDir) -> Result<Option<Serving>, String> {
    match ask(&data.admin_socket(), &Order::Where).await {
        Ok(None) => Ok(None),
        Ok(Some(Answer::Serves(serving))) => Ok(Some(serving)),
        Ok(Some(Answer::Failed(reason))) => Err(reason),
        Ok(Some(_)) => Err("the server that works there is of another version".to_owned()),
        Err(error) => Err(format!("the server did not answer: {error}")),
    }
}

/// Asks the server; `None` where nobody listens.
async fn ask(path: &Path, order: &Order) -> io::Result<Option<Answer>> {
    let mut stream = match UnixStream::connect(path).await {
        Ok(stream) => stream,
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused
            ) =>
        {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    let mut text = serde_json::to_string(order)?;
    text.push('\n');
    stream.write_all(text.as_bytes()).await?;
    let mut line = String::new();
    BufReader::new(stream.take(LINE_MAX_BYTES)).read_line(&mut line).await?;
    Ok(Some(serde_json::from_str(&line)?))
}

async fn here(files: &Files, order: Order) -> Result<Answer, String> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let refused = |error| match error {
        OpenError::InUse { .. } => {
            "a server works with this log and does not listen for orders".to_owned()
        }
        error => with_causes(&error),
    };
    if let Order::Backup { to, with_keys } = order {
        // A log that is only copied stays as it is, whichever version wrote it.
        let _lock = SqliteLog::lock(&files.data.log()).map_err(refused)?;
        return Ok(back_up(files, to, with_keys));
    }
    if matches!(order, Order::ResetStack(_)) {
        return Err(NO_WORKERS.to_owned());
    }
    let (log, _lock) = files.open_log(clock.as_ref()).map_err(refused)?;
    let shared: Arc<dyn EventLog> = log.clone();
    let vault = Vault::open_with(shared, &files.master_key, clock.clone()).await;
    let vault = Arc::new(vault.map_err(|error| with_causes(&error))?);
    let files = files.clone();
    let administrator = Administrator { log, vault, clock, files, serving: None, workers: None };
    Ok(administrator.carry_out(order).await)
}
