//! What an operator may bound, under Heat's names and with Heat's defaults.

use std::str::FromStr;
use std::time::Duration;

use super::{CloudChoice, ConfigError, Layers};
use crate::model::{AllowedTarget, DeferredAuth, DriftEvery};

/// Bounds on what is asked for and on how long it takes. `None` is no bound.
#[derive(Clone, Debug)]
pub struct Limits {
    /// `max_json_body_size`, in bytes.
    pub json_body_size: usize,
    /// `max_template_size`, in bytes.
    pub template_size: usize,
    /// `template_fetch_timeout`.
    pub template_fetch: Duration,
    /// `max_resources_per_stack`.
    pub resources_per_stack: Option<usize>,
    /// `max_nested_stack_depth`.
    pub nested_depth: u32,
    /// `max_stacks_per_tenant`.
    pub stacks_per_project: Option<usize>,
    /// `max_software_configs_per_tenant`.
    pub configs_per_project: Option<usize>,
    /// `max_software_deployments_per_tenant`.
    pub deployments_per_project: Option<usize>,
    /// `max_snapshots_per_stack`.
    pub snapshots_per_stack: Option<usize>,
    /// `enable_stack_abandon`: whether stacks may be exported and abandoned.
    pub stack_abandon: bool,
    /// `enable_stack_adopt`.
    pub stack_adopt: bool,
    /// `stack_action_timeout`: of an action that names none itself.
    pub action_timeout: Duration,
    /// `action_retry_limit`: how often a failed resource is created again.
    pub action_retries: u32,
    /// `observe_on_update`: whether every update compares with what there is in the cloud.
    pub observe_on_update: bool,
    /// `drift_every` of `[hearth]`: how often stacks are compared with what there is in the cloud
    /// whose tags say nothing of it.
    pub drift_every: DriftEvery,
    /// `lost_call_rest` of `[hearth]`: how long after a call whose answer was lost its object may
    /// still appear.
    pub lost_call_rest: Duration,
    /// `max_signal_size` of `[hearth]`, in bytes.
    pub signal_size: usize,
    /// `max_log_bytes_per_project_per_day` of `[hearth]`.
    pub log_bytes_per_day: Option<usize>,
    /// `fetch_allow` of `[hearth]`: where templates and other clouds may be beside the internet.
    pub fetch_allow: Vec<AllowedTarget>,
    /// `limit_iterators` and `memory_quota` of `[yaql]`.
    pub yaql_iterators: Option<usize>,
    pub yaql_memory: Option<usize>,
    /// `deferred_auth_method`: by what work goes on when the request's token is gone.
    pub deferred_auth: DeferredAuth,
    /// `trusts_delegated_roles`: the only roles that trusts delegate; empty is all of a token's.
    pub delegated_roles: Vec<String>,
    /// `client_retry_limit`: how often a call that may be repeated is made again, where it is said.
    pub client_retries: Option<u32>,
}

