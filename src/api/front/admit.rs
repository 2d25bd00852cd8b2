//! Whether a caller may have one more request, or feed, at work.

use std::rc::Rc;

use actix_web::HttpRequest;

use super::bounds::{OwnedPlace, Owner};
use super::visit::{AtWork, Visit};
use crate::api::ApiState;
use crate::api::error::Fault;
use crate::model::Caller;

/// A request that is counted with its caller until this is dropped.
pub(in crate::api) struct Admitted {
    _place: OwnedPlace,
}

/// Counts a request, and its connection, with the caller that a valid token names.
pub(in crate::api) fn admit(
    state: &ApiState,
    request: &HttpRequest,
    caller: &Caller,
) -> Result<Admitted, Fault> {
    let owner = Owner::of(caller);
    if let Some(visit) = request.conn_data::<Rc<Visit>>()
        && !visit.belongs_to(&owner, &state.bounds)
    {
        return Err(Fault::too_many("connections"));
    }
    let place = state.bounds.requests.take(&owner).ok_or_else(|| Fault::too_many("requests"))?;
    Ok(Admitted { _place: place })
}

/// A feed that is counted with its caller until this is dropped, and whose connection is at work.
pub(in crate::api) struct OpenFeed {
    _place: OwnedPlace,
    _at_work: Option<AtWork>,
}

/// Counts a feed.
pub(in crate::api) fn feed(
    state: &ApiState,
    request: &HttpRequest,
    caller: &Caller,
) -> Result<OpenFeed, Fault> {
    let place = state.bounds.feeds.take(&Owner::of(caller));
    Ok(OpenFeed {
        _place: place.ok_or_else(|| Fault::too_many("feeds"))?,
        _at_work: request.conn_data::<Rc<Visit>>().map(Visit::begin),
    })
}
