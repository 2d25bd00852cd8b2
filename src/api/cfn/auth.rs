//! Who signed a request, by Keystone's word.

use actix_web::{HttpMessage, HttpRequest};

use super::asked::Asked;
use super::fault::{ACCESS_DENIED, CfnFault, INCOMPLETE_SIGNATURE, THROTTLING, UNKNOWN_KEY};
use super::signature::{self, Window};
use crate::api::context::{Authenticated, Context};
use crate::api::error::Fault;
use crate::api::front::{self, Admitted};
use crate::api::{ApiState, auth};
use crate::model::{Refusal, RequestId};
use crate::openstack::SignatureError;

/// Lets a request in whose signature is good, for as long as what is returned beside lives. One
/// that is not signed may come with a token, where it says so by `X-Auth-User`, as in Heat.
pub(in crate::api) async fn authenticate(
    state: &ApiState,
    request: &HttpRequest,
    asked: &Asked,
    window: Window,
) -> Result<(Context, Admitted), CfnFault> {
    let found = match signature::of(asked) {
        Ok(Some(signed)) => {
            signature::check_time(asked, window, state.clock.now())?;
            let Some(cloud) = &state.cloud else { return Err(ACCESS_DENIED.into()) };
            let signer = cloud.signer_of(&signed).await.map_err(refused)?;
            let (identity, token) = signer;
            Authenticated { caller: auth::known(state, identity.caller).await, token, login: None }
        }
        Ok(None) | Err(_) if asked.headers.contains_key("x-auth-user") => {
            let found = auth::identify(state, &asked.headers).await;
            found.map_err(|_| CfnFault::from(ACCESS_DENIED))?
        }
        Ok(None) => return Err(INCOMPLETE_SIGNATURE.into()),
        Err(fault) => return Err(fault),
    };
    let admitted = front::admit(state, request, &found.caller)?;
    let id = request.extensions().get::<RequestId>().cloned();
    let id = id.ok_or_else(|| Fault::new("Error", "An internal error occurred."))?;
    Ok((Context::of_caller(state, found, id)?, admitted))
}

fn refused(error: SignatureError) -> CfnFault {
    match error {
        SignatureError::UnknownKey => UNKNOWN_KEY.into(),
        SignatureError::Refused => ACCESS_DENIED.into(),
        SignatureError::Busy => THROTTLING.into(),
        SignatureError::Cloud(error) => {
            tracing::error!(%error, "a signature could not be checked");
            Refusal::unavailable("The identity service cannot be reached at present.").into()
        }
    }
}
