//! Puts the commit that is built into the version, where it is known: from git, or from
//! `HEARTH_COMMIT` where the sources were packed without it. The same commit gives the same version
//! whenever and wherever it is built. Lists the files of resource types.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

/// Where the files of resource types are, in a directory for each service.
const TYPES: &str = "src/resource_types/types";

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={TYPES}");
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let list = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default()).join("types.rs");
    fs::write(list, type_files(&root.join(TYPES))?)?;
    println!("cargo::rerun-if-env-changed=HEARTH_COMMIT");
    let package = env!("CARGO_PKG_VERSION");
    let version = match given().or_else(|| from_git(&root)) {
        Some(commit) => format!("{package} ({commit})"),
        None => package.to_owned(),
    };
    // Not HEARTH_…: `cargo run` gives it to the program, which would take it for a setting.
    println!("cargo::rustc-env=BUILD_VERSION={version}");
    Ok(())
}

/// `&[BuiltIn { file: "neutron/net.yaml", yaml: include_str!("/…/neutron/net.yaml") }, …]`
fn type_files(root: &Path) -> io::Result<String> {
    let mut paths = Vec::new();
    for directory in fs::read_dir(root)? {
        let directory = directory?.path();
        if directory.is_dir() {
            let files = fs::read_dir(directory)?;
            paths.extend(files.map(|file| Ok(file?.path())).collect::<io::Result<Vec<_>>>()?);
        }
    }
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    paths.sort();
    let entry = |path: &PathBuf| {
        let file = path.strip_prefix(root).unwrap_or(path);
        format!("BuiltIn {{ file: {file:?}, yaml: include_str!({path:?}) }},\n")
    };
    Ok(format!("&[{}]", paths.iter().map(entry).collect::<String>()))
}

fn given() -> Option<String> {
    let commit = env::var_os("HEARTH_COMMIT")?.into_string().ok()?;
    Some(commit).filter(|commit| !commit.is_empty())
}

/// `701aa4d57773 2026-11-22`
fn from_git(root: &Path) -> Option<String> {
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
