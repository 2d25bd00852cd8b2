//! The data directory: what is kept in it, and how the subcommands that read the log find it.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::clock::Clock;
use crate::config::{Flags, Settings};
use crate::events::backup::Parts;
use crate::events::log::{OpenError, OwnedLog, Signing, SqliteLog};
use crate::events::signing::{SigningKey, SigningKeyError};
use crate::private_files;

use super::log_place::LogPlace;

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

    /// The key that signs the log.
    pub fn signing_key(&self) -> PathBuf {
        self.0.join("signing.key")
    }

    /// The newest signed checkpoint of the log.
    pub fn checkpoint(&self) -> PathBuf {
        self.0.join("checkpoint")
    }

    /// Where a running server hears what `hearth key`, `purge` and `backup` ask of it.
    pub fn admin_socket(&self) -> PathBuf {
        self.0.join("admin.sock")
    }

    /// Which kind of cloud its stacks are made in.
    pub fn cloud(&self) -> PathBuf {
        self.0.join("cloud")
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
    /// version may have left open in it; but keys that others may have read are not used at all.
    pub fn prepare(&self) -> io::Result<()> {
        private_files::make_dir(&self.0)?;
        let mut kept = vec![self.0.clone(), self.clouds_yaml(), self.checkpoint(), self.cloud()];
        for database in [self.log(), self.views()] {
            for beside in ["", "-wal", "-shm", ".lock"] {
                kept.push(private_files::beside(&database, beside));
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
    /// The data directory: the log and all else that a server keeps [default: ./hearth-data]
    #[arg(long, value_name = "DIR", global = true)]
    data: Option<PathBuf>,
    /// An INI file with Heat's option names, if it says more; an existing heat.conf will do
    #[arg(long, value_name = "FILE", global = true)]
    config_file: Option<PathBuf>,
    /// A directory with more of them.
    #[arg(skip)]
    config_dir: Option<PathBuf>,
}

impl DataArguments {
    /// The same flags, as another command has them.
    pub(super) fn of(data: Option<PathBuf>, config_file: Option<PathBuf>) -> Self {
        Self { data, config_file, config_dir: None }
    }

    /// The files of a log that is there. The error is a whole sentence.
    pub fn files(&self) -> Result<Files, String> {
        FileArguments { data: self.clone(), ..FileArguments::default() }.files()
    }

    /// Opens the log for reading alone; a server may be writing it. The error is a whole sentence.
    pub fn open_log(&self) -> Result<Arc<dyn OwnedLog>, String> {
        self.files()?.log.open_read_only().map_err(|error| with_causes(&error))
    }
}

/// The files that a server works with, as its settings name them.
#[derive(Clone, Debug)]
pub struct Files {
    pub data: DataDir,
    pub log: LogPlace,
    pub master_key: PathBuf,
    pub signing_key: PathBuf,
}

impl Files {
    /// Those of the settings. The error is a whole sentence.
    pub fn of(settings: &Settings) -> Result<Self, String> {
        let data = DataDir(settings.data.clone());
        let or = |given: &Option<PathBuf>, own: PathBuf| given.clone().unwrap_or(own);
        let log = match &settings.log_place {
            Some(place) => LogPlace::parse(place.reveal())?,
            None => LogPlace::File(data.log()),
        };
        Ok(Self {
            master_key: or(&settings.master_key_file, data.master_key()),
            signing_key: or(&settings.signing_key_file, data.signing_key()),
            log,
            data,
        })
    }

    /// Those that lie under their own names in one directory.
    pub fn in_directory(data: DataDir) -> Self {
        let (master_key, signing_key) = (data.master_key(), data.signing_key());
        let log = LogPlace::File(data.log());
        Self { data, log, master_key, signing_key }
    }

    /// Keeps every other process from working with the data directory, and opens the log.
    pub fn open_log(
        &self,
        clock: &dyn Clock,
    ) -> Result<(Arc<dyn OwnedLog>, Option<File>), OpenError> {
        // The log's own file is locked as it is opened.
        let lock = match self.log.file() {
            Some(_) => None,
            None => Some(SqliteLog::lock(&self.data.log())?),
        };
        Ok((self.log.open(&self.data.0, || self.signing(clock))?, lock))
    }

    /// Keeps every other process from working with the data directory, and follows a log that
    /// others write.
    pub fn follow_log(&self) -> Result<(Arc<dyn OwnedLog>, Option<File>), OpenError> {
        let lock = SqliteLog::lock(&self.data.log())?;
        Ok((self.log.follow()?, Some(lock)))
    }

    /// Errors: there is no log yet, as a whole sentence.
    pub fn expect_log(&self) -> Result<(), String> {
        match self.log.file() {
            Some(path) if !path.exists() => {
                Err(format!("there is no log at {} (--data DIR says where)", path.display()))
            }
            _ => Ok(()),
        }
    }

    /// What belongs into a backup.
    pub fn parts(&self) -> Parts {
        Parts {
            log: self.log.file().map_or_else(|| self.data.log(), PathBuf::from),
            checkpoint: self.data.checkpoint(),
            master_key: self.master_key.clone(),
            signing_key: self.signing_key.clone(),
        }
    }

    /// With what the log is signed; the key is made where there is none.
    pub fn signing(&self, clock: &dyn Clock) -> Result<Signing, SigningKeyError> {
        let key = SigningKey::load_or_create(&self.signing_key, clock)?;
        Ok(Signing { key, beside: self.data.checkpoint() })
    }
}

/// The flags that say where the log and its keys are.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct FileArguments {
    #[command(flatten)]
    data: DataArguments,
    /// The file with the master key [default: master.key in the data directory]
    #[arg(long, value_name = "FILE", global = true)]
    master_key: Option<PathBuf>,
    /// The file with the key that signs the log [default: signing.key in the data directory]
    #[arg(long, value_name = "FILE", global = true)]
    signing_key: Option<PathBuf>,
}

impl FileArguments {
    /// The same flags, with a directory of settings; where none of them says where settings or data
    /// are, those of a file count that is there.
    pub(super) fn with_dir(self, config_dir: Option<PathBuf>, otherwise: &Path) -> Self {
        let mut data = DataArguments { config_dir, ..self.data };
        let is_said = data.data.is_some() || data.config_dir.is_some();
        if !is_said && data.config_file.is_none() && otherwise.exists() {
            data.config_file = Some(otherwise.to_owned());
        }
        Self { data, ..self }
    }

    /// The same flags, as another command has them.
    pub(super) fn of(data: DataArguments, master_key: Option<PathBuf>) -> Self {
        Self { data, master_key, signing_key: None }
    }

    /// The files of a log that is there. The error is a whole sentence.
    pub fn files(&self) -> Result<Files, String> {
        let files = self.named()?;
        files.expect_log()?;
        Ok(files)
    }

    /// The files that are meant, whether they are there or not. The error is a whole sentence.
    pub fn named(&self) -> Result<Files, String> {
        let settings = Settings::load(&self.flags(), std::env::vars());
        Files::of(&settings.map_err(|error| with_causes(&error))?)
    }

    /// As settings take them.
    pub fn flags(&self) -> Flags {
        Flags {
            data: self.data.data.clone(),
            config_file: self.data.config_file.clone(),
            config_dir: self.data.config_dir.clone(),
            master_key: self.master_key.clone(),
            signing_key: self.signing_key.clone(),
            ..Flags::default()
        }
    }
}

/// An error and what it came from, in one line. What one of them has told of the next, or the next
/// tells again, is told once.
pub fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut last = text.clone();
    let mut cause = error.source();
    while let Some(error) = cause {
        let told = error.to_string();
        if !text.ends_with(&told) && !told.ends_with(&last) {
            text.push_str(": ");
            text.push_str(&told);
            last = told;
        }
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_nobody_names_are_those_of_the_package_where_it_has_some() {
        let directory = tempfile::tempdir().unwrap();
        let package = directory.path().join("hearth.conf");
        let config = |data: Option<&str>, dir: Option<&str>| {
            let data = DataArguments::of(data.map(PathBuf::from), None);
            let files = FileArguments { data, ..FileArguments::default() };
            files.with_dir(dir.map(PathBuf::from), &package).flags().config_file
        };
        assert_eq!(config(None, None), None);
        std::fs::write(&package, "").unwrap();
        assert_eq!(config(None, None), Some(package.clone()));
        assert_eq!(config(Some("d"), None), None);
        assert_eq!(config(None, Some("c")), None);
    }
}
