//! Puts the commit that is built into the version, where it is known: from git, or from
//! `HEARTH_COMMIT` where the sources were packed without it. The same commit gives the same version
//! whenever and wherever it is built.

use std::env;
use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=HEARTH_COMMIT");
    let package = env!("CARGO_PKG_VERSION");
    let version = match given().or_else(from_git) {
        Some(commit) => format!("{package} ({commit})"),
        None => package.to_owned(),
    };
    // Not HEARTH_…: `cargo run` gives it to the program, which would take it for a setting.
    println!("cargo::rustc-env=BUILD_VERSION={version}");
}

fn given() -> Option<String> {
    let commit = env::var_os("HEARTH_COMMIT")?.into_string().ok()?;
    Some(commit).filter(|commit| !commit.is_empty())
}

/// `701aa4d57773 2026-11-22`
fn from_git() -> Option<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let top = git(root, &["rev-parse", "--show-toplevel"])?;
    if Path::new(&top).canonicalize().ok()? != root.canonicalize().ok()? {
        // Sources that were unpacked within another repository are not of its commit.
        return None;
    }
    let branch = git(root, &["rev-parse", "--symbolic-full-name", "HEAD"]);
    for moved in ["HEAD", "logs/HEAD"].into_iter().chain(branch.as_deref()) {
        if let Some(path) = git(root, &["rev-parse", "--git-path", moved])
            && root.join(&path).exists()
        {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    let hash = git(root, &["rev-parse", "--short=12", "HEAD"])?;
    let date = git(root, &["show", "--no-patch", "--format=%cs", "HEAD"])?;
    Some(format!("{hash} {date}"))
}

fn git(root: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").current_dir(root).args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    Some(text.trim().to_owned()).filter(|text| output.status.success() && !text.is_empty())
}
