//! The alarms of Aodh.

pub(super) mod alarm;
