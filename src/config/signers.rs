//! The clouds whose users are let in, where there are several: those that are asked whose a signed
//! request is, and those that a caller with a password names.

use std::path::PathBuf;

use super::cloud::{ServiceCredentials, StackUsers};
use super::{ConfigError, Layers};

/// A cloud whose users sign requests, and Hearth's own user there.
#[derive(Clone, Debug)]
pub struct SigningCloud {
    pub name: String,
    pub service: ServiceCredentials,
    /// `None` where stacks have no users there.
    pub stack_users: Option<StackUsers>,
    /// A bundle of certificates beside the system's.
    pub ca_file: Option<PathBuf>,
    /// Takes any certificate.
    pub insecure: bool,
}

/// The Keystones of which a caller who comes with a password has to name one; `None` where it is
/// always that of `[keystone_authtoken]`.
pub(super) fn entrances(layers: &Layers) -> Result<Option<Vec<String>>, ConfigError> {
    let why = "with multi_cloud, a caller who comes with a password names one of them";
    several(layers, ("auth_password", "allowed_auth_uris"), why)
}

/// Those of the list, in its order, each out of a group of its own; `None` where the cloud of
/// `[keystone_authtoken]` is the only one.
pub(super) fn from_layers(layers: &Layers) -> Result<Option<Vec<SigningCloud>>, ConfigError> {
    let why = "with multi_cloud, these alone are asked whose a signed request is";
    let Some(names) = several(layers, ("ec2authtoken", "clouds"), why)? else { return Ok(None) };
    let named = |name: String| {
        let group = format!("ec2authtoken.{name}");
        let insecure = layers.flag(&group, "insecure")?.unwrap_or(false);
        let ca_file = layers.text(&group, "cafile").map(PathBuf::from);
        let service = ServiceCredentials::of_group(layers, &group)?;
        let stack_users = StackUsers::of_group(layers, &group)?;
        Ok(SigningCloud { name, service, stack_users, ca_file, insecure })
    };
    names.into_iter().map(named).collect::<Result<_, _>>().map(Some)
}

/// A list that counts where its group says `multi_cloud`, and then has to be there.
fn several(
    layers: &Layers,
    (group, option): (&str, &str),
    why: &'static str,
) -> Result<Option<Vec<String>>, ConfigError> {
    let listed = layers.list(group, option).unwrap_or_default();
    if !layers.flag(group, "multi_cloud")?.unwrap_or(false) {
        return Ok(None);
    }
    if listed.is_empty() {
        return Err(ConfigError::Missing { name: format!("[{group}] {option}"), why });
    }
    Ok(Some(listed))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Domain;

    fn layers(text: &str) -> Layers {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        let mut layers = Layers::default();
        layers.add_file(file.path().into()).unwrap();
        layers
    }

    fn read(text: &str) -> Result<Option<Vec<SigningCloud>>, ConfigError> {
        from_layers(&layers(text))
    }

    #[test]
    fn the_keystones_that_callers_name_are_listed() {
        let of = |text: &str| entrances(&layers(text));
        let text =
            "[auth_password]\nmulti_cloud = true\nallowed_auth_uris = http://a, http://b/v3\n";
        assert_eq!(of(text).unwrap().unwrap(), ["http://a", "http://b/v3"]);
        assert_eq!(of(&text.replace("true", "false")).unwrap(), None);
        let refused = of("[auth_password]\nmulti_cloud = true\n").unwrap_err().to_string();
        assert!(refused.starts_with("[auth_password] allowed_auth_uris must be set"), "{refused}");
    }

    #[test]
    fn each_cloud_of_the_list_has_a_group_of_its_own() {
        let text = "[ec2authtoken]\nmulti_cloud = true\nclouds = east, west\n\
                    [ec2authtoken.east]\nauth_url = http://east:5000\nusername = heat\n\
                    password = one\n[ec2authtoken.west]\nauth_url = https://west/identity\n\
                    username = hearth\npassword = two\nproject_name = services\n\
                    user_domain_name = Default\ncafile = /west.pem\ninsecure = true\n";
        let found = read(text).unwrap().unwrap();
        let shown: Vec<_> = found
            .iter()
            .map(|cloud| (cloud.name.as_str(), cloud.service.auth_url.as_str(), cloud.insecure))
            .collect();
        let expected =
            [("east", "http://east:5000/", false), ("west", "https://west/identity", true)];
        assert_eq!(shown, expected);
        let west = &found[1];
        assert_eq!(west.service.project_name, "services");
        assert_eq!(west.service.password.reveal(), "two");
        assert_eq!(west.ca_file.as_deref(), Some("/west.pem".as_ref()));
        assert!(read(&text.replace("= true\nclouds", "= false\nclouds")).unwrap().is_none());
    }

    #[test]
    fn the_administrator_of_stacks_users_is_a_clouds_own() {
        let text = "[DEFAULT]\nstack_user_domain_name = heat\nstack_domain_admin = admin\n\
                    stack_domain_admin_password = here\nheat_stack_user_role = signaler\n\
                    [ec2authtoken]\nmulti_cloud = true\nclouds = east, west\n\
                    [ec2authtoken.east]\nauth_url = http://east\nusername = heat\n\
                    password = one\n[ec2authtoken.west]\nauth_url = http://west\n\
                    username = heat\npassword = two\nstack_user_domain_id = d\n\
                    stack_domain_admin = western\nstack_domain_admin_password = there\n";
        let [east, west] = &read(text).unwrap().unwrap()[..] else { panic!("not two") };
        assert!(east.stack_users.is_none());
        let users = west.stack_users.as_ref().unwrap();
        assert_eq!(users.domain, Domain::Id("d".to_owned()));
        assert_eq!((users.admin.as_str(), users.role.as_str()), ("western", "signaler"));
        assert_eq!(users.password.reveal(), "there");
        let refused = read(&text.replace("stack_domain_admin = western\n", "")).unwrap_err();
        let refused = refused.to_string();
        assert!(refused.starts_with("[ec2authtoken.west] stack_domain_admin must be"), "{refused}");
    }

    #[test]
    fn several_clouds_are_named_and_none_of_them_is_unknown() {
        let refused = |text: &str| read(text).unwrap_err().to_string();
        let none = refused("[ec2authtoken]\nmulti_cloud = true\n");
        assert!(none.starts_with("[ec2authtoken] clouds must be set"), "{none}");
        let unknown = refused("[ec2authtoken]\nmulti_cloud = true\nclouds = east\n");
        assert!(unknown.starts_with("[ec2authtoken.east] auth_url must be set"), "{unknown}");
    }
}
