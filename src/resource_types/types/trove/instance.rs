//! OS::Trove::Instance: an update brings the name, the flavor, the size, the databases and the users
//! one after the other to what they should be, and looks at the instance before each.

use serde_json::{Value, json};

use super::{TYPE, VERSION, nics, text, write_datastore};
use crate::events::resource::Step;
use crate::model::{JsonMap, Refusal};
use crate::openstack::{Method, path_segment};
use crate::resource_types::asks::Asks;
use crate::resource_types::declared::{Beating, Declared, done, next};
use crate::resource_types::failure::Failure;
use crate::resource_types::job::{Beat, Learned, Subject, Work};
use crate::resource_types::python;
use crate::resource_types::resource_type::{At, Purpose, ResourceType};
use crate::resource_types::stage::{Stages, stages};

pub(in crate::resource_types::types) struct Instance;

/// Why an instance is in a bad state.
const FAILED: &str = "The database instance was created, but heat failed to set up the datastore. If \
                      a database instance is in the FAILED state, it should be deleted and a new one \
                      should be created.";
const ERROR: &str = "The last operation for the database instance failed due to an error.";

stages! {
    /// What an instance does otherwise.
    enum Stage {
        Change = "change" Changes,
    }
}

impl ResourceType for Instance {
    fn first(&self, declared: &Declared, work: &Work, subject: &Subject) -> Step {
        match work {
            Work::Update { .. } => Stage::Change.step(),
            Work::Create | Work::Delete | Work::Act(_) => declared.first_step(work, subject),
        }
    }

    fn beat(&self, declared: &Declared, beating: &Beating<'_>) -> Result<Beat, Failure> {
        match Stage::of(beating.step) {
            Some(Stage::Change) => change(declared, beating),
            None => declared.plain_beat(beating),
        }
    }

    fn body(&self, _purpose: Purpose, _subject: &Subject, body: &mut JsonMap) {
        write_datastore(body);
        if let Some(size) = body.shift_remove("size") {
            body.insert("volume".to_owned(), json!({ "size": size }));
        }
        let nics = nics(body.shift_remove("networks"));
        if !nics.is_empty() {
            body.insert("nics".to_owned(), nics.into());
        }
        if let Some(point) = body.shift_remove("restore_point") {
            body.insert("restorePoint".to_owned(), json!({ "backupRef": point }));
        }
        if let Some(Value::Array(users)) = body.get_mut("users") {
            users.iter_mut().for_each(|user| *user = as_sent(user));
        }
    }

    fn validate(&self, name: &str, properties: &JsonMap) -> Result<(), Refusal> {
        if text(properties, TYPE).is_none() && text(properties, VERSION).is_some() {
            return Err(Refusal::validation(format!("Not allowed - {VERSION} without {TYPE}.")));
        }
        let databases = entries(properties, "databases");
        let known: Vec<&Value> = databases.iter().map(|database| &database["name"]).collect();
        for user in entries(properties, "users") {
            let wanted = user["databases"].as_array().into_iter().flatten();
            let missing: Vec<Value> =
                wanted.filter(|name| !known.contains(name)).cloned().collect();
            if !missing.is_empty() {
                return Err(Refusal::validation(format!(
                    "Database {} specified for user does not exist in databases for resource \
                     {name}.",
                    python::text(&missing.into())
                )));
            }
        }
        Ok(())
    }

    fn asked_of_cloud(&self, properties: &JsonMap) -> Option<JsonMap> {
        super::asked_of_cloud(properties)
    }

    fn validate_in_cloud(&self, cloud: &Asks<'_>, asked: &JsonMap) -> Result<(), Refusal> {
        super::validate_in_cloud(cloud, asked)
    }

    fn attribute(&self, _at: At<'_>, object: &Value, name: &str) -> Result<Option<Value>, Failure> {
        if name != "href" {
            return Ok(None);
        }
        let links = object["links"].as_array().into_iter().flatten();
        let own = links.into_iter().find(|link| link["rel"] == "self");
        Ok(Some(own.map(|link| link["href"].clone()).unwrap_or_default()))
    }

