//! The data directory: who may use it, whether it can be written, and what is in it.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use super::report::Report;
use crate::cli::data::{Files, with_causes};
use crate::config::Settings;
use crate::events::Position;
use crate::events::log::OwnedLog;
use crate::events::log::checkpoint::ReadCheckpoint;
use crate::events::signing::SigningKey;
use crate::events::vault::Vault;
use crate::private_files;
use crate::projections::views_stand_at;

/// What is written to see that something can be: a page of most file systems.
const TRIAL_BYTES: usize = 4096;
/// How long views that are behind have to come on.
const LAG_LOOK_AGAIN: Duration = Duration::from_secs(2);

pub(super) async fn look(
    settings: &Settings,
    files: &Files,
    is_running: bool,
    report: &mut Report,
) {
    if !directory(&files.data.0, report) {
        return;
    }
    permissions(files, report);
    if files.expect_log().is_err() {
        report.note("log", "there is none yet: the first start makes it");
        return;
    }
    // Before the log: what is signed meanwhile is in the log then.
    let beside = private_files::read(&files.data.checkpoint());
    match files.log.open_read_only() {
        Ok(log) => {
            master_key(log.as_ref(), files, report);
            match settings.read_only {
                true => report.note("signing key", "none is needed: another server signs the log"),
                false => signing_key(log.as_ref(), files, report),
            }
            let end = end(log.as_ref(), beside, report);
            views(&files.data.views(), end, is_running, report).await;
        }
        Err(error) => report.wrong(
            "log",
            with_causes(&error),
            "ask as the server's user; if the file is damaged, restore it from a backup",
        ),
    }
}

/// Whether there is one to look into.
fn directory(path: &Path, report: &mut Report) -> bool {
    const WHAT: &str = "data directory";
    let shown = path.display();
    let found = match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            report.note(WHAT, format!("{shown} is not there yet: the first start makes it"));
            return false;
        }
        Err(error) => {
            report.wrong(WHAT, format!("{shown}: {error}"), "ask as the server's user");
            return false;
        }
        Ok(found) => found,
    };
    if !found.is_dir() {
        report.wrong(WHAT, format!("{shown} is no directory"), "choose another --data");
        return false;
    }
    let own = fs::metadata("/proc/self").map_or(found.uid(), |own| own.uid());
    if own != found.uid() && own != 0 {
        let says = format!("{shown} belongs to user {}, and this is user {own}", found.uid());
        report.wrong(WHAT, says, "run the server and its commands as the directory's user");
        return true;
    }
    match try_to_write(path) {
        Ok(()) => report.fine(WHAT, format!("{shown} can be written")),
        Err(error) => report.wrong(
            WHAT,
            format!("{shown} cannot be written: {error}"),
            "make room, or mount it for writing: until then commands are refused and reads go on",
        ),
    }
    true
}

fn try_to_write(directory: &Path) -> io::Result<()> {
    let path = directory.join(format!(".doctor-{}", std::process::id()));
    let mut file = OpenOptions::new().write(true).create_new(true).open(&path)?;
    let written = file.write_all(&[0; TRIAL_BYTES]).and_then(|()| file.sync_all());
    fs::remove_file(&path)?;
    written
}

fn permissions(files: &Files, report: &mut Report) {
    const OTHERS: u32 = 0o077;
    let data = &files.data;
    let mut open = Vec::new();
    let kept = [
        data.0.clone(),
        data.log(),
        data.views(),
        data.checkpoint(),
        data.clouds_yaml(),
        data.sandbox(),
        data.admin_socket(),
        files.master_key.clone(),
        files.signing_key.clone(),
    ];
    for path in kept {
        if let Ok(found) = fs::symlink_metadata(&path)
            && !found.is_symlink()
            && found.mode() & OTHERS != 0
        {
            open.push(format!("{} ({:04o})", path.display(), found.mode() & 0o7777));
        }
    }
    match open.is_empty() {
        true => report.fine("permissions", "nobody but the owner may use the files"),
        false => report.wrong(
            "permissions",
            format!("others may use {}", open.join(", ")),
            "`chmod go=` on each; then `hearth key rotate`, if others may have read the master key",
        ),
    }
}

