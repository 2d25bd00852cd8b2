//! What goes wrong with the views.

use crate::events::DecodeError;
use crate::events::log::LogError;

/// Why the views could not answer.
#[derive(Debug, thiserror::Error)]
pub enum ViewError {
    #[error("the views could not be read or written")]
    Sql(#[from] rusqlite::Error),
    #[error("the log could not be read")]
    Log(#[from] LogError),
    #[error("an event in the log could not be read")]
    Event(#[from] DecodeError),
    #[error("a view could not be written as JSON")]
    Json(#[from] serde_json::Error),
    #[error("the views' file could not be made")]
    File(#[from] std::io::Error),
    #[error("the views' thread could not be started")]
    Thread(#[source] std::io::Error),
    #[error("there is more than an answer may hold")]
    TooMuch,
    #[error("the views are behind the log")]
    Behind,
    /// The runner is gone: what is there stays, and nothing new comes.
    #[error("the views no longer follow the log")]
    Stopped,
}
