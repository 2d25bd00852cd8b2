//! What ends the scripts of guests when their sandbox is killed: a shell that waits for the end of a
//! pipe which this process holds, and then does what this process cannot do any more.

use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Waits, ends what bears the mark until nothing does, and clears the directories away.
const KEEP: &str = "\
cat > /dev/null
rounds=0
while [ $rounds -lt 200 ]; do
    found=$(grep -ls -- \"$1\" /proc/[0-9]*/environ)
    [ -n \"$found\" ] || break
    for environment in $found; do
        process=${environment%/environ}
        kill -9 \"${process#/proc/}\" 2> /dev/null
    done
    rounds=$((rounds + 1))
done
rm -rf -- \"$2\"*
";

/// The shell, until it is dropped.
pub(super) struct Keeper(Child);

impl Keeper {
    /// Starts it. `marked` is the beginning of the variable that what it ends bears, `directories`
    /// that of the paths which it removes.
    pub(super) fn start(marked: &str, directories: &Path, path: &str) -> io::Result<Self> {
        Command::new("/bin/sh")
            .args(["-c", KEEP, "guests-keeper", marked])
            .arg(directories)
            .env_clear()
            .env("PATH", path)
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // What ends the group of this process does not end it.
            .process_group(0)
            .spawn()
            .map(Self)
    }
}

impl Drop for Keeper {
    /// It has nothing to do: who stops in good order ends the scripts himself.
    fn drop(&mut self) {
        let ended = self.0.kill().and_then(|()| self.0.wait());
        if let Err(error) = ended {
            tracing::warn!(%error, "the keeper of the guests does not end");
        }
    }
}
