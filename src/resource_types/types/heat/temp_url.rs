//! An object in Swift to which anybody may put who has its address: a container of the stack's, an
//! object of the resource's physical name, and a signature by the account's key.

use crate::model::{JsonMap, decoded, hex};
use crate::openstack::{CloudError, Method, Request, Response, Service, path_segment};
use crate::resource_types::asks::Asks;
use crate::resource_types::failure::Failure;
use crate::resource_types::job::Subject;
use crate::resource_types::presigned::hmac_sha256;

/// The key of the account by which addresses are signed.
const KEY_HEADER: &str = "x-account-meta-temp-url-key";
/// When an address ends to be good, in seconds since 1970: as late as Swift can tell.
const EXPIRES: i64 = 2_147_483_647 - 60;
/// What an object with versions holds before the first signal.
pub(super) const NOTHING_YET: &str = "in progress";

/// What is put to the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Takes {
    /// One word, which the next one overwrites.
    One,
    /// Any number; each is a version.
    Many,
}

/// A container, and an object in it where one is named.
fn path(container: &str, object: Option<&str>) -> String {
    let object = object.map(|name| format!("/{}", path_segment(name))).unwrap_or_default();
    format!("/{}{object}", path_segment(container))
}

fn request(method: Method, path: impl Into<String>) -> Request {
    Request::new(method, Service::ObjectStore, path)
}

/// The container of a stack's objects.
pub(in crate::resource_types) fn container(subject: &Subject) -> String {
    subject.stack_id.map(|id| id.to_string()).unwrap_or_default()
}

/// Makes the object, or empties it; its address. It does no harm when it is done again as long as
/// nobody was told the address.
pub(super) fn make(cloud: &Asks<'_>, subject: &Subject, takes: Takes) -> Result<String, Failure> {
    let container = container(subject);
    let place = request(Method::Put, path(&container, None));
    let (place, content) = match takes {
        Takes::One => (place, ""),
        Takes::Many => (place.header("x-versions-location", container.as_str()), NOTHING_YET),
    };
    cloud.send(place)?;
    let object = request(Method::Put, path(&container, Some(&subject.physical_name)));
    cloud.send(object.bytes("application/octet-stream", content))?;
    address(cloud, subject)
}

/// An address of the object to which anybody may put, as Swift's middleware wants it.
fn address(cloud: &Asks<'_>, subject: &Subject) -> Result<String, Failure> {
    address_of(cloud, Method::Put, &container(subject), &subject.physical_name)
}

/// An address at which anybody may use an object in one way.
pub(crate) fn address_of(
    cloud: &Asks<'_>,
    method: Method,
    container: &str,
    object: &str,
) -> Result<String, Failure> {
    let key = key(cloud)?;
    let endpoint = cloud.endpoint(&Service::ObjectStore)?;
    let url = format!("{}{}", endpoint.trim_end_matches('/'), path(container, Some(object)));
    let start = url.find("/v1/").unwrap_or_default();
    // Swift looks at the path once it is decoded.
    let text = format!("{}\n{EXPIRES}\n{}", method.as_str(), decoded(&url[start..]));
    let signature = hex(&hmac_sha256(key.as_bytes(), text.as_bytes()));
    Ok(format!("{url}?temp_url_sig={signature}&temp_url_expires={EXPIRES}"))
}

/// Makes a container, where there is none, and a key for addresses.
pub(crate) fn make_container(cloud: &Asks<'_>, container: &str) -> Result<(), Failure> {
    cloud.send(request(Method::Put, path(container, None)))?;
    key(cloud).map(drop)
}

/// Fills an object with JSON. One whose container is gone is not made again.
pub(crate) fn fill(
    cloud: &Asks<'_>,
    container: &str,
    object: &str,
    content: &JsonMap,
) -> Result<(), Failure> {
    let content = serde_json::to_vec(content).unwrap_or_default();
    let put = request(Method::Put, path(container, Some(object)));
    or_gone(cloud.send(put.bytes("application/json", content)))
}

/// Deletes an object, and its container where nothing else is in it.
pub(crate) fn drop_object(cloud: &Asks<'_>, container: &str, object: &str) -> Result<(), Failure> {
    or_gone(cloud.send(request(Method::Delete, path(container, Some(object)))))?;
    drop_container(cloud, container)
}

