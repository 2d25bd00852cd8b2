//! Where a page is played: a directory for the commands, one that stands for the root of the machine,
//! and the servers that were started.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

/// The directories of the machine that pages name.
const OF_MACHINE: [&str; 4] = ["/etc/", "/usr/local/", "/var/lib/", "/backups"];

/// The ports that pages name, and by what a server says where it listens in their place.
const PORTS: [(&str, &[&str]); 3] = [
    ("8004", &["orchestration API"]),
    ("5000", &["sandbox cloud", "sandbox OpenStack on"]),
    ("9100", &["metrics"]),
];

/// Whether a command is a server, which is gone on with while it runs.
pub(super) fn serves(line: &str) -> bool {
    let words = line.split(' ').skip_while(|word| word.contains('='));
    let command: Vec<&str> = words.take(2).collect();
    matches!(command[..], ["hearth", "serve" | "sandbox"])
}

pub(super) struct Bench {
    folder: tempfile::TempDir,
    /// Where commands are run.
    at: PathBuf,
    moves: usize,
    servers: Vec<Server>,
    /// What stands in the place of ids and moments of the page.
    pub(super) places: Vec<(String, String)>,
    pub(super) variables: BTreeMap<String, String>,
}

struct Server {
    child: Child,
    /// Open, or it could not say its last words.
    _says: BufReader<ChildStdout>,
    /// Where it listens, by the port of the page.
    addresses: BTreeMap<&'static str, String>,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Bench {
    /// With files of these names where the commands are run.
    pub(super) fn with(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let place = |name: &str| folder.path().join(name);
        for name in
            ["bin", "home", "work", "root/etc", "root/usr/local", "root/var/lib", "root/backups"]
        {
            fs::create_dir_all(place(name)).unwrap();
        }
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_hearth"), place("bin/hearth")).unwrap();
        for (name, text) in files {
            fs::write(place("work").join(name), text).unwrap();
        }
        let at = place("work");
        let (servers, places, variables) = (Vec::new(), Vec::new(), BTreeMap::new());
        let bench = Self { folder, at, moves: 0, servers, places, variables };
        // What a server answers with an error is one.
        bench.write_home(".curlrc", "silent\nshow-error\nfail\n");
        bench
    }

    /// What stands for a path of the machine.
    pub(super) fn of_machine(&self, path: &str) -> PathBuf {
        self.folder.path().join("root").join(path.trim_start_matches('/'))
    }

    /// Where commands are run.
    pub(super) fn path(&self) -> &Path {
        &self.at
    }

    /// A file of whoever runs the commands, as their programs look for it.
    pub(super) fn write_home(&self, name: &str, text: &str) {
        fs::write(self.folder.path().join("home").join(name), text).unwrap();
    }

