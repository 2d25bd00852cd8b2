//! The file by which OpenStack's clients find the sandbox and Hearth behind it.

use std::io;
use std::path::Path;

/// Writes the clouds `hearth` (user demo) and `hearth-admin`.
pub(super) fn write(path: &Path, auth_url: &str) -> io::Result<()> {
    let cloud = |name: &str, user: &str| {
        format!(
            "  {name}:\n    auth:\n      auth_url: {auth_url}\n      username: {user}\n      \
             password: {}\n      project_name: {user}\n      user_domain_name: Default\n      \
             project_domain_name: Default\n    region_name: {}\n    identity_api_version: 3\n",
            super::SANDBOX_PASSWORD,
            super::SANDBOX_REGION,
        )
    };
    let text = format!(
        "# Written at each start of Hearth on its sandbox: OS_CLIENT_CONFIG_FILE={}\nclouds:\n{}{}",
        path.display(),
        cloud("hearth", "demo"),
        cloud("hearth-admin", "admin"),
    );
    std::fs::write(path, text)
}
