//! From settings to what stands between the network and the API.

use actix_web::http::header::HeaderName;
use url::Url;

use super::{StartError, sandbox_password};
use crate::api::{Auth, FrontSettings, OpenLimits, Proxy};
use crate::config::Settings;
use crate::model::front::AuthFlavor;
use crate::openstack::AuthBackend;

/// Of the files that a process may have open, one in so many is for a client: the others are for
/// the calls that its requests cost, and for the log.
pub(in crate::cli) const FILES_PER_CONNECTION: usize = 2;

pub(super) fn settings(settings: &Settings) -> Result<FrontSettings, StartError> {
    let front = settings.front.clone();
    let scheme_header = front
        .scheme_header
        .map(|name| name.parse::<HeaderName>().map_err(|_| StartError::NoHeader { name }));
    Ok(FrontSettings {
        tls: front.tls,
        limits: OpenLimits { connections: within_open_files(front.open.connections), ..front.open },
        patience: front.patience,
        header_line_max: front.header_line,
        body_size_max: front.body_size,
        proxy: Proxy { is_there: front.is_behind_proxy, scheme_header: scheme_header.transpose()? },
        cors: front.cors,
        auth: match front.auth {
            AuthFlavor::Token => Auth::Token,
            AuthFlavor::Password => Auth::Password,
            AuthFlavor::Nothing => Auth::Nothing { password: sandbox_password(settings) },
            AuthFlavor::Backend { url } => Auth::Backend(backend(&url)?),
        },
    })
}

fn backend(url: &str) -> Result<AuthBackend, StartError> {
    let broken = |reason: String| StartError::NoBackend { reason };
    let url = Url::parse(url).map_err(|error| broken(error.to_string()))?;
    AuthBackend::new(url).map_err(broken)
}

/// No more connections than there are files to open for them: a server without any can neither
/// take a connection nor reach its cloud.
fn within_open_files(wanted: Option<usize>) -> Option<usize> {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let Some(files) = open_files(&limits) else { return wanted };
    let fitting = files / FILES_PER_CONNECTION;
    if wanted.is_some_and(|wanted| wanted <= fitting) {
        return wanted;
    }
    tracing::info!(
        connections = fitting,
        files,
        "fewer connections than [hearth] max_connections, for want of files that may be open"
    );
    Some(fitting)
}

/// The soft limit in what Linux shows of a process; `None` where there is none.
pub(in crate::cli) fn open_files(limits: &str) -> Option<usize> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_knows_how_many_files_it_may_open() {
        let text = "Max processes   unlimited  unlimited  processes\n\
                    Max open files  1024       524288     files\n";
        assert_eq!(open_files(text), Some(1024));
        assert_eq!(open_files("Max open files unlimited unlimited files\n"), None);
    }
}
