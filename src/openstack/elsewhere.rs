//! Other places than a session's own: another region, or another cloud, which is known by a
//! credential that a user keeps for it in the key manager.

use std::fmt;
use std::sync::Arc;

use serde_json::json;
use uuid::Uuid;

use super::cloud::{Cloud, Place, versioned};
use super::error::CloudError;
use super::keystone::credentials::Credentials;
use super::keystone::given::Given;
use super::keystone::login::Login;
use super::request::Request;
use super::service::Service;
use super::session::Session;
use super::transport::{Believed, certificates};
use crate::model::Secret;

/// Where calls go instead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Elsewhere<'a> {
    pub region: Option<&'a str>,
    /// The secret that has the credential for another cloud: its id or its address.
    pub credential: Option<&'a str>,
    /// PEM text: an authority that is believed in the other cloud; without effect in a region of
    /// one's own.
    pub ca_cert: Option<&'a str>,
    /// Checks no certificate of the other cloud; without effect in a region of one's own.
    pub insecure: bool,
}

/// As Heat's errors name it.
impl fmt::Display for Elsewhere<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.credential {
            Some(_) => f.write_str("remote cloud"),
            None => write!(f, "region \"{}\"", self.region.unwrap_or("None")),
        }
    }
}

impl Session {
    /// A session for work there: the same user and project in another region, or whoever the
    /// credential is for. `None`: the service is the same there as here.
    pub async fn elsewhere(
        &self,
        to: &Elsewhere<'_>,
        service: &Service,
    ) -> Result<Option<Session>, CloudError> {
        let bound = self.bound()?;
        let there = match (to.credential, to.region) {
            (Some(secret), _) => {
                let payload = self.payload(secret).await?;
                bound.cloud.elsewhere(to, Some(&payload))?.service_session()
            }
            (None, None) => return Ok(None),
            (None, region) if bound.cloud.region() == region => return Ok(None),
            (None, Some(_)) => {
                let cloud = bound.cloud.elsewhere(to, None)?;
                match &bound.login.credentials {
                    Credentials::Trust { trust, project } => {
                        cloud.session_for_trust(trust, project)
                    }
                    other => cloud.session(other.clone()),
                }
            }
        };
        let there = Session { bound: there.bound, ..self.clone() };
        let place = there.endpoint(service).await?;
        let is_same =
            to.credential.is_none() && self.endpoint(service).await.is_ok_and(|here| here == place);
        Ok((!is_same).then_some(there))
    }

    /// What a secret holds. It is read each time, with the rights that its reader has by then.
    async fn payload(&self, secret: &str) -> Result<Secret<String>, CloudError> {
        let id = secret.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        let Ok(id) = Uuid::try_parse(id) else {
            return Err(wrong("ValueError", "Secret incorrectly specified."));
        };
        let missing = |error: CloudError| match error.is_not_found() {
            true => {
                let text = format!("The Secret ({secret}) could not be found.");
                wrong("EntityNotFound", text)
            }
            false => error,
        };
        let keys = Service::of_type("key-manager");
        let shown = Request::get(keys.clone(), format!("/v1/secrets/{id}"));
        let shown = self.send(shown).await.map_err(missing)?.json()?;
        let Some(kind) = shown["content_types"]["default"].as_str() else {
            let text = "the JSON object must be str, bytes or bytearray, not NoneType";
            return Err(wrong("TypeError", text));
        };
        let payload =
            Request::get(keys, format!("/v1/secrets/{id}/payload")).header("accept", kind);
        let payload = self.send(payload).await.map_err(missing)?;
        // What is no text is no JSON either.
        Ok(Secret::new(String::from_utf8_lossy(&payload.bytes).into_owned()))
    }
}

impl Cloud {
    /// The cloud that a credential is for, or another region of this one.
    fn elsewhere(
        &self,
        to: &Elsewhere<'_>,
        credential: Option<&Secret<String>>,
    ) -> Result<Cloud, CloudError> {
        let of_credential = credential.map(|it| json!([it.reveal(), to.ca_cert, to.insecure]));
        let key = json!([to.region, of_credential]).to_string();
        self.at(&Secret::new(key), |here| place(here, to, credential))
    }
}

fn place(
    here: &Place,
    to: &Elsewhere<'_>,
    credential: Option<&Secret<String>>,
) -> Result<Place, CloudError> {
    let mut preference = here.preference.clone();
    preference.region = to.region.map(str::to_owned).or(preference.region);
    let Some(credential) = credential else {
        // The same Keystone, with Hearth's own password: only the operator says whom to believe.
        return Ok(Place {
            auth_url: here.auth_url.clone(),
            guests_auth_url: here.guests_auth_url.clone(),
            preference,
            transport: Arc::clone(&here.transport),
            service: Arc::clone(&here.service),
        });
    };
    let Given { auth_url, credentials } = Given::read(credential.reveal())?;
    let auth_url = versioned(&auth_url);
    // Whom an operator believes at home says nothing of another cloud.
    let believed = believed(to)?;
    // Whoever is somebody else in this cloud goes where the operator said that it is.
    let transport = match auth_url == here.auth_url {
        true => here.transport.believing(believed)?,
        false => here.transport.foreign(believed),
    };
    Ok(Place {
        guests_auth_url: auth_url.clone(),
        auth_url,
        preference,
        transport: Arc::new(transport),
        service: Arc::new(Login::new(credentials)),
    })
}

fn believed(to: &Elsewhere<'_>) -> Result<Believed, CloudError> {
    let unusable = |reason| wrong("ValueError", format!("ca_cert cannot be read: {reason}"));
    let pem = to.ca_cert.filter(|_| !to.insecure).map(|pem| certificates(pem.as_bytes()));
    Ok(Believed {
        certificates: pem.transpose().map_err(unusable)?.unwrap_or_default(),
        insecure: to.insecure,
    })
}

fn wrong(class: &'static str, message: impl Into<String>) -> CloudError {
    CloudError::Credential { class: class.into(), message: message.into(), is_transient: false }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SystemClock;
    use crate::openstack::cloud::CloudSettings;

    #[test]
    fn a_region_is_spoken_to_as_the_operator_says_whatever_a_template_says() {
        let password = Secret::new("secret".to_owned());
        let settings = CloudSettings::new("https://h:5000", "hearth", password, "service");
        let cloud = Cloud::new(settings, Arc::new(SystemClock)).unwrap();
        let plain = Elsewhere { region: Some("R"), ..Elsewhere::default() };
        let lax = Elsewhere { insecure: true, ca_cert: Some("none at all"), ..plain };
        let (one, other) = (cloud.elsewhere(&plain, None).unwrap(), cloud.elsewhere(&lax, None));
        let other = other.unwrap();
        assert!(std::ptr::eq(one.transport(), other.transport()));
        assert!(std::ptr::eq(one.transport(), cloud.transport()));
        assert_eq!(other.auth_url(""), "https://h:5000/v3/");
        assert_eq!(other.guests_auth_url(), "https://h:5000/v3/");
    }
}
