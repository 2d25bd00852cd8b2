//! The stages of a volume.

use crate::resource_types::stage::stages;

stages! {
    /// What a volume goes through.
    pub(super) enum Stage {
        Restore = "restore" Changes,
        Describe = "describe" Changes,
        Metadata = "metadata" Changes,
        Retype = "retype" Changes,
        Refill = "refill" Changes,
        Refilled = "refilled" Looks,
        Extend = "extend" Changes,
        Extended = "extended" Looks,
        ReadOnly = "read_only" Changes,
        LetGo = "let_go" Changes,
        Going = "going" Looks,
        GiveBack = "give_back" Changes,
        Coming = "coming" Looks,
        GivenBack = "given_back" Looks,
        Ready = "ready" Looks,
        Check = "check" Looks,
        Delete = "delete" Changes,
        Gone = "gone" Looks,
        Backup = "backup" Changes,
        BackedUp = "backed_up" Looks,
    }
}
