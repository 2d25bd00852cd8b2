//! `files_container`: files of a stack that stand in a container of Swift, read with the caller's
//! own token.

use std::collections::BTreeMap;

use futures::{StreamExt, TryStreamExt, stream};

use crate::actors::RequestContext;
use crate::api::ApiState;
use crate::api::error::Fault;
use crate::openstack::{Request, Service, Session, path_segment};

/// How many objects of a container are read for a request.
const OBJECTS_MAX: usize = 1_000;
/// How many are read at a time.
const READ_AT_A_TIME: usize = 8;

/// Adds what the container has to the files that were sent, which come before it.
pub(super) async fn add_files(
    state: &ApiState,
    who: &RequestContext,
    container: &str,
    files: &mut BTreeMap<String, String>,
) -> Result<(), Fault> {
    let session = match &state.cloud {
        Some(cloud) => who.session(cloud, &who.caller.project_id),
        None => Session::detached(&state.clock),
    };
    let unread = |reason: String| {
        let text = format!("Could not fetch files from container {container}, reason: {reason}.");
        Fault::new("NotFound", text)
    };
    let path = path(&[container]).ok_or_else(|| unread("it is no name".to_owned()))?;
    let listing = Request::get(Service::ObjectStore, &path).query("format", "json");
    let listing = session.send(listing).await.map_err(|error| unread(error.to_string()))?;
    let used = listing.header("x-container-bytes-used").and_then(|used| used.parse().ok());
    let limit = state.settings.json_body_size_max;
    within(used.unwrap_or(0), limit)?;
    let listed = listing.json().map_err(|error| unread(error.to_string()))?;
    let names = listed.as_array().into_iter().flatten().filter_map(|it| it["name"].as_str());
    let names: Vec<&str> = names.filter(|name| !files.contains_key(*name)).collect();
    if names.len() > OBJECTS_MAX {
        return Err(Fault::new(
            "DownloadLimitExceeded",
            format!("There are more than {OBJECTS_MAX} files to download."),
        ));
    }
    let read = names.into_iter().map(|name| {
        let session = &session;
        async move {
            let segments = [&[container], name.split('/').collect::<Vec<_>>().as_slice()].concat();
            let path = self::path(&segments).ok_or_else(|| format!("{name} is no name"))?;
            let answer = session.send(Request::get(Service::ObjectStore, path)).await;
            let bytes = answer.map_err(|error| error.to_string())?.bytes().to_vec();
            let text = String::from_utf8(bytes).map_err(|_| format!("{name} is no text"))?;
            Ok((name.to_owned(), text))
        }
    });
    let mut read = stream::iter(read).buffered(READ_AT_A_TIME);
    let mut length = 0;
    while let Some((name, text)) = read.try_next().await.map_err(unread)? {
        // The listing may be older than the objects.
        length += text.len();
        within(length, limit)?;
        files.insert(name, text);
    }
    Ok(())
}

fn within(length: usize, limit: usize) -> Result<(), Fault> {
    if length <= limit {
        return Ok(());
    }
    Err(Fault::new(
        "DownloadLimitExceeded",
        format!(
            "Total size of files to download ({length} bytes) exceeds maximum allowed ({limit} \
             bytes)."
        ),
    ))
}

/// The path of a container or an object, unless a part of it would be taken for a step.
fn path(segments: &[&str]) -> Option<String> {
    let is_step = |segment: &&str| matches!(*segment, "." | "..");
    if segments.iter().any(is_step) || segments.first().is_none_or(|first| first.is_empty()) {
        return None;
    }
    Some(segments.iter().map(|segment| format!("/{}", path_segment(segment))).collect())
}
