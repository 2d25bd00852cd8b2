//! The settings as they hold, each with where it comes from.

use std::fmt;

use url::Url;

use super::ini::{self, Given, Key};
use super::layers::{ConfigError, Layers, Origin};
use super::{Flags, Settings, log_place};

/// Every option that has an effect, with its default.
const OPTIONS: &str = include_str!("options.ini");

/// What stands for a secret.
const MASK: &str = "***";

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    Default,
    Given(Origin),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Default => f.write_str("default"),
            Source::Given(Origin::File { path, line }) => write!(f, "{}:{line}", path.display()),
            Source::Given(Origin::Environment) => f.write_str("environment"),
            Source::Given(Origin::Flag) => f.write_str("flag"),
        }
    }
}

/// An option as it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effective {
    pub group: String,
    pub name: String,
    /// Secrets are masked; `None` for an option that has no effect, whatever it says.
    pub value: Option<String>,
    pub source: Source,
}

/// An option that has an effect.
#[derive(Clone, Debug)]
pub struct KnownOption {
    pub group: String,
    pub name: String,
    pub default: OptionDefault,
}

/// What holds of an option that nobody gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OptionDefault {
    /// A value that could be given as it stands; empty where there is none.
    Value(String),
    /// What depends on something else, in words.
    Words(String),
    Secret,
}

/// Every option that has an effect, by group and name.
pub fn known_options() -> Vec<KnownOption> {
    let options = ini::parse(OPTIONS).unwrap_or_default();
    let known = options.into_iter().map(|((group, name), Given { value, .. })| {
        let words = value.strip_prefix('<').and_then(|rest| rest.strip_suffix('>'));
        let default = match (value.as_str(), words) {
            (MASK, _) => OptionDefault::Secret,
            (_, Some(words)) => OptionDefault::Words(words.to_owned()),
            (_, None) => OptionDefault::Value(value),
        };
        KnownOption { group, name, default }
    });
    known.collect()
}

/// Reads the settings as a server with these flags does, and shows all that there are: first those
/// that have an effect, then the others.
pub fn effective(
    flags: &Flags,
    environment: impl Iterator<Item = (String, String)>,
) -> Result<Vec<Effective>, ConfigError> {
    let layers = Settings::layers(flags, environment)?;
    let settings = Settings::from_layers(&layers)?;
    let idle = layers.unread();
    let is_idle = |option: &KnownOption| {
        idle.iter().any(|(group, name)| (group, name) == (&option.group, &option.name))
    };
    let mut shown: Vec<Effective> = known_options()
        .into_iter()
        .filter(|option| !is_idle(option))
        .map(|option| hold(option, &layers, &settings))
        .collect();
    for key in idle {
        let Some((origin, _)) = layers.given(&key) else { continue };
        let source = Source::Given(origin.clone());
        shown.push(Effective { group: key.0, name: key.1, value: None, source });
    }
    Ok(shown)
}

fn hold(option: KnownOption, layers: &Layers, settings: &Settings) -> Effective {
    let KnownOption { group, name, default } = option;
    let key: Key = (group, name);
    let (value, source) = match layers.given(&key) {
        Some((origin, _)) if default == OptionDefault::Secret => {
            (MASK.to_owned(), Source::Given(origin.clone()))
        }
        Some((origin, value)) => (readable(value), Source::Given(origin.clone())),
        None => {
            let value = match (default, depending(&key, settings)) {
                (OptionDefault::Secret, _) => String::new(),
                (_, Some(value)) => value,
                (OptionDefault::Value(value) | OptionDefault::Words(value), None) => value,
            };
            (value, Source::Default)
        }
    };
    Effective { group: key.0, name: key.1, value: Some(value), source }
}

/// What an option that was not given comes to by way of others.
fn depending((group, name): &Key, settings: &Settings) -> Option<String> {
    match (group.as_str(), name.as_str()) {
        ("hearth", "listen") => Some(settings.listen.to_string()),
        ("hearth", "cfn_listen") => settings.cfn_listen.map(|address| address.to_string()),
        ("hearth", "cloudwatch_listen") => {
            settings.cloudwatch_listen.map(|address| address.to_string())
        }
        ("hearth", "lost_call_rest") => Some(settings.limits.lost_call_rest.as_secs().to_string()),
        ("DEFAULT", "default_publisher_id") => Some(format!("orchestration.{}", settings.host)),
        _ => None,
    }
}