fn or_gone(answer: Result<Response, CloudError>) -> Result<(), Failure> {
    match answer {
        Err(error) if !error.is_not_found() => Err(error.into()),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// The account's key; made where there is none.
fn key(cloud: &Asks<'_>) -> Result<String, Failure> {
    let read = || -> Result<Option<String>, Failure> {
        let head = cloud.send(request(Method::Head, ""))?;
        Ok(head.header(KEY_HEADER).map(str::to_owned))
    };
    if let Some(key) = read()? {
        return Ok(key);
    }
    // What others of the project make at the same time is the same: an address that was signed with
    // what they overwrite would be good for nothing.
    let key = cloud.shared_id("keys of temporary URLs")?.simple().to_string();
    cloud.send(request(Method::Post, "").header(KEY_HEADER, key))?;
    // Somebody else may have made one at the same time: the one that is there counts.
    let missing = || Failure::Failed("The account keeps no key for temporary URLs.".to_owned());
    read()?.ok_or_else(missing)
}

/// Deletes the object, or its last version, which brings the one before back; whether there was one.
pub(super) fn delete(cloud: &Asks<'_>, subject: &Subject) -> Result<bool, Failure> {
    let object = path(&container(subject), Some(&subject.physical_name));
    match cloud.send(request(Method::Delete, object)) {
        Ok(_) => Ok(true),
        Err(error) if error.is_not_found() => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// The same, after a look at what is there.
pub(super) fn delete_what_is_there(cloud: &Asks<'_>, subject: &Subject) -> Result<bool, Failure> {
    match versions(cloud, &container(subject), &subject.physical_name)?.is_empty() {
        true => Ok(false),
        false => delete(cloud, subject),
    }
}

/// Deletes the container, where nothing else is in it.
pub(super) fn delete_container(cloud: &Asks<'_>, subject: &Subject) -> Result<(), Failure> {
    drop_container(cloud, &container(subject))
}

fn drop_container(cloud: &Asks<'_>, container: &str) -> Result<(), Failure> {
    match cloud.send(request(Method::Delete, path(container, None))) {
        Err(error) if !error.is_not_found() && !error.is_conflict() => Err(error.into()),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// What was put to the resource's own object last; `None` before anything was.
pub(super) fn word(cloud: &Asks<'_>, subject: &Subject) -> Result<Option<String>, Failure> {
    let object = path(&container(subject), Some(&subject.physical_name));
    match cloud.send(request(Method::Get, object)) {
        Ok(response) => {
            let word = String::from_utf8_lossy(response.bytes()).into_owned();
            Ok(Some(word).filter(|word| !word.is_empty()))
        }
        // Swift may show it later.
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// All that was put to an object of the stack's, in the order of its versions.
pub(in crate::resource_types) fn words(
    cloud: &Asks<'_>,
    subject: &Subject,
    object: &str,
) -> Result<Vec<String>, Failure> {
    let container = container(subject);
    let versions = versions(cloud, &container, object)?;
    let requests = versions.iter().map(|name| request(Method::Get, path(&container, Some(name))));
    let mut words = Vec::new();
    for answer in cloud.send_all(requests.collect())? {
        match answer {
            Ok(response) => words.push(String::from_utf8_lossy(response.bytes()).into_owned()),
            Err(error) if error.is_not_found() => {}
            Err(error) => return Err(error.into()),
        }
    }
    words.retain(|word| word != NOTHING_YET);
    Ok(words)
}

/// The names of an object and of its former versions, as the container lists them.
fn versions(cloud: &Asks<'_>, container: &str, object: &str) -> Result<Vec<String>, Failure> {
    let list = request(Method::Get, path(container, None)).query("format", "json");
    let listed = match cloud.send(list) {
        Ok(response) => response.json()?,
        Err(error) if error.is_not_found() => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    };
    let names = listed.as_array().into_iter().flatten().filter_map(|entry| entry["name"].as_str());
    Ok(names.filter(|name| name.contains(object)).map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use chrono::DateTime;
    use uuid::Uuid;

    use super::*;
    use crate::openstack::{CfnPlaces, answered};
    use crate::resource_types::asks::{Answer, Ask, Facts, Run};

    /// An account as far as it has a key.
    #[derive(Default)]
    struct Account {
        key: Option<String>,
    }

    impl Account {
        #[expect(clippy::wildcard_enum_match_arm, reason = "nothing else is asked")]
        fn answer(&mut self, ask: &Ask) -> Answer {
            let request = match ask {
                Ask::Call(request) => request,
                Ask::SharedId(_) => return Answer::Id(Uuid::from_u128(1)),
                other => panic!("{other}"),
            };
            if let Some((_, key)) = request.headers.iter().find(|(name, _)| *name == KEY_HEADER) {
                self.key = Some(key.clone());
            }
            let headers: Vec<_> =
                self.key.iter().map(|key| (KEY_HEADER.to_owned(), key.clone())).collect();
            Answer::Response(answered(request, "/", 204, &headers, Bytes::new()).unwrap())
        }
    }

    fn facts() -> Facts {
        Facts {
            now: DateTime::UNIX_EPOCH,
            stack_user_role: None,
            auth_url: String::new(),
            region: None,
            cfn_places: CfnPlaces::default(),
        }
    }

    #[test]
    fn an_address_is_signed_as_swift_reads_it() {
        let mut run = Run::new(facts());
        let address = loop {
            let made = run.go_on(|cloud| address_of(cloud, Method::Get, "c", "hän d+l@e/x"));
            let ask = match made {
                Ok(address) => break address.unwrap(),
                Err(ask) => ask,
            };
            let answer = match matches!(&*ask, Ask::Endpoint(_)) {
                true => Answer::Text("http://s/swift/v1/AUTH_p/".to_owned()),
                false => Account { key: Some("key".to_owned()) }.answer(&ask),
            };
            run.answered(ask, Ok(answer));
        };
        let text = format!("GET\n{EXPIRES}\n/v1/AUTH_p/c/hän d+l@e/x");
        let signature = hex(&hmac_sha256(b"key", text.as_bytes()));
        let path = "/swift/v1/AUTH_p/c/h%C3%A4n%20d%2Bl@e%2Fx";
        let expected =
            format!("http://s{path}?temp_url_sig={signature}&temp_url_expires={EXPIRES}");
        assert_eq!(address, expected);
    }

    #[test]
    fn two_that_make_a_key_at_the_same_time_sign_with_the_one_that_stays() {
        const TURNS: usize = 8;
        for order in 0..1 << TURNS {
            let mut account = Account::default();
            let mut runs = [(); 2].map(|()| Run::new(facts()));
            let mut step = |run: &mut Run| match run.go_on(key) {
                Ok(key) => Some(key.unwrap()),
                Err(ask) => {
                    let answer = account.answer(&ask);
                    run.answered(ask, Ok(answer));
                    None
                }
            };
            for turn in 0..TURNS {
                step(&mut runs[order >> turn & 1]);
            }
            let [one, other] = runs.each_mut().map(|run| {
                loop {
                    if let Some(key) = step(run) {
                        break key;
                    }
                }
            });
            assert_eq!(one, other, "{order:b}");
            assert_eq!(account.key, Some(one), "{order:b}");
        }
    }
}
