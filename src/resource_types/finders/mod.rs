//! Looking up objects of the cloud by name or id: where a property wants an id, and where a custom
//! constraint wants something that exists.

mod table;
#[cfg(test)]
mod tests;

use serde_json::Value;

pub(crate) use table::{Finder, Finders, Rows};

use self::table::By;
use crate::openstack::{CloudError, Request, Service, path_segment};
use crate::resource_types::asks::Asks;
use crate::resource_types::failure::{Failure, Words};

/// The id of the object that has the name or the id, by a finder of Hearth's own.
pub(crate) fn find(cloud: &Asks<'_>, finder: &str, wanted: &str) -> Result<String, Failure> {
    Finders::default().find(cloud, finder, wanted)
}

impl Finders {
    /// The id of the object that has the name or the id.
    pub(crate) fn find(
        &self,
        cloud: &Asks<'_>,
        finder: &str,
        wanted: &str,
    ) -> Result<String, Failure> {
        match self.get(finder) {
            Some(known) => known.find(cloud, wanted),
            None => Err(Failure::BadFile(format!("there is no finder {finder:?}"))),
        }
    }
}

impl Finder {
    fn find(&self, cloud: &Asks<'_>, wanted: &str) -> Result<String, Failure> {
        // An empty end of a path would ask for the whole collection.
        if wanted.is_empty() && self.by != By::Filters {
            return Err(self.missing(wanted));
        }
        match self.by {
            By::Filters => {
                // As Neutron's own client: what is no id is a name.
                let filters: &[&str] = if is_uuid(wanted) { &["id", "name"] } else { &["name"] };
                for filter in filters {
                    let request = self.get(&self.at).query(*filter, wanted).query("fields", "id");
                    let found = self.listed(cloud, request)?;
                    if let Some(id) = self.only(&found, wanted)? {
                        return Ok(id);
                    }
                }
                Err(self.missing(wanted))
            }
            By::Id => self.by_id(cloud, wanted)?.ok_or_else(|| self.missing(wanted)),
            By::IdThenList => {
                let (name, domain) = self.in_domain(wanted);
                match self.by_id(cloud, name)? {
                    Some(id) => Ok(id),
                    None => {
                        let mut request = self.searched(name);
                        if let Some(domain) = domain {
                            let domain = find(cloud, "keystone.domain", domain)?;
                            request = request.query("domain_id", domain);
                        }
                        self.search(cloud, request, name)
                    }
                }
            }
            By::Own if is_uuid(wanted) => Ok(wanted.to_owned()),
            By::Own if !self.query.is_empty() => self.search(cloud, self.searched(wanted), wanted),
            By::Own => {
                let project = cloud.project_id()?;
                let request = self.get(&self.at).query("project_id", project.as_str());
                self.search(cloud, request, wanted)
            }
            By::List => self.search(cloud, self.searched(wanted), wanted),
            By::Reference => {
                let end = wanted.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
                let found = self.by_id(cloud, end)?;
                found.map(|_| wanted.to_owned()).ok_or_else(|| self.missing(wanted))
            }
            By::Service => {
                let path = self.at.replace("{name}", &path_segment(wanted));
                match self.listed(cloud, self.get(&path)) {
                    Ok(found) if !found.is_empty() => Ok(wanted.to_owned()),
                    Err(error) if !error.is_not_found() => Err(error.into()),
                    Ok(_) | Err(_) => Err(self.missing(wanted)),
                }
            }
        }
    }

    /// A name and its domain, where it says one.
    fn in_domain<'a>(&self, wanted: &'a str) -> (&'a str, Option<&'a str>) {
        let parts = wanted.strip_suffix('}').and_then(|text| text.split_once('{'));
        match parts.filter(|_| self.domains) {
            Some((name, domain)) => (name, Some(domain)),
            None => (wanted, None),
        }
    }

    fn get(&self, path: &str) -> Request {
        Request::get(Service::of_type(&self.service), path)
    }

    /// The request for the list that has the object of this name.
    fn searched(&self, name: &str) -> Request {
        let request = self.get(self.search.as_ref().unwrap_or(&self.at));
        match self.query.is_empty() && self.by == By::IdThenList && !self.unfiltered {
            true => request.query(&self.name, name),
            false => self.query.iter().fold(request, |request, (key, value)| {
                request.query(key, value.replace("{name}", name))
            }),
        }
    }

    fn by_id(&self, cloud: &Asks<'_>, id: &str) -> Result<Option<String>, Failure> {
        if self.uuids && !is_uuid(id) {
            return Ok(None);
        }
        match cloud.send(self.get(&format!("{}/{}", self.at, path_segment(id)))) {
            Ok(response) => {
                let body = response.json()?;
                let object = self.wrap.as_ref().and_then(|wrap| body.get(wrap)).unwrap_or(&body);
                Ok(Some(self.id_of(object).unwrap_or_else(|| id.to_owned())))
            }
            Err(error) if error.is_not_found() || error.status() == Some(400) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn id_of(&self, object: &Value) -> Option<String> {
        object.get(&self.id).and_then(Value::as_str).map(str::to_owned)
    }

    fn listed(&self, cloud: &Asks<'_>, request: Request) -> Result<Vec<Value>, CloudError> {
        cloud.list(request, |mut body| match body.get_mut(&self.list).map(Value::take) {
            Some(Value::Array(list)) => list,
            _ => Vec::new(),
        })
    }

    fn search(&self, cloud: &Asks<'_>, request: Request, wanted: &str) -> Result<String, Failure> {
        let mut found = self.listed(cloud, request)?;
        let is = |object: &Value, field: &str| object.get(field).is_some_and(|has| has == wanted);
        found.retain(|object| is(object, &self.name) || is(object, &self.id));
        self.only(&found, wanted)?.ok_or_else(|| self.missing(wanted))
    }

    fn only(&self, found: &[Value], wanted: &str) -> Result<Option<String>, Failure> {
        match found {
            [] => Ok(None),
            [one] => Ok(self.id_of(one)),
            _ => Err(self.ambiguous(wanted)),
        }
    }

    fn missing(&self, wanted: &str) -> Failure {
        let (entity, wanted) = (self.entity.clone(), wanted.to_owned());
        Failure::Missing { entity, wanted, words: self.words() }
    }

    fn ambiguous(&self, wanted: &str) -> Failure {
        let (entity, wanted) = (self.entity.clone(), wanted.to_owned());
        Failure::Ambiguous { entity, wanted, words: self.words() }
    }

    /// In whose words Heat says what it does not find.
    fn words(&self) -> Words {
        match (self.by, self.service.as_str()) {
            (By::Filters, _) | (By::IdThenList, "network") => Words::Neutron,
            (By::Own, _) => Words::HeatByName,
            (_, "image") => Words::Glance,
            (By::IdThenList, "compute" | "database") => Words::Nova,
            _ => Words::Heat,
        }
    }
}

fn is_uuid(text: &str) -> bool {
    uuid::Uuid::parse_str(text).is_ok()
}
