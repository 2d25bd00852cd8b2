//! A script that a guest runs: in an empty directory, without anything of this process's
//! environment, within limits, and never longer than its guest. Whatever becomes of it, all that it
//! has started ends with it, and so does its directory.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags, open};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use super::processes;
use crate::private_files;
use crate::sandbox::guest_limits::GuestLimits;

/// How often it is looked at a script at work.
const LOOKED_AT_EVERY: Duration = Duration::from_millis(20);
/// At every how many looks its processes are counted.
const COUNTED_EVERY: u32 = 5;
/// The largest file that a script writes, in blocks of 512 bytes: 16 MiB.
const FILE_MAX_BLOCKS: u64 = 32_768;
/// What is said of a script that ran too long, as `timeout` does.
const STATUS_TOO_LONG: i32 = 124;
/// What is said of one that was stopped for another reason, as a shell does.
const STATUS_KILLED: i32 = 137;
/// What is said of one that could not be started.
const STATUS_NOT_STARTED: i32 = 126;
/// Where programs are.
pub(super) const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// Sets the limits and becomes the program: address space and processor time, files, no core.
const LAUNCH: &str = "ulimit -v \"$1\" && ulimit -t \"$2\" && ulimit -f \"$3\" && ulimit -c 0 && shift 3 && exec \"$@\"";

/// What came of a script.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Ran {
    pub(super) status: i32,
    pub(super) stdout: String,
    pub(super) stderr: String,
    pub(super) values: BTreeMap<String, String>,
}

/// A script to be run.
pub(super) struct Script<'a> {
    pub(super) text: &'a str,
    pub(super) environment: &'a [(String, String)],
    /// The names of the values that it may give: each as the content of a file
    /// `$heat_outputs_path.NAME`.
    pub(super) values: &'a [String],
}

/// A directory that is gone with this.
struct Place(PathBuf);

impl Place {
    fn make(mark: &str) -> io::Result<Self> {
        let place = Self(directory(mark));
        private_files::make_dir(&place.0)?;
        private_files::make_dir(&place.work())?;
        Ok(place)
    }

    /// Where the script is.
    fn script(&self) -> PathBuf {
        self.0.join("script")
    }

    /// The empty directory in which it runs.
    fn work(&self) -> PathBuf {
        self.0.join("work")
    }

    fn outputs(&self) -> PathBuf {
        self.0.join("output")
    }

    fn said(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.0) {
            tracing::warn!(path = %self.0.display(), %error, "a guest's directory stays");
        }
    }
}

/// The directory of a script by its mark.
pub(super) fn directory(mark: &str) -> PathBuf {
    std::env::temp_dir().join(format!("hearth-guest-{mark}"))
}

/// Runs a script to its end, or until it is `stopped`; what it starts bears the mark, which no other
/// script has.
pub(super) fn run(
    script: &Script<'_>,
    limits: &GuestLimits,
    mark: &str,
    stopped: &AtomicBool,
) -> Ran {
    started(script, limits, mark, stopped).unwrap_or_else(|error| Ran {
        status: STATUS_NOT_STARTED,
        stderr: format!("it could not be run: {error}"),
        ..Ran::default()
    })
}

fn started(
    script: &Script<'_>,
    limits: &GuestLimits,
    mark: &str,
    stopped: &AtomicBool,
) -> io::Result<Ran> {
    let place = Place::make(mark)?;
    fs::write(place.script(), script.text)?;
    let (stdout, stderr) = (place.said("stdout"), place.said("stderr"));
    let environment = script.environment.iter().filter(|(name, value)| {
        !name.is_empty() && !name.contains(['=', '\0']) && !value.contains('\0')
    });
    let child = Command::new("/bin/sh")
        .args(["-c", LAUNCH, "guest"])
        .arg((limits.memory_bytes / 1024).to_string())
        // Of the processor: beyond what is watched, which says why.
        .arg((limits.time.as_secs() + 2).to_string())
        .arg(FILE_MAX_BLOCKS.to_string())
        .args(interpreter(script.text))
        .arg(place.script())
        .env_clear()
        .envs(environment.map(|(name, value)| (name, value)))
        .env("PATH", PATH)
        .env(processes::VARIABLE, mark)
        .env("HOME", place.work())
        .env("heat_outputs_path", place.outputs())
        .current_dir(place.work())
        .stdin(Stdio::null())
        .stdout(File::create(&stdout)?)
        .stderr(File::create(&stderr)?)
        .process_group(0)
        .spawn()?;
    let said = [stdout.as_path(), stderr.as_path()];
    let (status, why) = watched(child, mark, said, limits, stopped)?;
    let mut stderr_text = head(&stderr, limits.output_bytes).unwrap_or_default();
    if let Some(why) = why {
        stderr_text.push_str(&format!("\nThe script was stopped: {why}\n"));
    }
    let mut values = BTreeMap::new();
    for name in script.values.iter().filter(|name| !name.contains(['/', '\0'])) {
        let path = private_files::beside(&place.outputs(), &format!(".{name}"));
        if let Ok(value) = head(&path, limits.output_bytes) {
            values.insert(name.clone(), value);
        }
    }
    let stdout = head(&stdout, limits.output_bytes).unwrap_or_default();
    Ok(Ran { status, stdout, stderr: stderr_text, values })
}

