//! OS::Neutron::Net: who shares it.

use crate::resource_types::declared::Special;
use crate::resource_types::driver::Subject;

pub(crate) struct Net;

impl Special for Net {
    /// Sharing is seen to by others too.
    fn observes(&self, _subject: &Subject, name: &str, update_allowed: bool) -> bool {
        update_allowed && name != "shared"
    }
}
