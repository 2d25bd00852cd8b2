//! OS::Keystone::*: what these types do otherwise than their files say.

pub(super) mod project;
