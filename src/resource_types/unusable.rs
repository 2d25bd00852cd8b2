//! Why a type's file cannot be used.

use std::path::PathBuf;

use super::declared::reader::Mistake;

/// A type file that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    #[error("could not read the resource type file {path}")]
    Unreadable {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("the first line of the resource type file {file} is not its type")]
    Nameless { file: &'static str },
    #[error("{}", told(file, mistakes))]
    Malformed { file: String, mistakes: Vec<Mistake> },
}

/// The first mistake of a file, and that there are more.
fn told(file: &str, mistakes: &[Mistake]) -> String {
    let Some(first) = mistakes.first() else { return format!("{file} is not understood") };
    match mistakes.len() {
        1 => format!("{file}:{first}"),
        count => format!("{file}:{first} ({} more: hearth types check tells all)", count - 1),
    }
}
