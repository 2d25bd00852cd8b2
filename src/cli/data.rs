//! The data directory: what is kept in it, and how the subcommands that read the log find it.

use std::io;
use std::path::{Path, PathBuf};

use crate::config::{Flags, Settings};
use crate::events::log::SqliteLog;
use crate::private_files;

/// The names of the files in a data directory.
#[derive(Clone, Debug)]
pub struct DataDir(pub PathBuf);

impl DataDir {
    /// The log: every fact there is.
    pub fn log(&self) -> PathBuf {
        self.0.join("log.db")
    }

    /// The read models, which can be thrown away.
    pub fn views(&self) -> PathBuf {
        self.0.join("views.db")
    }

    /// The key that seals the keys of stacks and projects.
    pub fn master_key(&self) -> PathBuf {
        self.0.join("master.key")
    }

    /// The state of the embedded sandbox.
    pub fn sandbox(&self) -> PathBuf {
        self.0.join("sandbox")
    }

    /// What a client needs to find the service.
    pub fn clouds_yaml(&self) -> PathBuf {
        self.0.join("clouds.yaml")
    }

    /// Makes the directory where there is none, and closes it to others, with all that an earlier
    /// version may have left open in it.
    pub fn prepare(&self) -> io::Result<()> {
        private_files::make_dir(&self.0)?;
        let mut kept = vec![self.0.clone(), self.master_key(), self.clouds_yaml()];
        for database in [self.log(), self.views()] {
            for beside in ["", "-wal", "-shm", ".lock"] {
                let mut path = database.clone().into_os_string();
                path.push(beside);
                kept.push(path.into());
            }
        }
        for path in kept {
            if private_files::tighten(&path)? {
                tracing::info!(path = %path.display(), "others could use it and no longer can");
            }
        }
        Ok(())
    }
}

/// The flags that say where the log is.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct DataArguments {
    /// The data directory of the server [default: ./hearth-data]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// The configuration file of the server, if it names the data directory
    #[arg(long, value_name = "FILE")]
    config_file: Option<PathBuf>,
}

impl DataArguments {
    /// Opens the log for reading alone; a server may be writing it. The error is a whole sentence.
    pub fn open_log(&self) -> Result<SqliteLog, String> {
        let path = DataDir(self.folder()?).log();
        if !path.exists() {
            return Err(format!("there is no log at {} (--data DIR says where)", shown(&path)));
        }
        SqliteLog::open_read_only(&path).map_err(|error| with_causes(&error))
    }

    /// The data directory that is meant.
    pub fn folder(&self) -> Result<PathBuf, String> {
        if let Some(folder) = &self.data {
            return Ok(folder.clone());
        }
        let flags = Flags { config_file: self.config_file.clone(), ..Flags::default() };
        let settings =
            Settings::load(&flags, std::env::vars()).map_err(|error| with_causes(&error))?;
        Ok(settings.data)
    }
}

fn shown(path: &Path) -> impl std::fmt::Display {
    path.display()
}

/// An error and what it came from, in one line.
pub fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}