/// What runs a text: what its first line names, with at most one argument, or a shell.
fn interpreter(text: &str) -> Vec<&str> {
    let line = text.lines().next().and_then(|line| line.strip_prefix("#!")).map(str::trim);
    match line.filter(|line| !line.is_empty()) {
        Some(line) => {
            line.splitn(2, [' ', '\t']).map(str::trim).filter(|it| !it.is_empty()).collect()
        }
        None => vec!["/bin/sh"],
    }
}

/// Waits for the end, and sees to it; with why it was stopped, where it was.
fn watched(
    mut child: Child,
    mark: &str,
    said: [&Path; 2],
    limits: &GuestLimits,
    stopped: &AtomicBool,
) -> io::Result<(i32, Option<&'static str>)> {
    let started = Instant::now();
    // The group has the number of its first process, which stays taken until that is waited for.
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let mut looks = 0_u32;
    let stopped_for = loop {
        if group.is_none_or(is_over) {
            break None;
        }
        looks += 1;
        if stopped.load(Ordering::Relaxed) {
            break Some((STATUS_KILLED, "its server is gone."));
        }
        if started.elapsed() >= limits.time {
            break Some((STATUS_TOO_LONG, "it ran too long."));
        }
        if said.iter().any(|path| size(path) > limits.output_bytes as u64) {
            break Some((STATUS_KILLED, "it said too much."));
        }
        if looks.is_multiple_of(COUNTED_EVERY) && processes::count(mark) > limits.processes {
            break Some((STATUS_KILLED, "it had too many processes."));
        }
        std::thread::sleep(LOOKED_AT_EVERY);
    };
    processes::end(mark);
    if let Some(group) = group {
        // Nobody is left of it: that is as good.
        let _ = kill_process_group(group, Signal::KILL);
    }
    let status = child.wait()?;
    let code = status.code().or(status.signal().map(|signal| 128 + signal));
    Ok(match stopped_for {
        Some((status, why)) => (status, Some(why)),
        None => (code.unwrap_or(STATUS_KILLED), None),
    })
}

/// Whether a child has ended that was not waited for yet.
fn is_over(child: Pid) -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    matches!(waitid(WaitId::Pid(child), options), Ok(Some(_)))
}

fn size(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |metadata| metadata.len())
}

