//! Where stacks are: Hearth's own data directory, on the sandbox or a real cloud, or a server that
//! runs. Whichever it is, a subcommand speaks to it as any client does, over the API.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::ValueEnum;
use url::Url;

use super::admin::{self, Serving};
use super::client::{self, Client, ClientError};
use super::data::{DataArguments, DataDir};
use super::logging;
use super::login::{self, LoginError};
use super::node::{Node, StartError};
use crate::config::{CloudChoice, ConfigError, Flags, Settings};
use crate::events::log::OpenError;

/// What is said below the help of each subcommand that has these arguments.
pub(super) const HELP: &str = "\
Stacks are in Hearth's own data directory, unless --server, --os-cloud or the OS_… variables name \
a server. A server that works on the data directory is used; where none runs, the command brings \
Hearth up for as long as it lasts. --cloud openstack does so on a real cloud, for the user whom \
the OS_… variables name.";

/// The same of those that read the log.
pub(super) const HELP_OF_LOG: &str = "\
The log is that of Hearth's own data directory, whether a server works on it or not, unless \
--server or --os-cloud names a server, which is asked for it.";

/// How long another process may work with the log without saying where it is reached.
const OTHERS_LEAVE_WITHIN: Duration = Duration::from_secs(10);
/// How often it is looked for.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Where stacks are.
#[derive(Clone, Debug, Default, clap::Args)]
pub(super) struct PlaceArguments {
    /// A running server, by the address of its API: http://127.0.0.1:8004
    #[arg(
        long,
        value_name = "URL",
        value_parser = server_url,
        conflicts_with_all = ["data", "cloud", "config_file"],
    )]
    server: Option<Url>,
    /// Sign in as this cloud of clouds.yaml says, to the server in its catalog
    #[arg(long, value_name = "NAME")]
    os_cloud: Option<String>,
    /// Hearth's own data directory [default: ./hearth-data]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Which cloud the stacks of the data directory are made in [default: sandbox]
    #[arg(long)]
    cloud: Option<CloudArg>,
    /// An INI file with Heat's option names, as `hearth serve` takes it
    #[arg(long, value_name = "FILE")]
    config_file: Option<PathBuf>,
}

/// Reads the address of a server.
fn server_url(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
    url.ok_or_else(|| "it begins with http:// or https://".to_owned())
}

/// A kind of cloud.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum CloudArg {
    Sandbox,
    Openstack,
}

impl CloudArg {
    /// As the settings have it.
    pub(super) fn text(self) -> &'static str {
        match self {
            CloudArg::Sandbox => "sandbox",
            CloudArg::Openstack => "openstack",
        }
    }
}

/// What a subcommand does there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Errand {
    /// It makes the data directory, if need be.
    Make,
    /// Work goes on meanwhile.
    Work,
    /// It reads.
    Look,
}

