//! The clouds whose users are let in, where it is not the own cloud alone: what is known of each.

use std::sync::Arc;

use super::{Cloud, CloudSettings, versioned};
use crate::clock::Clock;
use crate::openstack::error::CloudError;
use crate::openstack::keystone::credentials::Credentials;
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
        let mut others = Others::default();
        if let Some(signers) = &settings.signers {
            let listed = signers.iter().map(|(name, there)| {
                let connect = || Cloud::new(there.clone(), Arc::clone(clock));
                Other::of(settings, (name, &there.auth_url), connect)
            });
            others.signers = Some(listed.collect::<Result<_, _>>()?);
        }
        if let Some(entrances) = &settings.entrances {
            let listed = entrances.iter().map(|url| {
                let connect = || match others.signer_at(url) {
                    Some(cloud) => Ok(cloud.clone()),
                    None => of_strangers(url, settings, clock),
                };
                Other::of(settings, (url, url), connect)
            });
            others.entrances = Some(listed.collect::<Result<_, _>>()?);
        }
        Ok(others)
    }

    fn signer_at(&self, url: &str) -> Option<&Cloud> {
        let mut signers = self.signers.iter().flatten().filter_map(|it| it.cloud.as_ref());
        signers.find(|cloud| cloud.keystone() == versioned(url))
    }

    pub(in crate::openstack) fn all(&self) -> impl Iterator<Item = &Other> {
        self.signers.iter().chain(&self.entrances).flatten()
    }
}

impl Other {
    /// A cloud of a list by its name and its Keystone, connected to where it is not the own one.
    fn of(
        own: &CloudSettings,
        (name, url): (&str, &str),
        connect: impl FnOnce() -> Result<Cloud, CloudError>,
    ) -> Result<Other, CloudError> {
        if versioned(url) == versioned(&own.auth_url) {
            return Ok(Other { name: name.to_owned(), mark: String::new(), cloud: None });
        }
        let mark = format!("{}/", path_segment(name));
        Ok(Other { name: name.to_owned(), mark, cloud: Some(connect()?) })
    }
}

/// A cloud of which nothing is said but where it is: nobody there is told of Hearth's users
/// elsewhere, nor of their passwords.
fn of_strangers(
    url: &str,
    own: &CloudSettings,
    clock: &Arc<dyn Clock>,
) -> Result<Cloud, CloudError> {
    let there = CloudSettings {
        auth_url: url.to_owned(),
        guests_auth_url: None,
        stack_users: None,
        signers: None,
        entrances: None,
        ..own.clone()
    };
    Cloud::of(Credentials::Nothing, there, Arc::clone(clock))
}
