//! `Fn::GetAZs`: the names of the availability zones. The region that it is asked for plays no
//! part in it, as in Heat.

use std::sync::Arc;

use super::{Call, Function, Scope};
use crate::template::error::Outcome;
use crate::template::value::Datum;

#[derive(Debug)]
struct GetAzs(Call);

/// Parses a call.
pub(super) fn parse(call: Call) -> Outcome<Arc<dyn Function>> {
    Ok(Arc::new(GetAzs(call)))
}

impl Function for GetAzs {
    fn call(&self) -> &Call {
        &self.0
    }

    fn resolve(&self, _scope: &Scope<'_>) -> Outcome<Option<Datum>> {
        Ok(Some(Datum::List(vec![Datum::from("nova")])))
    }
}
