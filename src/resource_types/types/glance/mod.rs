//! OS::Glance::*: what these types do otherwise than their files say.

pub(super) mod web_image;
