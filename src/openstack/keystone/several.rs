//! Several clouds whose users are let in: those that are asked in turn who signed a request
//! (`[ec2authtoken] multi_cloud`), and those that a caller names who comes with a password
//! (`[auth_password] multi_cloud`). A token that one of them gives, and a trust that is made with
//! it, bear its name, `NAME/…`: whoever uses them is led back to that cloud.

use percent_encoding::percent_decode_str;

use super::ec2::{Question, SignatureError, SignedRequest};
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
    /// Whether it is the same cloud, by whichever name.
    pub fn is(&self, other: &Home<'_>) -> bool {
        self.cloud.keystone() == other.cloud.keystone()
    }

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
        let question = Question::about(request)?;
        let Some(signers) = &self.others().signers else {
            return self.own_signer_of(&question).await;
        };
        let clouds = || signers.iter().map(|it| (&it.mark, it.cloud.as_ref().unwrap_or(self)));
        // Whoever is known to have signed it is no reason to ask those before his cloud again.
        for (mark, cloud) in clouds() {
            if let Some((identity, token)) = cloud.known_signer_of(&question) {
                return Ok((identity, marked(mark, &token)));
            }
        }
        let mut failure = SignatureError::UnknownKey;
        for (mark, cloud) in clouds() {
            match cloud.own_signer_of(&question).await {
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

    /// Where what is on record comes from: a trust, or whatever bears a mark. Errors: that cloud is
    /// not listed any more, and no other may be shown it.
    pub fn kept_at(&self, kept: &Secret<String>) -> Result<Home<'_>, CloudError> {
        let home = self.home_of(kept);
        // Every mark has a slash, and no id that Keystone makes.
        match kept.reveal().split_once('/') {
            Some((name, _)) if home.mark.is_empty() => Err(unlisted(name)),
            Some(_) | None => Ok(home),
        }
    }

    /// Where a token or a trust comes from that was got just now.
    pub fn home_of(&self, secret: &Secret<String>) -> Home<'_> {
        let found = self.others().all().find_map(|Other { mark, cloud, .. }| {
            let cloud = cloud.as_ref()?;
            let secret = Secret::new(secret.reveal().strip_prefix(mark)?.to_owned());
            Some(Home { cloud, secret, mark })
        });
        found.unwrap_or_else(|| Home { cloud: self, secret: secret.clone(), mark: "" })
    }
}

fn unlisted(name: &str) -> CloudError {
    let name = percent_decode_str(name).decode_utf8_lossy();
    CloudError::Credential {
        class: "AuthorizationFailure".into(),
        message: format!("The cloud {name}, where this work was begun, is not listed any more."),
        is_transient: false,
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

    /// A cloud `here`, and what it lists.
    fn cloud() -> Cloud {
        let at = |url: &str| CloudSettings::new(url, "heat", secret("s"), "service");
        let listed =
            [("here", "http://here:5000/v3/"), ("ea/st", "http://east"), ("e", "http://e")];
        let listed = listed.map(|(name, url)| (name.to_owned(), at(url)));
        let settings = CloudSettings {
            signers: Some(listed.into()),
            entrances: Some(
                ["http://here:5000", "http://west/v3", "http://e/v3"].map(str::to_owned).into(),
            ),
            ..at("http://here:5000")
        };
        Cloud::new(settings, Arc::new(SystemClock)).unwrap()
    }

    #[test]
    fn what_bears_a_clouds_name_is_led_back_to_it() {
        let cloud = cloud();
        let west = format!("{}/t", path_segment("http://west/v3"));
        for (given, url, there) in [
            ("t", "http://here:5000/v3/", "t"),
            ("here/t", "http://here:5000/v3/", "here/t"),
            ("ea%2Fst/t/u", "http://east/v3/", "t/u"),
            ("e/t", "http://e/v3/", "t"),
            (west.as_str(), "http://west/v3/", "t"),
        ] {
            let home = cloud.home_of(&secret(given));
            assert_eq!(home.cloud.keystone(), url, "{given}");
            assert_eq!(home.secret.reveal(), there);
            assert_eq!(home.marked(&home.secret).reveal(), given);
        }
    }

    #[test]
    fn what_is_kept_for_a_cloud_that_is_no_longer_listed_leads_nowhere() {
        let cloud = cloud();
        for (kept, url) in [("", "http://here:5000/v3/"), ("t", "http://here:5000/v3/")] {
            assert_eq!(cloud.kept_at(&secret(kept)).unwrap().cloud.keystone(), url);
        }
        let by_mark = cloud.kept_at(&secret("e/")).unwrap();
        assert_eq!(by_mark.cloud.keystone(), "http://e/v3/");
        for gone in ["gone/", "http:%2F%2Fgone/t"] {
            let error = cloud.kept_at(&secret(gone)).err().unwrap();
            assert_eq!(error.class(), "AuthorizationFailure");
            assert!(!error.is_transient() && error.to_string().contains("gone"), "{error}");
        }
        let by_url = cloud.home_of(&secret(&format!("{}/t", path_segment("http://e/v3"))));
        assert!(by_url.is(&by_mark) && !by_url.is(&cloud.home_of(&secret("t"))));
    }

    #[test]
    fn hearth_is_in_a_listed_cloud_whom_that_clouds_own_group_says() {
        let cloud = cloud();
        let is_somebody = |mark: &str| cloud.home_of(&secret(mark)).cloud.has_user();
        assert!(is_somebody("") && is_somebody("e/"));
        // The same cloud, by the name that callers give it.
        assert!(is_somebody(&format!("{}/", path_segment("http://e/v3"))));
        assert!(!is_somebody(&format!("{}/", path_segment("http://west/v3"))));
    }
}
