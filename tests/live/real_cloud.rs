//! Finding the real cloud: by the clouds.yaml in its state directory, and by Keystone's answer.

use std::net::{TcpStream, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use hearth::clock::SystemClock;
use hearth::model::Secret;
use hearth::openstack::{Cloud, CloudSettings, Credentials, Domain, Session};
use serde_yaml::Value;

/// A cloud that answers, and the credentials that its clouds.yaml has for it.
pub(crate) struct RealCloud {
    clouds: Value,
    pub(crate) cloud: Cloud,
}

impl RealCloud {
    /// The cloud, or none, with the reason printed.
    pub(crate) fn find() -> Option<Self> {
        // RUST_LOG=hearth=debug shows each call.
        let filter = tracing_subscriber::EnvFilter::from_default_env();
        let _ = tracing_subscriber::fmt().with_env_filter(filter).with_test_writer().try_init();
        match Self::look() {
            Ok(found) => Some(found),
            Err(reason) => {
                eprintln!("skipped: {reason}");
                None
            }
        }
    }

    fn look() -> Result<Self, String> {
        let state = std::env::var_os("TESTCLOUD_DIR").unwrap_or("/var/lib/testcloud".into());
        let file = PathBuf::from(state).join("clouds.yaml");
        let text = std::fs::read_to_string(&file)
            .map_err(|error| format!("no cloud: {}: {error}", file.display()))?;
        let clouds: Value = serde_yaml::from_str(&text).map_err(|error| error.to_string())?;
        let settings = settings(&clouds, "testcloud-heat");
        let keystone = settings.auth_url.trim_start_matches("http://").split('/').next();
        let address = keystone
            .and_then(|host| host.to_socket_addrs().ok()?.next())
            .ok_or_else(|| format!("no cloud: {} has no address", settings.auth_url))?;
        TcpStream::connect_timeout(&address, Duration::from_secs(2))
            .map_err(|error| format!("no cloud: nothing answers at {address}: {error}"))?;
        let cloud = Cloud::new(settings, Arc::new(SystemClock)).map_err(|e| e.to_string())?;
        Ok(Self { clouds, cloud })
    }

    /// The credentials of an entry of clouds.yaml.
    pub(crate) fn credentials(&self, entry: &str) -> Credentials {
        let settings = settings(&self.clouds, entry);
        Credentials::Password {
            username: settings.username,
            password: settings.password,
            user_domain: settings.user_domain,
            project_name: settings.project_name,
            project_domain: settings.project_domain,
        }
    }

    /// A session of a common user.
    pub(crate) fn demo(&self) -> Session {
        self.cloud.session(self.credentials("testcloud-demo"))
    }

    /// What a user of the commands has in his environment.
    pub(crate) fn environment(&self, entry: &str) -> Vec<(&'static str, String)> {
        let settings = settings(&self.clouds, entry);
        vec![
            ("OS_AUTH_URL", settings.auth_url),
            ("OS_USERNAME", settings.username),
            ("OS_PASSWORD", settings.password.reveal().clone()),
            ("OS_PROJECT_NAME", settings.project_name),
            ("OS_USER_DOMAIN_NAME", "Default".to_owned()),
            ("OS_PROJECT_DOMAIN_NAME", "Default".to_owned()),
        ]
    }

    /// A settings file for the service user.
    pub(crate) fn config(&self) -> String {
        let settings = self.settings();
        format!(
            "[DEFAULT]\nregion_name_for_services = {}\naction_retry_limit = 0\n\
             [keystone_authtoken]\nauth_url = {}\nusername = {}\npassword = {}\n\
             project_name = {}\nuser_domain_name = Default\nproject_domain_name = Default\n",
            settings.region.unwrap_or_default(),
            settings.auth_url,
            settings.username,
            settings.password.reveal(),
            settings.project_name,
        )
    }

    /// The service user's settings, to be changed by a test.
    pub(crate) fn settings(&self) -> CloudSettings {
        settings(&self.clouds, "testcloud-heat")
    }
}

fn settings(clouds: &Value, entry: &str) -> CloudSettings {
    let cloud = &clouds["clouds"][entry];
    let text = |key: &str| cloud["auth"][key].as_str().unwrap_or_default().to_owned();
    let password = Secret::new(text("password"));
    let mut settings =
        CloudSettings::new(&text("auth_url"), &text("username"), password, &text("project_name"));
    settings.user_domain = Domain::Name(text("user_domain_name"));
    settings.project_domain = Domain::Name(text("project_domain_name"));
    settings.region = cloud["region_name"].as_str().map(str::to_owned);
    settings
}

/// Held by a test that counts what a project has: others that make something wait for it.
pub(crate) async fn alone() -> tokio::sync::MutexGuard<'static, ()> {
    static TURN: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());
    TURN.lock().await
}
