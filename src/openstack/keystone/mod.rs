//! Keystone: how a token is got, what one says, whose a foreign one is, and trusts, by which
//! Hearth goes on working for a user when his token is gone.

pub(super) mod credentials;
pub(super) mod token;
mod trust;
pub(super) mod validate;