    fn live(
        &self,
        at: At<'_>,
        object: &Value,
        name: &str,
        wanted: &Value,
    ) -> Result<Option<Value>, Failure> {
        Ok(match name {
            "name" => object.get("name").cloned(),
            "flavor" => Some(object["flavor"]["id"].clone()),
            "size" => Some(object["volume"]["size"].clone()),
            // No more than their names is shown.
            "databases" => {
                let shown = Parts { at, kind: "databases" }.names()?;
                let (mut live, mut others) = (Vec::new(), shown);
                for database in wanted.as_array().into_iter().flatten() {
                    if let Some(index) = others.iter().position(|name| database["name"] == **name) {
                        others.remove(index);
                        live.push(database.clone());
                    }
                }
                live.extend(others.into_iter().map(|name| json!({ "name": name })));
                Some(live.into())
            }
            // A password is never shown.
            _ => None,
        })
    }
}

fn entries(properties: &JsonMap, name: &str) -> Vec<Value> {
    properties.get(name).and_then(Value::as_array).cloned().unwrap_or_default()
}

/// A user as the service is told of him.
fn as_sent(user: &Value) -> Value {
    let mut user = user.as_object().cloned().unwrap_or_default();
    user.retain(|_, value| !value.is_null());
    let databases = entries(&user, "databases");
    let databases: Vec<Value> = databases.iter().map(|name| json!({ "name": name })).collect();
    user.insert("databases".to_owned(), databases.into());
    user.into()
}

/// The next change that the instance needs, once it is at rest.
fn change(declared: &Declared, beating: &Beating<'_>) -> Result<Beat, Failure> {
    let Beating { cloud, work, subject, .. } = *beating;
    let Work::Update { changed, .. } = work else { return Ok(done()) };
    let instance = declared.show(cloud, subject)?;
    let status = instance["status"].as_str().unwrap_or_default();
    match status {
        "ACTIVE" => {}
        "FAILED" => return Err(Failure::in_error(status, FAILED)),
        "ERROR" => return Err(Failure::in_error(status, ERROR)),
        _ => return Ok(Beat::Wait { after: None }),
    }
    let all = declared.properties(&subject.properties);
    let all = declared.declaration().resolved(cloud, all)?;
    let named = all.get("name").filter(|name| !name.is_null());
    let name = named.cloned().unwrap_or_else(|| subject.physical_name.as_str().into());
    let (flavor, size) = (&all["flavor"], &all["size"]);
    let is_due = |property: &str, live: &Value, wanted: &Value| {
        changed.contains(property) && python::text(live) != python::text(wanted)
    };
    // What was asked for once is waited for, and not asked for again.
    let asked = beating.step.state.as_u64().unwrap_or_default();
    let resize = |what: Value| (Method::Post, "/action", json!({ "resize": what }));
    let dues = [
        is_due("name", &instance["name"], &name)
            .then(|| (Method::Patch, "", json!({ "instance": { "name": name } }))),
        is_due("flavor", &instance["flavor"]["id"], flavor)
            .then(|| resize(json!({ "flavorRef": flavor }))),
        is_due("size", &instance["volume"]["size"], size)
            .then(|| resize(json!({ "volume": { "size": size } }))),
    ];
    let mut dues = dues.into_iter().zip(1_u64..).filter(|(_, number)| *number > asked);
    if let Some((Some((method, path, body)), number)) = dues.find(|(due, _)| due.is_some()) {
        let path = format!("/instances/{{id}}{path}");
        cloud.send(declared.request(cloud, method, &path, subject, None)?.json(body))?;
        return Ok(next(Learned::default(), Stage::Change.with(number.into())));
    }
    let at = At { declared, cloud, subject };
    if changed.contains("databases") {
        Parts { at, kind: "databases" }.bring(&entries(&all, "databases"))?;
    }
    if changed.contains("users") {
        let users = entries(&all, "users");
        let users: Vec<Value> = users.iter().map(as_sent).collect();
        let parts = Parts { at, kind: "users" };
        let known = parts.bring(&users)?;
        for user in users.iter().filter(|user| known.iter().any(|name| user["name"] == **name)) {
            parts.change_user(user)?;
        }
    }
    Ok(done())
}

/// The databases of an instance, or its users.
#[derive(Clone, Copy)]
struct Parts<'a> {
    at: At<'a>,
    kind: &'static str,
}

