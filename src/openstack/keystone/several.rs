//! Several clouds whose users are let in: those that are asked in turn who signed a request
//! (`[ec2authtoken] multi_cloud`), and those that a caller names who comes with a password
//! (`[auth_password] multi_cloud`). A token that one of them gives, and a trust that is made with
//! it, bear its name, `NAME/…`: whoever uses them is led back to that cloud.

use super::ec2::{SignatureError, SignedRequest};
use super::password::NameAndPassword;
use super::validate::Identity;
use crate::model::Secret;
use crate::openstack::cloud::{Cloud, Other};
use crate::openstack::error::CloudError;

/// Where a token or a trust comes from, and what it is there.
pub struct Home<'a> {
    pub cloud: &'a Cloud,
    pub(in crate::openstack) secret: Secret<String>,
    /// What begins everything that comes from there; nothing for the own cloud.
    pub mark: &'a str,
}

/// Why somebody with a password is not let in.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EntranceError {
    #[error("Request missing required header X-Auth-Url")]
    Unnamed,
    #[error("Header X-Auth-Url \"{0}\" not an allowed endpoint")]
    NotAllowed(String),
    #[error(transparent)]
    Cloud(#[from] CloudError),
}

impl Home<'_> {
    /// What is called so there, as it is called here.
    pub(in crate::openstack) fn marked(&self, secret: &Secret<String>) -> Secret<String> {
        marked(self.mark, secret)
    }
}

fn marked(mark: &str, secret: &Secret<String>) -> Secret<String> {
    Secret::new(format!("{mark}{}", secret.reveal()))
}

impl Cloud {
    /// Who signed the request, and a token of his. Of several clouds the first that takes the
    /// signature counts; where none does, what one says that knows the key, or did not answer.
    pub async fn signer_of(
        &self,
        request: &SignedRequest,
    ) -> Result<(Identity, Secret<String>), SignatureError> {
        let Some(signers) = &self.others().signers else {
            return self.own_signer_of(request).await;
        };
        let mut failure = SignatureError::UnknownKey;
        for Other { mark, cloud, .. } in signers {
            match cloud.as_ref().unwrap_or(self).own_signer_of(request).await {
                Ok((identity, token)) => return Ok((identity, marked(mark, &token))),
                Err(SignatureError::UnknownKey) => {}
                Err(SignatureError::Refused) if matches!(failure, SignatureError::Cloud(_)) => {}
                Err(error) => failure = error,
            }
        }
        Err(failure)
    }

    /// Who comes with a name and a password, and a token of his: in the cloud that he names, where
    /// callers have to name one.
    pub async fn entered(
        &self,
        url: Option<&str>,
        given: &NameAndPassword<'_>,
    ) -> Result<(Identity, Secret<String>), EntranceError> {
        let Some(entrances) = &self.others().entrances else {
            return Ok(self.logged_in(given).await?);
        };
        let url = url.filter(|url| !url.is_empty()).ok_or(EntranceError::Unnamed)?;
        let Some(Other { mark, cloud, .. }) = entrances.iter().find(|it| it.name == url) else {
            return Err(EntranceError::NotAllowed(url.to_owned()));
        };
        let (identity, token) = cloud.as_ref().unwrap_or(self).logged_in(given).await?;
        Ok((identity, marked(mark, &token)))
    }

    /// Where a token or a trust comes from.
    pub fn home_of(&self, secret: &Secret<String>) -> Home<'_> {
        let found = self.others().all().find_map(|Other { mark, cloud, .. }| {
            let cloud = cloud.as_ref()?;
            let secret = Secret::new(secret.reveal().strip_prefix(mark)?.to_owned());
            Some(Home { cloud, secret, mark })
        });
        found.unwrap_or_else(|| Home { cloud: self, secret: secret.clone(), mark: "" })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::clock::SystemClock;
    use crate::openstack::cloud::CloudSettings;
    use crate::openstack::request::path_segment;

    fn secret(text: &str) -> Secret<String> {
        Secret::new(text.to_owned())
    }

    #[test]
    fn what_bears_a_clouds_name_is_led_back_to_it() {
        let at = |url: &str| CloudSettings::new(url, "heat", secret("s"), "service");
        let listed =
            [("here", "http://here:5000/v3/"), ("ea/st", "http://east"), ("e", "http://e")];
        let listed = listed.map(|(name, url)| (name.to_owned(), at(url)));
        let settings = CloudSettings {
            signers: Some(listed.into()),
            entrances: Some(vec!["http://here:5000".to_owned(), "http://west/v3".to_owned()]),
            ..at("http://here:5000")
        };
        let cloud = Cloud::new(settings, Arc::new(SystemClock)).unwrap();
        let west = format!("{}/t", path_segment("http://west/v3"));
        for (given, url, there) in [
            ("t", "http://here:5000/v3/", "t"),
            ("here/t", "http://here:5000/v3/", "here/t"),
            ("ea%2Fst/t/u", "http://east/v3/", "t/u"),
            ("e/t", "http://e/v3/", "t"),
            (west.as_str(), "http://west/v3/", "t"),
        ] {
            let home = cloud.home_of(&secret(given));
            assert_eq!(home.cloud.auth_url(""), url, "{given}");
            assert_eq!(home.secret.reveal(), there);
            assert_eq!(home.marked(&home.secret).reveal(), given);
        }
    }
}
