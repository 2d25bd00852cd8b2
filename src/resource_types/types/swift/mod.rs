//! OS::Swift::*: what these types do otherwise than their files say.

pub(in crate::resource_types::types) mod container;
