//! The file by which OpenStack's clients find the sandbox and Hearth behind it.

use std::io;
use std::path::Path;

use crate::model::Secret;
use crate::private_files;

/// Writes the clouds `hearth` (user demo) and `hearth-admin`.
pub(super) fn write(path: &Path, auth_url: &str, password: &Secret<String>) -> io::Result<()> {
    // Single quotes take any text in YAML but their own kind, which is doubled.
    let password = password.reveal().replace('\'', "''");
    let cloud = |name: &str, user: &str| {
        format!(
            "  {name}:\n    auth:\n      auth_url: {auth_url}\n      username: {user}\n      \
             password: '{password}'\n      project_name: {user}\n      user_domain_name: Default\n      \
             project_domain_name: Default\n    region_name: {}\n    identity_api_version: 3\n",
            super::SANDBOX_REGION,
        )
    };
    let text = format!(
        "# Written at each start of Hearth on its sandbox: OS_CLIENT_CONFIG_FILE={}\nclouds:\n{}{}",
        path.display(),
        cloud("hearth", "demo"),
        cloud("hearth-admin", "admin"),
    );
    private_files::replace(path, text.as_bytes())
}
