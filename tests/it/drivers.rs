//! Drivers over the sandbox, beat by beat: what walks stand on, and what is about two objects of
//! one type.

#[path = "../live/runner.rs"]
pub(crate) mod runner;

use std::sync::Arc;
use std::time::Duration;

use hearth::clock::SystemClock;
use hearth::model::Secret;
use hearth::openstack::{Cloud, CloudSettings, Credentials, Session};
use hearth::sandbox::{RunningSandbox, Sandbox, SandboxConfig};
use serde_json::Value;

pub(crate) use runner::Replies;
use runner::Runner;

/// A sandbox and a session of its user.
pub(crate) struct Ground {
    sandbox: RunningSandbox,
    pub(crate) session: Session,
}

impl Ground {
    pub(crate) async fn of(user: &str) -> Ground {
        Self::with(SandboxConfig::instant(), user).await
    }

    pub(crate) async fn with(config: SandboxConfig, user: &str) -> Ground {
        let sandbox = Sandbox::start(config).unwrap();
        let password = Secret::new("secret".to_owned());
        let settings = CloudSettings::new(&sandbox.auth_url, user, password.clone(), user);
        let cloud = Cloud::new(settings.clone(), Arc::new(SystemClock)).unwrap();
        let session = cloud.session(Credentials::Password {
            username: user.to_owned(),
            password,
            user_domain: settings.user_domain,
            project_name: user.to_owned(),
            project_domain: settings.project_domain,
        });
        // The first call makes what a project begins with.
        session
            .send(hearth::openstack::Request::get(
                hearth::openstack::Service::Network,
                "/v2.0/security-groups",
            ))
            .await
            .unwrap();
        Ground { sandbox, session }
    }

    pub(crate) async fn stop(self) {
        self.sandbox.stop().await;
    }

    pub(crate) fn runner(&self, replies: Replies) -> Runner {
        let mut runner = Runner::new(self.session.clone(), replies);
        runner.pace = Duration::from_millis(5);
        runner
    }

    /// How many objects of each kind there are.
    pub(crate) fn counts(&self) -> Value {
        let state = self.sandbox.state();
        let kinds = state.as_object().unwrap().iter();
        let resources = kinds.filter(|(kind, _)| !kind.contains("token"));
        resources.map(|(kind, all)| (kind.clone(), all["count"].clone())).collect()
    }
}
