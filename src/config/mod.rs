//! Every setting, read once and typed: from a file with Heat's own option names, from the
//! environment (`HEARTH_…`) and from flags, each over the one before. What Heat does not have is
//! in the group `[hearth]`.

mod address;
mod cloud;
mod effective;
mod front;
mod heat_options;
mod ini;
mod layers;
mod limits;
mod log_place;
mod logging;
mod manager;
mod notifications;
mod policy;
mod sandbox;
mod signers;
mod terminal;
mod transport_url;
mod type_defaults;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use url::Url;

use self::address::ListenAddress;
use self::type_defaults::type_defaults;
use crate::model::Secret;
use crate::model::front::AuthFlavor;

pub use address::listen_address;
pub use cloud::{ClientSettings, CloudChoice, Domain, ServiceCredentials, StackUsers};
pub use effective::{Effective, KnownOption, OptionDefault, Source, effective, known_options};
pub use front::Front;
pub use layers::{ConfigError, Layers, Origin};
pub use limits::Limits;
pub use logging::{LogOptions, Syslog};
pub use manager::{notify_socket, watchdog};
pub use notifications::{NotificationDriver, Notifications};
pub use policy::PolicyOptions;
pub use sandbox::{SandboxDelays, sandbox_password};
pub use signers::SigningCloud;
pub use terminal::{colors_refused, is_dumb_terminal};
pub use type_defaults::TypeDefault;

/// Heat's port of the Orchestration API.
pub const API_PORT: u16 = 8004;
/// Heat's port of CloudFormation's API.
pub const CFN_PORT: u16 = 8000;

/// Where CloudWatch's API listens unless it is told otherwise.
pub const CLOUDWATCH_PORT: u16 = 8003;
/// Keystone's port, at which the sandbox stands.
pub const SANDBOX_PORT: u16 = 5000;

/// What keeps a listener from being opened.
const NOWHERE: &str = "none";

/// Heat's default for the directory with environments for everybody.
const ENVIRONMENT_DIR: &str = "/etc/heat/environment.d";

/// What was given on the command line, each over what a file or the environment says.
#[derive(Clone, Debug, Default)]
pub struct Flags {
    pub config_file: Option<PathBuf>,
    pub data: Option<PathBuf>,
    pub master_key: Option<PathBuf>,
    pub signing_key: Option<PathBuf>,
    pub listen: Option<SocketAddr>,
    pub cfn_listen: Option<String>,
    pub cloudwatch_listen: Option<String>,
    pub sandbox_listen: Option<SocketAddr>,
    pub sandbox: Option<Url>,
    pub cloud: Option<String>,
    /// Only what is said counts: the flag has no other side.
    pub read_only: bool,
    /// A directory with more files, over the one that is named.
    pub config_dir: Option<PathBuf>,
    /// As `debug`, `log_file` and `log_dir` of `[DEFAULT]`.
    pub debug: bool,
    pub log_file: Option<PathBuf>,
    pub log_dir: Option<PathBuf>,
}