impl Limits {
    pub(super) fn from_layers(layers: &Layers, cloud: &CloudChoice) -> Result<Limits, ConfigError> {
        let number = |name: &str, default: u32| {
            layers
                .parsed("DEFAULT", name, "a whole number")
                .map(|given: Option<u32>| given.unwrap_or(default))
        };
        let seconds = |name: &str, default: f64| {
            let given: Option<f64> = layers.parsed("DEFAULT", name, "a number of seconds")?;
            // What is no duration, such as one below zero, is none.
            Ok(Duration::try_from_secs_f64(given.unwrap_or(default)).unwrap_or_default())
        };
        let flag = |name: &str| layers.flag("DEFAULT", name).map(|given| given == Some(true));
        let per_project = |name: &str| layers.limit("DEFAULT", name, 4096);
        let rest: Option<u32> = layers.parsed("hearth", "lost_call_rest", "a whole number")?;
        layers.parsed::<Reauthentication>(
            "DEFAULT",
            "reauthentication_auth_method",
            "empty or \"trusts\"",
        )?;
        // The sandbox answers at once; a real API takes seconds under load.
        let default_rest = if *cloud == CloudChoice::OpenStack { 10 } else { 1 };
        Ok(Limits {
            lost_call_rest: Duration::from_secs(rest.unwrap_or(default_rest).into()),
            json_body_size: number("max_json_body_size", 1_048_576)? as usize,
            template_size: number("max_template_size", 524_288)? as usize,
            template_fetch: seconds("template_fetch_timeout", 60.0)?,
            resources_per_stack: layers.limit("DEFAULT", "max_resources_per_stack", 1000)?,
            nested_depth: number("max_nested_stack_depth", 5)?,
            stacks_per_project: layers.limit("DEFAULT", "max_stacks_per_tenant", 512)?,
            configs_per_project: per_project("max_software_configs_per_tenant")?,
            deployments_per_project: per_project("max_software_deployments_per_tenant")?,
            snapshots_per_stack: layers.limit("DEFAULT", "max_snapshots_per_stack", 32)?,
            stack_abandon: flag("enable_stack_abandon")?,
            stack_adopt: flag("enable_stack_adopt")?,
            action_timeout: Duration::from_secs(number("stack_action_timeout", 3600)?.into()),
            yaql_iterators: layers.limit("yaql", "limit_iterators", 200)?,
            yaql_memory: layers.limit("yaql", "memory_quota", 10_000)?,
            observe_on_update: flag("observe_on_update")?,
            drift_every: layers
                .parsed("hearth", "drift_every", "never, or a time from 5m to 366d, such as 6h")?
                .unwrap_or(DriftEvery::Never),
            action_retries: number("action_retry_limit", 5)?,
            signal_size: layers
                .parsed("hearth", "max_signal_size", "a whole number")?
                .unwrap_or(262_144),
            log_bytes_per_day: layers.limit(
                "hearth",
                "max_log_bytes_per_project_per_day",
                1024 * 1024 * 1024,
            )?,
            fetch_allow: layers.parsed_list(
                "hearth",
                "fetch_allow",
                "networks and hosts, such as 10.0.0.0/8 and templates.example.org:8080",
            )?,
            deferred_auth: deferred_auth(layers)?,
            delegated_roles: layers.list("DEFAULT", "trusts_delegated_roles").unwrap_or_default(),
            client_retries: layers.parsed("DEFAULT", "client_retry_limit", "a whole number")?,
        })
    }
}

/// `deferred_auth_method`, by Heat's names.
fn deferred_auth(layers: &Layers) -> Result<DeferredAuth, ConfigError> {
    struct Named(DeferredAuth);

    impl FromStr for Named {
        type Err = ();

        fn from_str(text: &str) -> Result<Self, ()> {
            match text {
                "trusts" => Ok(Self(DeferredAuth::Trusts)),
                "password" => Ok(Self(DeferredAuth::Password)),
                _ => Err(()),
            }
        }
    }

    let given = layers.parsed("DEFAULT", "deferred_auth_method", "trusts or password")?;
    Ok(given.map_or_else(DeferredAuth::default, |Named(method)| method))
}

/// `reauthentication_auth_method`: how work goes on when a token expires. It always does so as
/// `deferred_auth_method` says, whichever of Heat's two values is given.
struct Reauthentication;

impl FromStr for Reauthentication {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        if text.is_empty() || text == "trusts" { Ok(Self) } else { Err(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ways_to_delegate_are_heats() {
        let given = |name: &str, value: &str| {
            let mut layers = Layers::default();
            let variable = format!("HEARTH_DEFAULT__{name}");
            layers.add_environment([(variable, value.to_owned())].into_iter());
            Limits::from_layers(&layers, &CloudChoice::Sandbox)
        };
        let delegated = given("TRUSTS_DELEGATED_ROLES", "member, creator").unwrap().delegated_roles;
        assert_eq!(delegated, ["member", "creator"]);
        let method = |value| given("DEFERRED_AUTH_METHOD", value).map(|it| it.deferred_auth);
        assert_eq!(method("trusts").unwrap(), DeferredAuth::Trusts);
        assert_eq!(method("password").unwrap(), DeferredAuth::Password);
        assert!(method("token").is_err());
        assert!(given("REAUTHENTICATION_AUTH_METHOD", "trusts").is_ok());
        assert!(given("REAUTHENTICATION_AUTH_METHOD", "").is_ok());
        let refused = given("REAUTHENTICATION_AUTH_METHOD", "password").unwrap_err().to_string();
        assert!(refused.ends_with("must be empty or \"trusts\", not \"password\""), "{refused}");
    }
}
