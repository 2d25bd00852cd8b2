//! The stages of declared types.

use crate::resource_types::stage::stages;

stages! {
    /// What declared types go through.
    pub(crate) enum PlainStage {
        Compare = "compare" Looks,
        NoteOthers = "note_others" Looks,
        Create = "create" Changes,
        Members = "members" Changes,
        /// Members of associations of floating IPs in older logs.
        Release = "release" Changes,
        Call = "call" Changes,
        Update = "update" Changes,
        Ready = "ready" Looks,
        Find = "find" Looks,
        Delete = "delete" Changes,
        Gone = "gone" Looks,
        Pause = "pause" Looks,
        Check = "check" Looks,
        Done = "done" Looks,
    }
}
