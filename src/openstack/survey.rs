//! What the services of a cloud say of themselves, for whoever looks whether all is well.

use chrono::{DateTime, Utc};
use serde_json::Value;

use super::catalog::version_document;
use super::error::CloudError;
use super::microversion::MicroversionRange;
use super::request::Method;
use super::service::Service;
use super::session::Session;
use super::transport::Call;

/// What a service said.
#[derive(Clone, Debug)]
pub struct Surveyed {
    /// Where the catalog says it is.
    pub endpoint: String,
    /// `2.1 to 2.96`, `v3.14`; `None` where it shows none.
    pub version: Option<String>,
    /// What its clock says.
    pub date: Option<DateTime<Utc>>,
}

impl Session {
    /// Asks a service for its version document. A service that refuses to show one answers
    /// nevertheless.
    pub async fn survey(&self, service: &Service) -> Result<Surveyed, CloudError> {
        let endpoint = self.endpoint(service).await?;
        let url = version_document(&endpoint, service);
        let mut call = Call::new(service.clone(), Method::Get, url);
        call.header("x-auth-token", self.token().await?.reveal())?;
        let mut surveyed = Surveyed { endpoint, version: None, date: None };
        match self.bound()?.cloud.transport().send(&call).await {
            Ok(answer) => {
                surveyed.version = answer.json().ok().as_ref().and_then(version);
                surveyed.date = answer
                    .header("date")
                    .and_then(|date| DateTime::parse_from_rfc2822(date).ok())
                    .map(|date| date.with_timezone(&Utc));
            }
            Err(CloudError::Answered { status, .. }) if status < 500 => {}
            Err(error) => return Err(error),
        }
        Ok(surveyed)
    }
}

/// The microversions of a version document, or else the name of its newest version.
fn version(document: &Value) -> Option<String> {
    if let Some(range) = MicroversionRange::read(document) {
        return Some(format!("{} to {}", range.min, range.max));
    }
    let id = |version: &Value| version["id"].as_str().map(str::to_owned);
    let several = document["versions"].as_array();
    let newest = several.into_iter().flatten().filter_map(id).max_by_key(|id| numbers(id));
    id(&document["version"]).or(newest)
}

/// `v2.10` comes after `v2.9`.
fn numbers(id: &str) -> Vec<u32> {
    id.trim_start_matches('v').split('.').map(|part| part.parse().unwrap_or(0)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_version_is_read_as_each_service_writes_it() {
        let compute = json!({"version": {"id": "v2.1", "version": "2.93", "min_version": "2.1"}});
        assert_eq!(version(&compute).as_deref(), Some("2.1 to 2.93"));
        assert_eq!(version(&json!({"version": {"id": "v3.14"}})).as_deref(), Some("v3.14"));
        let image = json!({"versions": [{"id": "v2.9"}, {"id": "v2.16"}, {"id": "v2.0"}]});
        assert_eq!(version(&image).as_deref(), Some("v2.16"));
        assert_eq!(version(&json!({})), None);
    }
}
