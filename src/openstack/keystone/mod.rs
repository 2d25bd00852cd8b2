//! Keystone: how a token is got, what one says, whose a foreign one is, credentials that users
//! have written down, trusts, by which Hearth goes on working for a user when his token is gone,
//! and the users that stacks have.

mod authenticate;
pub(super) mod credentials;
pub(super) mod domain_known;
pub(super) mod ec2;
pub(super) mod given;
pub(super) mod login;
pub(super) mod password;
pub(super) mod several;
pub(super) mod token;
mod trust;
pub(super) mod user_domain;
pub(super) mod validate;
pub(super) mod validations;