    /// A program of somebody else's, in the words of the shell.
    pub(super) fn program(&self, name: &str, text: &str) {
        let path = self.folder.path().join("bin").join(name);
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o700)).unwrap();
    }

    /// Goes to the directory of the whole page, with its server where one is wanted.
    pub(super) fn move_home(&mut self, with_server: bool) {
        let home = self.folder.path().join("work");
        if self.at != home || !with_server {
            self.stop();
        }
        self.at = home;
        if with_server && self.servers.is_empty() {
            self.serve("hearth serve");
        }
    }

    /// Goes to a directory in which there is nothing, and where no server runs.
    pub(super) fn move_to_fresh(&mut self) {
        self.stop();
        self.moves += 1;
        self.at = self.folder.path().join(format!("work-{}", self.moves));
        fs::create_dir(&self.at).unwrap();
    }

    /// Ends the servers in good order, the newest first.
    pub(super) fn stop(&mut self) {
        while let Some(mut server) = self.servers.pop() {
            let pid = server.child.id().to_string();
            assert!(Command::new("kill").arg(&pid).status().unwrap().success());
            let ended = server.child.wait().unwrap();
            assert!(ended.success(), "a server ended with {ended}: {}", self.complaints());
        }
    }

    /// Where a server listens that the page has at a port.
    pub(super) fn address(&self, port: &str) -> &str {
        let found = self.servers.iter().rev().find_map(|server| server.addresses.get(port));
        found.unwrap_or_else(|| panic!("nobody listens in the place of port {port}"))
    }

    /// Runs a command, which has to end with a code and to print what is shown, if anything is.
    #[track_caller]
    pub(super) fn run(&mut self, line: &str, code: i32, shown: &str) {
        if serves(line) {
            return self.serve(line);
        }
        let (here, printed) = self.printed(line, code);
        if !shown.is_empty() {
            assert_eq!(printed.replace(self.root().as_str(), ""), shown, "{here}");
        }
    }

    /// What a command prints, as the test asks it for something.
    #[track_caller]
    pub(super) fn said(&self, line: &str) -> String {
        self.printed(line, 0).1
    }

    #[track_caller]
    pub(super) fn json(&self, line: &str) -> Value {
        serde_json::from_str(&self.said(line)).unwrap()
    }

    fn printed(&self, line: &str, code: i32) -> (String, String) {
        let here = self.here(line);
        let output = self.shell(&here).output().unwrap();
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        let errors = String::from_utf8_lossy(&output.stderr);
        let complaints = self.complaints();
        assert_eq!(output.status.code(), Some(code), "{here}: {printed}{errors}\n{complaints}");
        (here, printed)
    }

    /// Starts a server, and waits until it takes requests.
    #[track_caller]
    fn serve(&mut self, line: &str) {
        let mut here = line.replacen("hearth ", "exec hearth ", 1);
        for (port, _) in PORTS {
            for before in ["listen ", "LISTEN="] {
                let (theirs, free) =
                    (format!("{before}127.0.0.1:{port}"), format!("{before}127.0.0.1:0"));
                here = here.replace(&theirs, &free);
            }
        }
        let here = self.here(&here);
        let complaints = fs::OpenOptions::new().create(true).append(true).open(self.log()).unwrap();
        let mut shell = self.shell(&here);
        let mut child = shell.stdout(Stdio::piped()).stderr(complaints).spawn().unwrap();
        let mut says = BufReader::new(child.stdout.take().unwrap());
        let mut addresses = BTreeMap::new();
        let mut said = String::new();
        loop {
            said.clear();
            let is_over = says.read_line(&mut said).unwrap() == 0;
            assert!(!is_over, "{here} did not start: {}", self.complaints());
            for (port, names) in PORTS {
                if names.iter().any(|name| said.starts_with(name))
                    && let Some((_, address)) = said.split_once("//")
                {
                    let address = address.split(['/', ' ']).next().unwrap().trim();
                    addresses.insert(port, address.to_owned());
                }
            }
            if said.trim() == "ready" || said.starts_with("sandbox OpenStack on") {
                break;
            }
        }
        self.program("pidof", &format!("echo {}", child.id()));
        self.servers.push(Server { child, _says: says, addresses });
    }

    /// A command of the page as it is run here.
    fn here(&self, line: &str) -> String {
        let mut here = line.to_owned();
        for (theirs, ours) in &self.places {
            here = here.replace(theirs.as_str(), ours);
        }
        here = here.replace('…', "");
        for path in OF_MACHINE {
            for before in [" ", ":"] {
                let ours = format!("{before}{}{path}", self.root());
                here = here.replace(&format!("{before}{path}"), &ours);
            }
        }
        for (port, _) in PORTS {
            let theirs = format!("127.0.0.1:{port}");
            if here.contains(&theirs) {
                here = here.replace(&theirs, self.address(port));
            }
        }
        here
    }

    fn root(&self) -> String {
        self.folder.path().join("root").display().to_string()
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("servers.log")
    }

    fn complaints(&self) -> String {
        fs::read_to_string(self.log()).unwrap_or_default()
    }

    fn shell(&self, line: &str) -> Command {
        let mut shell = Command::new("bash");
        shell.args(["-c", line]).current_dir(&self.at).stdin(Stdio::null());
        let bin = self.folder.path().join("bin");
        let paths = [&bin, Path::new("/usr/bin"), Path::new("/bin")];
        shell.env_clear().env("PATH", std::env::join_paths(paths).unwrap());
        shell.env("HOME", self.folder.path().join("home")).env("LANG", "C.UTF-8");
        for name in ["LISTEN", "CFN_LISTEN", "CLOUDWATCH_LISTEN", "SANDBOX_LISTEN"] {
            shell.env(format!("HEARTH_{name}"), "127.0.0.1:0");
        }
        shell.envs(&self.variables);
        shell
    }

    /// Has the variables that `curl` is shown with: a token of the sandbox's user, where the API of his
    /// project is, and a stack's id.
    pub(super) fn sign_in(&mut self, stack: &str) {
        let keystone = format!("http://{}/v3", self.address("5000"));
        let body = json!({"auth": {
            "identity": {"methods": ["password"], "password": {"user": {
                "name": "demo", "password": "secret", "domain": {"id": "default"}}}},
            "scope": {"project": {"name": "demo", "domain": {"id": "default"}}}}});
        let posted = "curl -D headers -H 'Content-Type: application/json'";
        let answer = self.json(&format!("{posted} -d '{body}' {keystone}/auth/tokens"));
        let project = answer["token"]["project"]["id"].as_str().unwrap();
        let headers = fs::read_to_string(self.at.join("headers")).unwrap();
        let token = headers.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("x-subject-token").then(|| value.trim().to_owned())
        });
        let heat = format!("http://{}/v1/{project}", self.address("8004"));
        for (name, value) in [("TOKEN", token.unwrap()), ("HEAT", heat), ("ID", stack.to_owned())] {
            self.variables.insert(name.to_owned(), value);
        }
    }
}