/// A value on one line; a password within a URL is masked.
fn readable(value: &str) -> String {
    let line = value.lines().map(str::trim).collect::<Vec<_>>().join(", ");
    match Url::parse(&line) {
        Ok(mut url) if url.password().is_some() => {
            let masked = url.set_password(Some(MASK));
            masked.map_or_else(|()| MASK.to_owned(), |()| url.to_string())
        }
        _ => masked(&line),
    }
}

/// An address of several hosts is no URL that a library reads.
fn masked(line: &str) -> String {
    match log_place::login(line).and_then(|login| login.split_once(':')) {
        Some((_, password)) => line.replacen(&format!(":{password}@"), &format!(":{MASK}@"), 1),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::PathBuf;

    use super::*;

    /// What a real cloud needs beside the defaults.
    const CREDENTIALS: &str = "[hearth]\ncloud = openstack\n[keystone_authtoken]\nauth_url = \
                               http://u:s3cret@keystone/v3\nusername = heat\npassword = s3cret\n";
    /// The same, and what a message bus needs.
    const WITH_BUS: &str = "[hearth]\ncloud = openstack\n[keystone_authtoken]\nauth_url = \
                            http://u:s3cret@keystone/v3\nusername = heat\npassword = s3cret\n\
                            [oslo_messaging_notifications]\ndriver = messagingv2\n\
                            transport_url = rabbit://u:s3cret@a,u:s3cret@b/\n\
                            [oslo_messaging_rabbit]\nssl = true\nssl_ca_file = /ca.pem\n";

    fn layers(text: &str) -> Layers {
        let path = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(path.path(), text).unwrap();
        let mut layers = Layers::default();
        layers.add_file(path.path().into()).unwrap();
        layers
    }

    #[test]
    fn the_options_with_an_effect_are_those_that_are_read() {
        let layers = layers(WITH_BUS);
        Settings::from_layers(&layers).unwrap();
        let known: BTreeSet<Key> =
            known_options().into_iter().map(|option| (option.group, option.name)).collect();
        let read = layers.asked();
        let missing: Vec<_> = read.difference(&known).collect();
        let idle: Vec<_> = known.difference(&read).collect();
        assert!(missing.is_empty(), "read and not in options.ini: {missing:?}");
        assert!(idle.is_empty(), "in options.ini and not read: {idle:?}");
    }

    #[test]
    fn a_default_that_is_given_changes_nothing() {
        for base in ["[hearth]\n", WITH_BUS] {
            let without = format!("{:?}", Settings::from_layers(&layers(base)).unwrap());
            for KnownOption { group, name, default } in known_options() {
                let OptionDefault::Value(value) = default else { continue };
                let is_in_base = base.contains(&format!("\n{name} = "));
                let needs_more = ["keystone_authtoken", "oslo_messaging_rabbit"];
                let is_idle = needs_more.contains(&group.as_str()) && base != WITH_BUS;
                if value.is_empty() || is_in_base || is_idle {
                    continue;
                }
                let text = format!("{base}[{group}]\n{name} = {value}\n");
                let with = format!("{:?}", Settings::from_layers(&layers(&text)).unwrap());
                assert_eq!(with, without, "[{group}] {name}");
            }
        }
    }

    #[test]
    fn each_option_says_where_it_comes_from_and_no_secret_is_shown() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("heat.conf");
        let text = format!("{CREDENTIALS}[DEFAULT]\nnum_engine_workers = 4\n");
        std::fs::write(&path, text).unwrap();
        let flags = Flags {
            config_file: Some(path.clone()),
            data: Some(PathBuf::from("/flag")),
            ..Flags::default()
        };
        let environment = [("HEARTH_DEFAULT__MAX_TEMPLATE_SIZE".to_owned(), "7".to_owned())];
        let shown = effective(&flags, environment.into_iter()).unwrap();
        let of = |group: &str, name: &str| {
            let found = shown.iter().find(|it| it.group == group && it.name == name).unwrap();
            format!("{} {}", found.value.as_deref().unwrap_or("-"), found.source)
        };
        let file = path.display();
        assert_eq!(of("DEFAULT", "max_template_size"), "7 environment");
        assert_eq!(of("DEFAULT", "max_stacks_per_tenant"), "512 default");
        assert_eq!(of("hearth", "data"), "/flag flag");
        assert_eq!(of("hearth", "lost_call_rest"), "10 default");
        assert_eq!(of("keystone_authtoken", "password"), format!("*** {file}:6"));
        assert_eq!(
            of("keystone_authtoken", "auth_url"),
            format!("http://u:***@keystone/v3 {file}:4")
        );
        assert_eq!(of("DEFAULT", "num_engine_workers"), format!("- {file}:8"));
        assert!(!format!("{shown:?}").contains("s3cret"));
    }
}