/// All settings of a process.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where the log, the views, the keys and the sandbox's state are kept.
    pub data: PathBuf,
    /// The file with the master key, where it does not lie in the data directory.
    pub master_key_file: Option<PathBuf>,
    /// `price_file` of `[hearth]`: what templates are estimated by.
    pub price_file: Option<PathBuf>,
    /// The file with the key that signs the log, where it does not lie in the data directory.
    pub signing_key_file: Option<PathBuf>,
    /// Where the Orchestration API listens.
    pub listen: SocketAddr,
    /// Where CloudFormation's API listens; `None`: it is not served.
    pub cfn_listen: Option<SocketAddr>,
    /// Where CloudWatch's API listens; `None`: it is not served.
    pub cloudwatch_listen: Option<SocketAddr>,
    /// Where metrics are shown; `None`: nowhere.
    pub metrics_listen: Option<SocketAddr>,
    /// OpenTelemetry's collector, which spans are sent to; `None`: nowhere.
    pub otlp_endpoint: Option<Url>,
    /// `heat_waitcondition_server_url`: where agents and alarms signal, if not where the catalog
    /// has CloudFormation's API.
    pub wait_condition_url: Option<Url>,
    /// `heat_metadata_server_url`: the same for agents that ask for metadata.
    pub metadata_url: Option<Url>,
    /// `heat_watch_server_url`: where agents put metric data; `None`: they are not told.
    pub watch_url: Option<Url>,
    /// `instance_connection_is_secure`: what agents are told of TLS, as it is.
    pub agents_are_secure: String,
    /// `instance_connection_https_validate_certificates`: the same of certificates.
    pub agents_validate: String,
    /// Where the embedded sandbox listens.
    pub sandbox_listen: SocketAddr,
    pub sandbox_delays: SandboxDelays,
    /// Whether the sandbox's servers run what they are told.
    pub sandbox_guests: bool,
    /// The types of services that the sandbox does not have.
    pub sandbox_without: Vec<String>,
    /// `password` of `[sandbox]`: of every user of the sandbox, where one was chosen.
    pub sandbox_password: Option<Secret<String>>,
    pub cloud: CloudChoice,
    /// The service user and its Keystone, where the cloud is a real one.
    pub service: Option<ServiceCredentials>,
    pub clients: ClientSettings,
    /// The clouds whose users sign requests, where there are several.
    pub signers: Option<Vec<SigningCloud>>,
    /// The Keystones of which a caller who comes with a password has to name one.
    pub entrances: Option<Vec<String>>,
    /// Where stacks have users of their own; the sandbox has a place for them.
    pub stack_users: Option<StackUsers>,
    pub limits: Limits,
    /// Who may do what.
    pub policy: PolicyOptions,
    /// What stands between the network and the API.
    pub front: Front,
    /// Directories with declared resource types of the operator's own.
    pub plugin_dirs: Vec<PathBuf>,
    /// Defaults of the types that come with Hearth which are other ones here.
    pub type_defaults: Vec<TypeDefault>,
    /// The template behind load balancers in Amazon's words, where it is not Hearth's own.
    pub loadbalancer_template: Option<PathBuf>,
    /// The directory with environments for everybody.
    pub environment_dir: PathBuf,
    /// What `GET /build_info` gives as the engine's revision.
    pub build_revision: String,
    /// The name of this host in `GET /services`.
    pub host: String,
    /// Stacks with one of these tags are left out of lists.
    pub hidden_stack_tags: Vec<String>,
    /// `None` where nobody is notified.
    pub notifications: Option<Notifications>,
    /// Where the log of events is kept; a file in the data directory where nothing is said.
    pub log_place: Option<Secret<String>>,
    /// Whether another process writes the log, and this one only reads it.
    pub read_only: bool,
    /// What is logged, as `RUST_LOG` writes it; each subcommand has a default of its own.
    pub log_filter: Option<String>,
    /// How a server's log looks and where it goes.
    pub log: LogOptions,
    /// Options that were given and have no effect, for one line in the log.
    pub unused: Unused,
}

/// Options that were given and that Hearth does not read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unused {
    /// Heat reads them; Hearth has no need of them or does not honor them yet.
    pub known_to_heat: Vec<String>,
    /// Nobody reads them: likely a slip of the pen.
    pub unknown: Vec<String>,
}

impl Settings {
    /// Reads the file that the flags or the environment name, the environment, and the flags.
    pub fn load(
        flags: &Flags,
        environment: impl Iterator<Item = (String, String)>,
    ) -> Result<Settings, ConfigError> {
        Settings::from_layers(&Settings::layers(flags, environment)?)
    }

