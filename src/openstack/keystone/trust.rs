//! Trusts: a user's leave for Hearth's own user to work in his name in one project.

use serde_json::json;

use crate::model::{Caller, Secret};
use crate::openstack::cloud::Cloud;
use crate::openstack::error::CloudError;
use crate::openstack::request::{Request, path_segment};
use crate::openstack::service::Service;

impl Cloud {
    /// Has the token's owner trust Hearth's user with roles that the token has. The id of the trust
    /// is a secret: with Hearth's password it opens the user's project. Keystone refuses (403) a
    /// token that was itself delegated.
    pub async fn create_trust(
        &self,
        token: &Secret<String>,
        caller: &Caller,
        roles: &[String],
    ) -> Result<Secret<String>, CloudError> {
        let home = self.home_of(token);
        let trustee = home.cloud.service_session().caller().await?;
        let roles: Vec<_> = roles.iter().map(|role| json!({"name": role})).collect();
        let trust = json!({"trust": {
            "trustor_user_id": caller.user_id,
            "trustee_user_id": trustee.user_id,
            "project_id": caller.project_id,
            "impersonation": true,
            "roles": roles,
        }});
        let answer = home
            .cloud
            .session_for_token(&home.secret, &caller.project_id)
            .send(Request::post(Service::Identity, "/v3/OS-TRUST/trusts").json(trust))
            .await?;
        match answer.json()?["trust"]["id"].as_str() {
            Some(id) => Ok(home.marked(&Secret::new(id.to_owned()))),
            None => Err(CloudError::Unreadable {
                service: Service::Identity,
                reason: "the trust has no id".to_owned(),
            }),
        }
    }

    /// Gives a trust that was kept back to the cloud where it was made. One that is gone already is
    /// no error.
    pub async fn delete_trust(&self, trust: &Secret<String>) -> Result<(), CloudError> {
        let home = self.kept_at(trust)?;
        let (cloud, trust) = (home.cloud, &home.secret);
        let path = format!("/v3/OS-TRUST/trusts/{}", path_segment(trust.reveal()));
        let request = Request::delete(Service::Identity, path);
        let session = cloud.session_for_trust(trust, &String::new().into());
        cloud.forget_trust(trust);
        let outcome = match session.send(request.clone()).await {
            // The trust may no longer open anything (its user is disabled, has lost a role): then
            // only an administrator can remove it, which Hearth's user may be.
            Err(error) if error.status().is_some_and(|status| status < 500) => {
                cloud.service_session().send(request).await
            }
            outcome => outcome,
        };
        match outcome {
            Ok(_) => Ok(()),
            Err(error) if error.is_not_found() => Ok(()),
            Err(error) => Err(error),
        }
    }
}