/// What a file begins with. The script may have put anything in its place: a link is not followed,
/// and nobody waits for whoever writes into a pipe.
fn head(path: &Path, max: usize) -> io::Result<String> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = File::from(open(path, flags, Mode::empty())?);
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    let mut bytes = Vec::new();
    file.take(max as u64).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::{Clock, SystemClock};

    /// What shells set by themselves.
    const OF_SHELLS: [&str; 4] = ["PWD", "OLDPWD", "SHLVL", "_"];

    fn limits() -> GuestLimits {
        GuestLimits { time: Duration::from_secs(20), ..GuestLimits::default() }
    }

    fn ran(text: &str, limits: &GuestLimits) -> Ran {
        let script = Script { text, environment: &[], values: &[] };
        run(&script, limits, &mark(), &AtomicBool::new(false))
    }

    fn mark() -> String {
        SystemClock.fresh_id().simple().to_string()
    }

    #[test]
    fn a_script_has_its_inputs_alone_and_gives_its_values() {
        let environment =
            [("name".to_owned(), "a b".to_owned()), ("x=y".to_owned(), String::new())];
        let script = Script {
            text: "#!/bin/sh\nenv | sort | cut -d= -f1\nls -A\nprintf %s \"$name\" >\
                   $heat_outputs_path.out\necho no >&2\nexit 3",
            environment: &environment,
            values: &["out".to_owned(), "none".to_owned(), "../stdout".to_owned()],
        };
        let own = mark();
        let ran = run(&script, &limits(), &own, &AtomicBool::new(false));
        assert_eq!((ran.status, ran.stderr.as_str()), (3, "no\n"));
        let seen: Vec<&str> = ran.stdout.lines().filter(|it| !OF_SHELLS.contains(it)).collect();
        assert_eq!(seen, ["HEARTH_GUEST", "HOME", "PATH", "heat_outputs_path", "name"]);
        assert_eq!(ran.values, BTreeMap::from([("out".to_owned(), "a b".to_owned())]));
        assert!(!directory(&own).exists());
    }

    #[test]
    fn a_value_is_a_regular_file_and_nobody_waits_for_a_pipe() {
        let names = ["pipe", "link", "directory", "file"].map(str::to_owned);
        let text = "mkfifo $heat_outputs_path.pipe && ln -s /etc/passwd $heat_outputs_path.link\n\
                    mkdir $heat_outputs_path.directory && echo here > $heat_outputs_path.file\n\
                    rm ../stdout ../stderr && mkfifo ../stdout && ln -s /etc/passwd ../stderr";
        let script = Script { text, environment: &[], values: &names };
        let ran = run(&script, &limits(), &mark(), &AtomicBool::new(false));
        let file = BTreeMap::from([("file".to_owned(), "here\n".to_owned())]);
        assert_eq!(ran, Ran { values: file, ..Ran::default() });
    }

    #[test]
    fn what_a_first_line_names_runs_the_script() {
        assert_eq!(ran("#!/bin/cat\nas it is\n", &limits()).stdout, "#!/bin/cat\nas it is\n");
        assert_eq!(ran("echo \"$0\" | wc -l", &limits()).stdout.trim(), "1");
        let none = ran("#!/no/such/program -x\n", &limits());
        assert!(none.status != 0 && none.stderr.contains("/no/such/program"), "{none:?}");
    }

    #[test]
    fn what_never_ends_says_too_much_or_forks_is_stopped() {
        let short = GuestLimits { time: Duration::from_millis(300), ..limits() };
        let looping = ran("while :; do :; done", &short);
        assert_eq!(looping.status, STATUS_TOO_LONG, "{looping:?}");
        assert!(looping.stderr.contains("it ran too long."), "{looping:?}");
        let flood =
            ran("while :; do echo 0123456789012345678901234567890123456789; done", &limits());
        assert_eq!(flood.status, STATUS_KILLED);
        assert!(flood.stderr.contains("it said too much."), "{}", flood.stderr);
        assert_eq!(flood.stdout.len(), limits().output_bytes);
        let few = GuestLimits { processes: 8, ..limits() };
        let forks =
            ran("echo $HEARTH_GUEST && while :; do setsid sleep 600 & sleep 0.01; done", &few);
        assert_eq!(forks.status, STATUS_KILLED);
        assert!(forks.stderr.contains("it had too many processes."), "{}", forks.stderr);
        is_nobody_left(&forks);
        for left in ["sleep 600 &", "setsid sleep 600 &", "setsid sh -c 'sleep 600 & exit' &"] {
            let left = ran(&format!("echo $HEARTH_GUEST; {left} exit 0"), &limits());
            assert_eq!(left.status, 0);
            is_nobody_left(&left);
        }
        let small = GuestLimits { memory_bytes: 64 << 20, ..limits() };
        let large = ran("head -c 300000000 /dev/zero | tail -c 200000000 | wc -c", &small);
        assert_ne!(large.stdout.trim(), "200000000", "{large:?}");
    }

    /// Nobody is left of a script that has told its mark.
    fn is_nobody_left(ran: &Ran) {
        let mark = ran.stdout.trim();
        assert!(!mark.is_empty());
        assert_eq!(processes::count(mark), 0);
    }

    #[test]
    fn a_script_ends_with_its_guest() {
        let stopped = AtomicBool::new(true);
        let script = Script { text: "sleep 600", environment: &[], values: &[] };
        let ran = run(&script, &limits(), &mark(), &stopped);
        assert!(ran.status == STATUS_KILLED && ran.stderr.contains("its server is gone."));
    }
}
