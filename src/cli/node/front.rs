//! From settings to what stands between the network and the API.

use actix_web::http::header::HeaderName;

use super::StartError;
use crate::api::{Cors, FrontSettings, OpenLimits, Patience, Proxy, TlsFiles};
use crate::config::Settings;

/// Of the files that a process may have open, one in so many is for a client: the others are for
/// the calls that its requests cost, and for the log.
const FILES_PER_CONNECTION: usize = 2;

pub(super) fn settings(settings: &Settings) -> Result<FrontSettings, StartError> {
    let front = settings.front.clone();
    let scheme_header = front
        .scheme_header
        .map(|name| name.parse::<HeaderName>().map_err(|_| StartError::NoHeader { name }));
    Ok(FrontSettings {
        tls: front.tls.map(|files| TlsFiles {
            certificate: files.certificate,
            key: files.key,
            client_authorities: files.client_authorities,
        }),
        limits: OpenLimits {
            connections: within_open_files(front.open.connections),
            connections_per_address: front.open.connections_per_address,
            connections_per_user: front.open.connections_per_user,
            connections_per_project: front.open.connections_per_project,
            requests_per_user: front.open.requests_per_user,
            requests_per_project: front.open.requests_per_project,
            feeds_per_user: front.open.feeds_per_user,
            feeds_per_project: front.open.feeds_per_project,
        },
        patience: Patience {
            head: front.head_time,
            body: front.body_time,
            answer: front.answer_time,
            idle: front.idle_time,
        },
        header_line_max: front.header_line,
        body_size_max: front.body_size,
        proxy: Proxy { is_there: front.is_behind_proxy, scheme_header: scheme_header.transpose()? },
        cors: Cors {
            allowed_origins: front.cors.allowed_origins,
            allow_credentials: front.cors.allow_credentials,
            expose_headers: front.cors.expose_headers,
            max_age: front.cors.max_age,
            allow_methods: front.cors.allow_methods,
            allow_headers: front.cors.allow_headers,
        },
    })
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
fn open_files(limits: &str) -> Option<usize> {
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