    fn layers(
        flags: &Flags,
        environment: impl Iterator<Item = (String, String)>,
    ) -> Result<Layers, ConfigError> {
        let environment: Vec<_> = environment.collect();
        let named = environment.iter().find(|(name, _)| name == "HEARTH_CONFIG_FILE");
        let mut layers = Layers::default();
        if let Some(path) = flags.config_file.clone().or_else(|| named.map(|(_, path)| path.into()))
        {
            layers.add_file(path)?;
        }
        if let Some(directory) = &flags.config_dir {
            layers.add_directory(directory)?;
        }
        layers.add_environment(environment.into_iter());
        let as_flags = [
            ("data", flags.data.as_ref().map(|path| path.display().to_string())),
            ("master_key_file", flags.master_key.as_ref().map(|path| path.display().to_string())),
            ("signing_key_file", flags.signing_key.as_ref().map(|path| path.display().to_string())),
            ("listen", flags.listen.map(|address| address.to_string())),
            ("cfn_listen", flags.cfn_listen.clone()),
            ("cloudwatch_listen", flags.cloudwatch_listen.clone()),
            ("sandbox_listen", flags.sandbox_listen.map(|address| address.to_string())),
            ("sandbox", flags.sandbox.as_ref().map(Url::to_string)),
            ("cloud", flags.cloud.clone()),
            ("read_only", flags.read_only.then(|| "true".to_owned())),
        ];
        for (name, value) in as_flags {
            if let Some(value) = value {
                layers.add_flag("hearth", name, value);
            }
        }
        let of_log = [
            ("debug", flags.debug.then(|| "true".to_owned())),
            ("log_file", flags.log_file.as_ref().map(|path| path.display().to_string())),
            ("log_dir", flags.log_dir.as_ref().map(|path| path.display().to_string())),
        ];
        for (name, value) in of_log {
            if let Some(value) = value {
                layers.add_flag("DEFAULT", name, value);
            }
        }
        Ok(layers)
    }

    fn from_layers(layers: &Layers) -> Result<Settings, ConfigError> {
        let cloud = CloudChoice::from_layers(layers)?;
        layers.text("hearth", "config_file");
        let host = layers.text("DEFAULT", "host").unwrap_or_else(|| "localhost".to_owned());
        let notifications = Notifications::from_layers(layers, &host)?;
        let listen = api_address(layers)?;
        let mut settings = Settings {
            data: layers.text("hearth", "data").unwrap_or_else(|| "hearth-data".to_owned()).into(),
            master_key_file: layers.text("hearth", "master_key_file").map(PathBuf::from),
            price_file: layers.text("hearth", "price_file").map(PathBuf::from),
            signing_key_file: layers.text("hearth", "signing_key_file").map(PathBuf::from),
            listen,
            cfn_listen: beside(layers, listen, &CFN)?,
            cloudwatch_listen: beside(layers, listen, &CLOUDWATCH)?,
            metrics_listen: listening(layers, "metrics_listen")?,
            otlp_endpoint: web_url(layers, "hearth", "otlp_endpoint")?,
            wait_condition_url: web_url(layers, "DEFAULT", "heat_waitcondition_server_url")?,
            metadata_url: web_url(layers, "DEFAULT", "heat_metadata_server_url")?,
            watch_url: web_url(layers, "DEFAULT", "heat_watch_server_url")?,
            agents_are_secure: layers
                .text("DEFAULT", "instance_connection_is_secure")
                .unwrap_or_else(|| "0".to_owned()),
            agents_validate: layers
                .text("DEFAULT", "instance_connection_https_validate_certificates")
                .unwrap_or_else(|| "1".to_owned()),
            sandbox_listen: listening(layers, "sandbox_listen")?
                .unwrap_or(SocketAddr::new(Ipv4Addr::LOCALHOST.into(), SANDBOX_PORT)),
            sandbox_delays: SandboxDelays::from_layers(layers)?,
            sandbox_guests: sandbox::has_guests(layers)?,
            sandbox_without: sandbox::without(layers),
            sandbox_password: sandbox::password(layers),
            service: ServiceCredentials::from_layers(layers, &cloud)?,
            limits: Limits::from_layers(layers, &cloud)?,
            policy: PolicyOptions::from_layers(layers)?,
            cloud,
            clients: ClientSettings::from_layers(layers)?,
            signers: signers::from_layers(layers)?,
            entrances: signers::entrances(layers)?,
            front: Front::from_layers(layers)?,
            stack_users: StackUsers::of_group(layers, "DEFAULT")?,
            plugin_dirs: layers
                .list("DEFAULT", "plugin_dirs")
                .unwrap_or_default()
                .into_iter()
                .map(PathBuf::from)
                .collect(),
            type_defaults: type_defaults(layers)?,
            loadbalancer_template: layers
                .text("DEFAULT", "loadbalancer_template")
                .map(PathBuf::from),
            environment_dir: layers
                .text("DEFAULT", "environment_dir")
                .unwrap_or_else(|| ENVIRONMENT_DIR.to_owned())
                .into(),
            build_revision: layers
                .text("revision", "heat_revision")
                .unwrap_or_else(|| "unknown".to_owned()),
            host,
            notifications,
            hidden_stack_tags: layers.list("DEFAULT", "hidden_stack_tags").unwrap_or_default(),
            log_place: log_place::from_layers(layers)?,
            read_only: layers.flag("hearth", "read_only")?.unwrap_or(false),
            log_filter: layers.text("hearth", "log_filter"),
            log: LogOptions::from_layers(layers)?,
            unused: Unused::default(),
        };
        if settings.front.auth == AuthFlavor::Nothing && !settings.is_all_here() {
            return Err(ConfigError::Open);
        }
        if settings.sandbox_guests && !settings.is_all_here() {
            return Err(ConfigError::ExposedGuests);
        }
        for key in layers.unread() {
            layers.refuse_missed_hardening(&key)?;
            let shown = format!("[{}] {}", key.0, key.1);
            match heat_options::is_known_to_heat(&key) {
                true => settings.unused.known_to_heat.push(shown),
                false => settings.unused.unknown.push(shown),
            }
        }
        Ok(settings)
    }
}

