//! The clouds whose users are let in, where it is not the own cloud alone: what is known of each.

use std::sync::Arc;

use super::{Cloud, CloudSettings, versioned};
use crate::clock::Clock;
use crate::openstack::error::CloudError;
use crate::openstack::request::path_segment;

/// See the module.
#[derive(Default)]
pub(in crate::openstack) struct Others {
    /// Those that are asked who signed a request, in their order.
    pub(in crate::openstack) signers: Option<Vec<Other>>,
    /// Those of which callers with a password name one, by the URLs that they name.
    pub(in crate::openstack) entrances: Option<Vec<Other>>,
}

/// A cloud of a list.
pub(in crate::openstack) struct Other {
    pub(in crate::openstack) name: String,
    /// What begins its tokens and trusts.
    pub(in crate::openstack) mark: String,
    /// `None` for the cloud that has the list.
    pub(in crate::openstack) cloud: Option<Cloud>,
}

impl Others {
    pub(super) fn of(
        settings: &CloudSettings,
        clock: &Arc<dyn Clock>,
    ) -> Result<Others, CloudError> {
        let own = versioned(&settings.auth_url);
        let other = |name: &str, there: CloudSettings| -> Result<Other, CloudError> {
            if versioned(&there.auth_url) == own {
                return Ok(Other { name: name.to_owned(), mark: String::new(), cloud: None });
            }
            let cloud = Some(Cloud::new(there, Arc::clone(clock))?);
            let mark = format!("{}/", path_segment(name));
            Ok(Other { name: name.to_owned(), mark, cloud })
        };
        let signers = settings.signers.as_ref().map(|all| {
            all.iter().map(|(name, there)| other(name, there.clone())).collect::<Result<_, _>>()
        });
        let entrances = settings.entrances.as_ref().map(|urls| {
            let there = |url: &String| CloudSettings {
                auth_url: url.clone(),
                guests_auth_url: None,
                signers: None,
                entrances: None,
                ..settings.clone()
            };
            urls.iter().map(|url| other(url, there(url))).collect::<Result<_, CloudError>>()
        });
        Ok(Others { signers: signers.transpose()?, entrances: entrances.transpose()? })
    }

    pub(in crate::openstack) fn all(&self) -> impl Iterator<Item = &Other> {
        self.signers.iter().chain(&self.entrances).flatten()
    }
}
