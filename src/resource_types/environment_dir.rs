//! The directory of an operator's own mappings (`environment_dir`): environments for everybody,
//! read once at the start, with the templates that they name.

use std::path::Path;

use tracing::error;

use super::registry::Registry;
use crate::template::{Mappings, TEMPLATE_SIZE_MAX_BYTES};

impl Registry {
    /// Takes in every file of a directory, in the order of their names, above what is built in. A
    /// file that cannot be used is left out, as in Heat, and the log says so.
    pub fn add_mappings(&mut self, directory: &Path) {
        let mut mappings = Mappings::built_in().clone();
        let files = match std::fs::read_dir(directory) {
            Ok(files) => files,
            Err(error) => {
                error!(directory = %directory.display(), %error, "environments not read");
                return;
            }
        };
        let mut paths: Vec<_> = files.filter_map(|file| Some(file.ok()?.path())).collect();
        paths.sort();
        for path in paths.iter().filter(|path| path.is_file()) {
            let added =
                text(path).and_then(|text| mappings.add(&text).map_err(|error| error.to_string()));
            match added {
                Ok(urls) => urls.iter().for_each(|url| add_template(&mut mappings, url)),
                Err(error) => error!(path = %path.display(), %error, "environment left out"),
            }
        }
        self.set_mappings(mappings);
    }
}

fn add_template(mappings: &mut Mappings, url: &str) {
    let path = url.strip_prefix("file://").unwrap_or(url);
    match text(Path::new(path)) {
        Ok(text) => mappings.add_template(url, &text),
        Err(error) => error!(%url, %error, "template of an environment left out"),
    }
}

/// The text of a file, unless it is too large for a template.
fn text(path: &Path) -> Result<String, String> {
    let size = std::fs::metadata(path).map_err(|error| error.to_string())?.len();
    if size > TEMPLATE_SIZE_MAX_BYTES as u64 {
        return Err(format!("{size} bytes are more than a template may have"));
    }
    std::fs::read_to_string(path).map_err(|error| error.to_string())
}