impl Settings {
    /// Whether this machine alone is reached: for whom is asked for nothing, and may do
    /// everything, and for templates whose scripts run here.
    fn is_all_here(&self) -> bool {
        let listens = [Some(self.listen), self.cfn_listen, self.cloudwatch_listen];
        let is_here = listens.iter().flatten().all(|address| address.ip().is_loopback());
        is_here && matches!(self.cloud, CloudChoice::Sandbox)
    }
}

/// `[hearth] listen`, or Heat's two halves of it.
fn api_address(layers: &Layers) -> Result<SocketAddr, ConfigError> {
    let host: Option<IpAddr> = layers.parsed("heat_api", "bind_host", "an IP address")?;
    let port: Option<u16> = layers.parsed("heat_api", "bind_port", "a port")?;
    Ok(listening(layers, "listen")?.unwrap_or(SocketAddr::new(
        host.unwrap_or(Ipv4Addr::LOCALHOST.into()),
        port.unwrap_or(API_PORT),
    )))
}

/// One of Amazon's APIs: our option, Heat's group, and Heat's port.
struct AmazonApi {
    option: &'static str,
    group: &'static str,
    port: u16,
}

const CFN: AmazonApi = AmazonApi { option: "cfn_listen", group: "heat_api_cfn", port: CFN_PORT };
const CLOUDWATCH: AmazonApi =
    AmazonApi { option: "cloudwatch_listen", group: "heat_api_cloudwatch", port: CLOUDWATCH_PORT };

/// Where one listens: as our option says, or Heat's two halves of it, or at Heat's port beside the
/// Orchestration API; with that on any free port, this is, too.
fn beside(
    layers: &Layers,
    other: SocketAddr,
    api: &AmazonApi,
) -> Result<Option<SocketAddr>, ConfigError> {
    let host: Option<IpAddr> = layers.parsed(api.group, "bind_host", "an IP address")?;
    let port: Option<u16> = layers.parsed(api.group, "bind_port", "a port")?;
    if layers.text("hearth", api.option).as_deref() == Some(NOWHERE) {
        return Ok(None);
    }
    let usual = if other.port() == 0 { 0 } else { api.port };
    let usual = SocketAddr::new(host.unwrap_or(other.ip()), port.unwrap_or(usual));
    Ok(Some(listening(layers, api.option)?.unwrap_or(usual)))
}

/// An option of Heat's that is an address of `http` or `https`.
fn web_url(layers: &Layers, group: &str, name: &str) -> Result<Option<Url>, ConfigError> {
    let given: Option<WebUrl> = layers.parsed(group, name, "a URL of http or https")?;
    Ok(given.map(|WebUrl(url)| url))
}

