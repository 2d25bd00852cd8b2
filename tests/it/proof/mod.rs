//! What a thief of the disk would try: the log's file is changed behind Hearth's back, and
//! `verify` names it.

mod bits;
mod log;
mod master_key;
mod purge;
mod restored;
mod tampering;