impl Parts<'_> {
    /// A call below the instance.
    fn call(&self, method: Method, path: &str, body: Option<Value>) -> Result<Value, Failure> {
        let At { declared, cloud, subject } = self.at;
        let path = format!("/instances/{{id}}/{}{path}", self.kind);
        let mut request = declared.request(cloud, method, &path, subject, None)?;
        if let Some(body) = body {
            request = request.json(body);
        }
        let answer = match cloud.send(request) {
            // What is to go is gone.
            Err(error) if method == Method::Delete && error.is_not_found() => {
                return Ok(Value::Null);
            }
            answer => answer?,
        };
        if method == Method::Get { Ok(answer.json()?) } else { Ok(Value::Null) }
    }

    fn names(&self) -> Result<Vec<String>, Failure> {
        let listed = self.call(Method::Get, "", None)?;
        let listed = listed[self.kind].as_array().into_iter().flatten();
        Ok(listed.map(|one| python::text(&one["name"])).collect())
    }

    /// Makes those that are missing and deletes those that are not wanted; the names of those that
    /// there were.
    fn bring(&self, wanted: &[Value]) -> Result<Vec<String>, Failure> {
        let known = self.names()?;
        for one in wanted.iter().filter(|one| known.iter().all(|name| one["name"] != **name)) {
            self.call(Method::Post, "", Some(json!({ self.kind: [one] })))?;
        }
        for name in known.iter().filter(|name| wanted.iter().all(|one| one["name"] != ***name)) {
            self.call(Method::Delete, &format!("/{}", path_segment(name)), None)?;
        }
        Ok(known)
    }

    /// Makes a user that there is what he should be.
    fn change_user(&self, user: &Value) -> Result<(), Failure> {
        let path = format!("/{}", path_segment(&python::text(&user["name"])));
        let said = |name: &str| Some((name.to_owned(), user.get(name)?.clone()));
        let own: JsonMap = ["host", "password"].iter().filter_map(|name| said(name)).collect();
        if !own.is_empty() {
            self.call(Method::Put, &path, Some(json!({ "user": own })))?;
        }
        let shown = self.call(Method::Get, &path, None)?;
        let names = |of: &Value| -> Vec<String> {
            let all = of["databases"].as_array().into_iter().flatten();
            all.map(|database| python::text(&database["name"])).collect()
        };
        let (has, wants) = (names(&shown["user"]), names(user));
        let granted: Vec<Value> = wants
            .iter()
            .filter(|name| !has.contains(name))
            .map(|name| json!({ "name": name }))
            .collect();
        if !granted.is_empty() {
            let body = json!({ "databases": granted });
            self.call(Method::Put, &format!("{path}/databases"), Some(body))?;
        }
        for name in has.iter().filter(|name| !wants.contains(name)) {
            let path = format!("{path}/databases/{}", path_segment(name));
            self.call(Method::Delete, &path, None)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(value: Value) -> JsonMap {
        value.as_object().cloned().unwrap_or_default()
    }

    #[test]
    fn a_body_says_it_in_the_services_words() {
        let mut body = map(json!({
            "name": "n", "flavorRef": "f", "size": 2, "datastore_type": "mysql",
            "networks": [{ "network": "net", "fixed_ip": null }], "restore_point": "b",
            "users": [{ "name": "u", "password": "p", "databases": ["d"] }],
        }));
        Instance.body(Purpose::Create, &Subject::default(), &mut body);
        let wanted = json!({
            "name": "n", "flavorRef": "f", "volume": { "size": 2 },
            "datastore": { "type": "mysql" }, "nics": [{ "net-id": "net" }],
            "restorePoint": { "backupRef": "b" },
            "users": [{ "name": "u", "password": "p", "databases": [{ "name": "d" }] }],
        });
        assert_eq!(Value::Object(body), wanted);
    }

    #[test]
    fn users_need_databases_that_there_are() {
        let properties = map(json!({
            "databases": [{ "name": "a" }],
            "users": [{ "name": "u", "databases": ["a", "b"] }],
        }));
        let refused = Instance.validate("db", &properties).unwrap_err().message;
        let wanted =
            "Database ['b'] specified for user does not exist in databases for resource db.";
        assert_eq!(refused, wanted);
        let refused = Instance.validate("db", &map(json!({ "datastore_version": "8.0" })));
        let wanted = "Not allowed - datastore_version without datastore_type.";
        assert_eq!(refused.unwrap_err().message, wanted);
    }
}