struct WebUrl(Url);

impl std::str::FromStr for WebUrl {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let url = Url::parse(text).map_err(|_| ())?;
        if matches!(url.scheme(), "http" | "https") { Ok(Self(url)) } else { Err(()) }
    }
}

/// An option of `[hearth]` that says where something listens.
fn listening(layers: &Layers, name: &str) -> Result<Option<SocketAddr>, ConfigError> {
    let given: Option<ListenAddress> = layers.parsed("hearth", name, "an address and a port")?;
    Ok(given.map(|ListenAddress(address)| address))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(file: &str, environment: &[(&str, &str)], flags: Flags) -> Settings {
        let path = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(path.path(), file).unwrap();
        let flags = Flags { config_file: Some(path.path().into()), ..flags };
        let environment =
            environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Settings::load(&flags, environment).unwrap()
    }

    #[test]
    fn without_anything_given_hearth_listens_on_loopback_with_the_embedded_sandbox() {
        let settings = Settings::load(&Flags::default(), std::iter::empty()).unwrap();
        assert_eq!(settings.listen.to_string(), "127.0.0.1:8004");
        assert_eq!(settings.sandbox_listen.to_string(), "127.0.0.1:5000");
        assert_eq!(settings.cloud, CloudChoice::Sandbox);
        assert_eq!(settings.data, PathBuf::from("hearth-data"));
        assert_eq!(settings.unused, Unused::default());
    }

    #[test]
    fn the_environment_is_over_the_file_and_flags_are_over_both() {
        let file = "[hearth]\nlisten = 127.0.0.1:1\ndata = /file\nlog_filter = debug\n";
        let environment = [("HEARTH_LISTEN", "127.0.0.1:2"), ("HEARTH_DATA", "/environment")];
        let flags = Flags { listen: Some(([127, 0, 0, 1], 3).into()), ..Flags::default() };
        let settings = load(file, &environment, flags);
        assert_eq!(settings.listen.port(), 3);
        assert_eq!(settings.data, PathBuf::from("/environment"));
        assert_eq!(settings.log_filter.as_deref(), Some("debug"));
    }

    #[test]
    fn heat_options_set_what_they_set_in_heat() {
        let file = "[DEFAULT]\nmax_resources_per_stack = -1\nstack_action_timeout = 60\n\
                    [heat_api]\nbind_host = 0.0.0.0\nbind_port = 18504\n";
        let settings = load(file, &[], Flags::default());
        assert_eq!(settings.listen.to_string(), "0.0.0.0:18504");
        assert_eq!(settings.cfn_listen.unwrap().to_string(), "0.0.0.0:8000");
        assert_eq!(settings.limits.resources_per_stack, None);
        assert_eq!(settings.limits.action_timeout.as_secs(), 60);
    }

    #[test]
    fn a_backend_of_the_operators_needs_a_url() {
        let load = |url: &str| {
            let file = format!(
                "[paste_deploy]\nflavor = custombackend\n[hearth]\nauth_backend_url = {url}\n"
            );
            let path = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(path.path(), file).unwrap();
            let flags = Flags { config_file: Some(path.path().into()), ..Flags::default() };
            Settings::load(&flags, std::iter::empty()).map(|settings| settings.front.auth)
        };
        let url = "https://door.example/who";
        assert_eq!(load(url).unwrap(), AuthFlavor::Backend { url: url.to_owned() });
        for wrong in ["", "door.example", "file:///etc/passwd"] {
            assert!(matches!(load(wrong), Err(ConfigError::Missing { .. })), "{wrong}");
        }
    }

    #[test]
    fn nobody_needs_to_say_who_he_is_on_a_sandbox_of_this_machine_alone() {
        let load = |file: &str| {
            let path = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(path.path(), format!("{file}[paste_deploy]\nflavor = noauth\n"))
                .unwrap();
            let flags = Flags { config_file: Some(path.path().into()), ..Flags::default() };
            Settings::load(&flags, std::iter::empty()).map(|settings| settings.front.auth)
        };
        assert_eq!(load("").unwrap(), AuthFlavor::Nothing);
        for file in [
            "[hearth]\nlisten = 0.0.0.0:8004\n",
            "[hearth]\ncfn_listen = 0.0.0.0:8000\n",
            "[hearth]\ncloud = openstack\n[keystone_authtoken]\nauth_url = http://k/v3\n\
             username = heat\npassword = x\n",
        ] {
            assert!(matches!(load(file), Err(ConfigError::Open)), "{file}");
        }
    }

    #[test]
    fn scripts_of_templates_run_where_this_machine_alone_sends_them() {
        let load = |file: &str| {
            let path = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(path.path(), format!("{file}[sandbox]\nguests = process\n")).unwrap();
            let flags = Flags { config_file: Some(path.path().into()), ..Flags::default() };
            Settings::load(&flags, std::iter::empty()).map(|settings| settings.sandbox_guests)
        };
        assert!(load("").unwrap());
        for file in ["[hearth]\nlisten = 0.0.0.0:8004\n", "[hearth]\ncfn_listen = [::]:8000\n"] {
            assert!(matches!(load(file), Err(ConfigError::ExposedGuests)), "{file}");
        }
    }

    #[test]
    fn cloudformations_api_listens_beside_the_other_one_or_where_it_is_told_or_nowhere() {
        let listen = |file: &str, api: u16| {
            let flags = Flags { listen: Some(([127, 0, 0, 1], api).into()), ..Flags::default() };
            load(file, &[], flags).cfn_listen.map(|address| address.to_string())
        };
        assert_eq!(listen("", 8004).as_deref(), Some("127.0.0.1:8000"));
        assert_eq!(listen("", 0).as_deref(), Some("127.0.0.1:0"));
        let heats = "[heat_api_cfn]\nbind_host = 0.0.0.0\nbind_port = 18000\n";
        assert_eq!(listen(heats, 0).as_deref(), Some("0.0.0.0:18000"));
        let own = format!("{heats}[hearth]\ncfn_listen = [::1]:1\n");
        assert_eq!(listen(&own, 0).as_deref(), Some("[::1]:1"));
        assert_eq!(listen("[hearth]\ncfn_listen = none\n", 0), None);
    }

    #[test]
    fn options_without_effect_are_named_and_not_fatal() {
        let file = "[DEFAULT]\nnum_engine_workers = 4\nmax_resource_per_stack = 1\n\
                    [oslo_messaging_rabbit]\nrabbit_retry_interval = 1\n";
        let settings = load(file, &[], Flags::default());
        assert_eq!(
            settings.unused.known_to_heat,
            ["[DEFAULT] num_engine_workers", "[oslo_messaging_rabbit] rabbit_retry_interval"]
        );
        assert_eq!(settings.unused.unknown, ["[DEFAULT] max_resource_per_stack"]);
    }

    #[test]
    fn a_value_of_the_wrong_kind_is_refused_with_its_name_and_origin() {
        let environment = [("HEARTH_DEFAULT__MAX_TEMPLATE_SIZE".to_owned(), "big".to_owned())];
        let error = Settings::load(&Flags::default(), environment.into_iter()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "[DEFAULT] max_template_size (from the environment) must be a whole number, \
             not \"big\""
        );
    }

    #[test]
    fn a_real_cloud_needs_the_service_credentials_of_a_heat_conf() {
        let flags = || Flags { cloud: Some("openstack".into()), ..Flags::default() };
        let error = Settings::load(&flags(), std::iter::empty()).unwrap_err();
        assert!(error.to_string().starts_with("[keystone_authtoken] auth_url must be set"));
        let file = "[keystone_authtoken]\nauth_url = http://127.0.0.1:5000\nusername = heat\n\
                    password = \"secret\"\nproject_name = service\n\
                    project_domain_name = Default\n[trustee]\nuser_domain_name = Default\n";
        let settings = load(file, &[], flags());
        let service = settings.service.unwrap();
        assert_eq!(service.auth_url.as_str(), "http://127.0.0.1:5000/");
        assert_eq!(service.password.reveal(), "secret");
        assert_eq!(service.user_domain, Some(Domain::Name("Default".into())));
    }
}
