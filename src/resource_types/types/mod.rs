//! The types that come with Hearth: one YAML file each, and the programs that some of them name.

mod aodh;
mod aws;
mod barbican;
mod blazar;
mod cinder;
mod designate;
mod glance;
pub(super) mod heat;
mod keystone;
mod manila;
mod mistral;
mod neutron;
mod nova;
mod program;
mod swift;
mod trove;
mod zaqar;
mod zun;

pub(super) use heat::scaling_policy::PolicyNames;
pub(super) use program::Program;

/// A type file, embedded.
pub(super) struct BuiltIn {
    /// `neutron/net.yaml`.
    pub(super) file: &'static str,
    /// Its first line is the type's name.
    pub(super) yaml: &'static str,
}

/// Every built-in type: what `build.rs` finds here.
pub(super) const BUILT_IN: &[BuiltIn] = include!(concat!(env!("OUT_DIR"), "/types.rs"));