fn master_key(log: &dyn OwnedLog, files: &Files, report: &mut Report) {
    match Vault::check(log, &files.master_key) {
        Ok(Some(id)) => report.fine("master key", format!("{id} opens what the log has sealed")),
        Ok(None) => report.note("master key", "there is none yet: the next start makes it"),
        Err(error) => report.wrong(
            "master key",
            with_causes(&error),
            "no server starts like this: put the key of this log where it is looked for, for its \
             owner alone",
        ),
    }
}

fn signing_key(log: &dyn OwnedLog, files: &Files, report: &mut Report) {
    let signed_by = log.checkpoint().ok().flatten().and_then(|text| {
        ReadCheckpoint::parse(&text).ok().and_then(|checkpoint| checkpoint.signed_by)
    });
    match (SigningKey::load(&files.signing_key), signed_by) {
        (Ok(Some(key)), Some(signer)) if key.public() != signer => report.warning(
            "signing key",
            format!("is another one than that which signed the log ({signer})"),
            "put that one back, or keep `hearth checkpoint print` of before to trust the log anew",
        ),
        (Ok(Some(key)), _) => report.fine("signing key", format!("{}", key.public())),
        (Ok(None), None) => {
            report.note("signing key", "there is none yet: the next start makes it")
        }
        (Ok(None), Some(_)) => report.warning(
            "signing key",
            format!("there is none at {}, and the log is signed", files.signing_key.display()),
            "put it back; with a new one the log has to be trusted anew",
        ),
        (Err(error), _) => report.wrong(
            "signing key",
            with_causes(&error),
            "no server starts like this: put the key back, for its owner alone",
        ),
    }
}

/// Where the log ends, and whether it once went further.
fn end(
    log: &dyn OwnedLog,
    beside: Result<Option<zeroize::Zeroizing<String>>, private_files::PrivateFileError>,
    report: &mut Report,
) -> Position {
    const WHAT: &str = "log";
    let end = log.durable_position();
    let noted = beside.map_err(|error| with_causes(&error)).and_then(|text| {
        text.map(|text| ReadCheckpoint::parse(&text).map_err(|error| error.to_string())).transpose()
    });
    match noted {
        Ok(Some(read)) if read.checkpoint.position > end.0 => report.wrong(
            WHAT,
            format!(
                "ends at position {end}, and once went on to {}: its end is missing",
                read.checkpoint.position
            ),
            "stop the server, put back log.db with its -wal, or restore a backup and remove the \
             file `checkpoint`; `hearth verify` says more",
        ),
        Ok(_) => report.fine(WHAT, format!("ends at position {end}; `hearth verify` proves it")),
        Err(reason) => report.warning(
            WHAT,
            format!("ends at position {end}; the checkpoint beside it cannot be read: {reason}"),
            "`hearth verify` says whether the log holds; then remove the file `checkpoint`",
        ),
    }
    end
}

async fn views(path: &Path, end: Position, is_running: bool, report: &mut Report) {
    const WHAT: &str = "views";
    let stand = |report: &mut Report| match views_stand_at(path) {
        Ok(position) => position,
        Err(error) => {
            let advice = "stop the server and run `hearth rebuild`";
            report.wrong(WHAT, with_causes(&error), advice);
            // Said already.
            Some(end)
        }
    };
    let Some(first) = stand(report) else {
        report.note(WHAT, "there are none of this version: the next start makes them");
        return;
    };
    let behind = end.0.saturating_sub(first.0);
    // The log may have grown since its end was read.
    if first > end && !is_running {
        report.wrong(
            WHAT,
            format!("are at position {first}, and the log ends at {end}"),
            "the log is an older one than the views are of: see `log`, then run `hearth rebuild`",
        );
    } else if behind == 0 {
        report.fine(WHAT, "have all that is in the log");
    } else if !is_running {
        report.note(WHAT, format!("are behind by {behind} events: the next start catches up"));
    } else {
        tokio::time::sleep(LAG_LOOK_AGAIN).await;
        let Some(second) = stand(report) else { return };
        match end.0.saturating_sub(second.0) {
            0 => report.fine(WHAT, "have all that is in the log"),
            behind if second > first => report.warning(
                WHAT,
                format!("are behind by {behind} events"),
                "look again: clients see the past until they are through",
            ),
            behind => report.wrong(
                WHAT,
                format!("are behind by {behind} events and do not move"),
                "look for `views` in the server's log, and start it again",
            ),
        }
    }
}
