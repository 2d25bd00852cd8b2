//! What the engine is asked of types before there is a template.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::asks::RequestContext;
use super::engine::Engine;
use super::exposure::{check_allowed, check_extension, has, unavailable};
use crate::model::{Caller, Refusal};
use crate::openstack::Session;

impl Engine {
    /// Refuses a type that the caller may not use.
    pub async fn allow_type(&self, caller: &Arc<Caller>, type_name: &str) -> Result<(), Refusal> {
        check_allowed(&self.services, caller, vec![type_name.to_owned()]).await
    }

    /// Of these types, those that the caller may not use.
    pub async fn forbidden_types(
        &self,
        caller: &Arc<Caller>,
        types: BTreeSet<String>,
    ) -> BTreeSet<String> {
        (self.services.forbidden_types)(Arc::clone(caller), types).await
    }

    /// The cloud of whoever asks, as Hearth's own user sees it.
    pub fn cloud_of(&self, who: &RequestContext) -> Session {
        let cloud = self.services.cloud.as_ref();
        let session = cloud.map(|cloud| who.session(cloud, &who.caller.project_id));
        match session {
            Some(session) => session.of_service(),
            None => Session::detached(&self.services.clock),
        }
    }

    /// Refuses a type that the cloud has no service for, or whose extension that does not have.
    pub async fn find_service(&self, cloud: &Session, type_name: &str) -> Result<(), Refusal> {
        let schema = self.services.registry.schema(type_name);
        let Some(service) = schema.and_then(|schema| schema.service.as_deref()) else {
            return Ok(());
        };
        match has(cloud, service).await {
            Some(false) => {
                let reason = "Service endpoint not in service catalog.";
                Err(unavailable(type_name, service, reason))
            }
            Some(true) => check_extension(&self.services, cloud, type_name).await,
            None => Ok(()),
        }
    }
}