/// Why a place cannot be reached.
#[derive(Debug, thiserror::Error)]
pub(super) enum PlaceError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Login(#[from] LoginError),
    #[error(transparent)]
    Client(#[from] ClientError),
    #[error(transparent)]
    Start(#[from] StartError),
    #[error("there is no log at {} (--data DIR says where, --server URL a server)", .0.display())]
    NoLog(PathBuf),
    #[error("{}: {reason}", data.display())]
    Busy { data: PathBuf, reason: String },
}

/// A place that is open.
pub(super) struct Place {
    pub(super) client: Client,
    /// The engine, where it runs in this process.
    node: Option<Node>,
    /// The arguments that lead here again, each with a space before it.
    pub(super) words: String,
    /// `hearth-data`, or the address of a server.
    pub(super) name: String,
}

impl Place {
    /// Opens the place that the arguments mean.
    pub(super) async fn open(
        arguments: &PlaceArguments,
        errand: Errand,
    ) -> Result<Place, PlaceError> {
        let words = arguments.words();
        if let Some(server) = &arguments.server {
            let login = arguments.login_at(server).await?;
            let client = Client::sign_in_to(&login, Some(server.to_string())).await?;
            return Ok(Place { client, node: None, words, name: address(server) });
        }
        let is_own = arguments.data.is_some()
            || arguments.cloud.is_some()
            || arguments.config_file.is_some();
        if !is_own && (arguments.os_cloud.is_some() || login::is_in_environment()) {
            let client = Client::sign_in(&login::find(arguments.os_cloud.as_deref())?).await?;
            let name = client.address();
            return Ok(Place { client, node: None, words, name });
        }
        arguments.own(errand, words).await
    }

    /// Whether the work ends with this process.
    pub(super) fn is_here(&self) -> bool {
        self.node.is_some()
    }

    /// Leaves it; an engine in this process is stopped in good order.
    pub(super) async fn close(self) {
        if let Some(node) = self.node {
            node.stop().await;
        }
    }
}

impl PlaceArguments {
    /// The data directory that is meant, unless a server is.
    pub(super) fn data(&self) -> Option<DataArguments> {
        let is_elsewhere = self.server.is_some() || self.os_cloud.is_some();
        (!is_elsewhere).then(|| DataArguments::of(self.data.clone(), self.config_file.clone()))
    }

    /// A user for a server that is named by its address: whoever is named, or, where the server
    /// says it works on a sandbox of ours, the sandbox's.
    async fn login_at(&self, server: &Url) -> Result<login::LoginFound, PlaceError> {
        let mut login = login::find(self.os_cloud.as_deref())?;
        if self.os_cloud.is_none()
            && !login::is_in_environment()
            && let Some(keystone) = client::keystone_of(server).await?
        {
            login.auth_url = keystone;
        }
        Ok(login)
    }

    async fn own(&self, errand: Errand, words: String) -> Result<Place, PlaceError> {
        let anywhere = Some(SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 0));
        let flags = Flags {
            config_file: self.config_file.clone(),
            data: self.data.clone(),
            listen: anywhere,
            sandbox_listen: anywhere,
            cloud: self.cloud.map(|cloud| cloud.text().to_owned()),
            ..Flags::default()
        };
        let mut settings = Settings::load(&flags, std::env::vars())?;
        // Nobody but this process asks here, over loopback.
        settings.front.tls = None;
        let data = DataDir(settings.data.clone());
        if errand != Errand::Make && settings.log_place.is_none() && !data.log().exists() {
            return Err(PlaceError::NoLog(data.log()));
        }
        // Log lines would tear what is shown; what goes wrong is in the stack.
        logging::start(settings.log_filter.as_deref().unwrap_or("error"));
        let name = data.0.display().to_string();
        let until = Instant::now() + OTHERS_LEAVE_WITHIN;
        loop {
            if let Some(client) = self.of_server(&data).await? {
                return Ok(Place { client, node: None, words, name });
            }
            let started = match errand {
                Errand::Make | Errand::Work => Node::start(&settings).await,
                Errand::Look => Node::at_rest(&settings).await,
            };
            match started {
                Ok(node) => {
                    let client = self.of_node(&settings, &node).await?;
                    return Ok(Place { client, node: Some(node), words, name });
                }
                // A server that has only just been started, or a command that is soon over.
                Err(StartError::Log(OpenError::InUse { .. })) if Instant::now() < until => {
                    tokio::time::sleep(LOOK_EVERY).await;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// A client of an engine in this process.
    async fn of_node(&self, settings: &Settings, node: &Node) -> Result<Client, PlaceError> {
        let login = match (&settings.cloud, &node.clouds_yaml) {
            (CloudChoice::Sandbox | CloudChoice::SandboxAt(_), Some(path)) => {
                login::in_file(path, "hearth")?
            }
            _ => login::find(self.os_cloud.as_deref())?,
        };
        Ok(Client::sign_in_to(&login, Some(format!("http://{}", node.address))).await?)
    }

    /// A client of the server that works on the data directory, if one does.
    async fn of_server(&self, data: &DataDir) -> Result<Option<Client>, PlaceError> {
        let busy = |reason: String| PlaceError::Busy { data: data.0.clone(), reason };
        let Some(serving) = admin::server_on(data).await.map_err(busy)? else { return Ok(None) };
        let Serving { api, auth_url, clouds_yaml, .. } = serving;
        let login = match &clouds_yaml {
            Some(path) => login::in_file(path, "hearth")?,
            None => {
                let mut login = login::find(self.os_cloud.as_deref())?;
                if self.os_cloud.is_none() && !login::is_in_environment() {
                    login.auth_url = auth_url;
                }
                login
            }
        };
        Ok(Some(Client::sign_in_to(&login, Some(api)).await?))
    }

    /// The arguments as they were given.
    fn words(&self) -> String {
        let mut words = String::new();
        let mut word = |flag: &str, value: Option<String>| {
            if let Some(value) = value {
                words.push_str(&format!(" {flag} {}", quoted(&value)));
            }
        };
        let path = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string());
        word("--server", self.server.as_ref().map(address));
        word("--os-cloud", self.os_cloud.clone());
        word("--data", path(&self.data));
        word("--cloud", self.cloud.map(|cloud| cloud.text().to_owned()));
        word("--config-file", path(&self.config_file));
        words
    }
}

/// As somebody types it.
fn address(server: &Url) -> String {
    server.as_str().trim_end_matches('/').to_owned()
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-:@%+=,".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_back_is_what_was_given() {
        let arguments = PlaceArguments {
            data: Some("my data".into()),
            cloud: Some(CloudArg::Openstack),
            ..PlaceArguments::default()
        };
        assert_eq!(arguments.words(), " --data 'my data' --cloud openstack");
        assert_eq!(PlaceArguments::default().words(), "");
    }
}
