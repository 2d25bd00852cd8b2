//! What a server reads at its first start: the user's text as it is, or, in Heat's default form, a
//! MIME message with parts for cloud-init that leave it to the tools in the image. Ignition's own
//! configuration gets the metadata as files.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use url::Url;

use super::super::text;
use crate::model::{JsonMap, hex};
use crate::openstack::path_segment;
use crate::resource_types::asks::Asks;
use crate::resource_types::failure::Failure;
use crate::resource_types::mime;
use crate::resource_types::presigned;
use crate::resource_types::python;

/// What cloud-init does with the server, and where it writes what the parts say.
const CLOUD_CONFIG: &str =
    "#cloud-config\noutput: {all: '| tee -a /var/log/cloud-init-output.log'}\n";
const BOOTHOOK: &str = include_str!("boot/boothook.sh");
const PART_HANDLER: &str = include_str!("boot/part_handler.py");
const LOG_USER_DATA: &str = include_str!("boot/log_user_data.py");

/// The same; a user who is given takes the place of the image's own.
fn cloud_config(user: Option<&str>) -> String {
    let user = user.map(|user| format!("user: {user}\n")).unwrap_or_default();
    format!("{CLOUD_CONFIG}{user}")
}

/// Where Ignition, which knows no parts, puts the metadata: where the tools look for them.
const INIT_DATA: [&str; 2] =
    ["/var/lib/heat-cfntools/cfn-init-data", "/var/lib/cloud/data/cfn-init-data"];

/// The user data as Nova takes it; none without any.
pub(super) fn encoded(
    cloud: &Asks<'_>,
    user: Option<&str>,
    properties: &JsonMap,
    data: &str,
    metadata: &JsonMap,
) -> Result<Option<String>, Failure> {
    let whole = match text(properties, "user_data_format") {
        Some("RAW") => data.to_owned(),
        Some("SOFTWARE_CONFIG") => match ignition(data) {
            Some(config) => with_metadata(config, metadata)?,
            None => multipart(user, own_parts(data), metadata, watch_server(cloud))?,
        },
        _ => multipart(user, parts_of_tools(data), metadata, places(cloud)?)?,
    };
    Ok((!whole.is_empty()).then(|| STANDARD.encode(whole)))
}

/// The user's text where it is a configuration of Ignition's.
fn ignition(data: &str) -> Option<JsonMap> {
    let config: JsonMap = serde_json::from_str(data).ok()?;
    let version = config.get("ignition")?.get("version")?;
    (!matches!(version, Value::Null) && *version != "").then_some(config)
}

fn with_metadata(mut config: JsonMap, metadata: &JsonMap) -> Result<String, Failure> {
    if !metadata.is_empty() {
        let storage = config.entry("storage").or_insert_with(|| json!({}));
        let storage = storage.as_object_mut().ok_or_else(|| {
            Failure::Invalid("Ignition \"storage\" section must be a map".to_owned())
        })?;
        let files = storage.entry("files").or_insert_with(|| json!([]));
        let files = files.as_array_mut().ok_or_else(|| {
            Failure::Invalid("Ignition \"files\" section must be a list".to_owned())
        })?;
        let content = path_segment(&python::json(&Value::Object(metadata.clone())));
        files.extend(INIT_DATA.map(|path| {
            json!({
                "filesystem": "root",
                "group": { "name": "root" },
                "path": path,
                "user": { "name": "root" },
                "contents": { "source": format!("data:,{content}"), "verification": {} },
                "mode": 0o640,
            })
        }));
    }
    Ok(Value::Object(config).to_string())
}

/// Where the tools find CloudFormation's API.
fn places(cloud: &Asks<'_>) -> Result<Vec<Part>, Failure> {
    let server = presigned::metadata_server(cloud)?;
    let url = Url::parse(&server).ok();
    let host = url.as_ref().and_then(Url::host_str).unwrap_or_default();
    let settings = cloud.cfn_places();
    let mut boto = format!(
        "[Boto]\ndebug = 0\nis_secure = {}\nhttps_validate_certificates = {}\n\
         cfn_region_name = heat\ncfn_region_endpoint = {host}",
        settings.is_secure.as_deref().unwrap_or("0"),
        settings.validates.as_deref().unwrap_or("1"),
    );
    let watch = settings.watch.as_deref().and_then(|watch| Url::parse(watch).ok());
    if let Some(host) = watch.as_ref().and_then(Url::host_str) {
        boto.push_str("\ncloudwatch_region_name = heat\ncloudwatch_region_endpoint = ");
        boto.push_str(host);
    }
    let mut parts = watch_server(cloud);
    parts.push(Part::new("x-cfninitdata", "cfn-metadata-server", server));
    parts.push(Part::new("x-cfninitdata", "cfn-boto-cfg", boto));
    Ok(parts)
}

/// Where they find CloudWatch's, if that is said.
fn watch_server(cloud: &Asks<'_>) -> Vec<Part> {
    let told = cloud.cfn_places().watch.iter();
    told.map(|url| Part::new("x-cfninitdata", "cfn-watch-server", url.clone())).collect()
}

/// One part of the message.
struct Part {
    subtype: String,
    file: String,
    content: String,
}

impl Part {
    fn new(subtype: &str, file: &str, content: String) -> Self {
        Self { subtype: subtype.to_owned(), file: file.to_owned(), content }
    }
}

/// The user's text, for the tools that run it.
fn parts_of_tools(user_data: &str) -> Vec<Part> {
    vec![
        Part::new("x-cfninitdata", "cfn-userdata", user_data.to_owned()),
        Part::new("x-shellscript", "loguserdata.py", LOG_USER_DATA.to_owned()),
    ]
}

/// The user's text as it is; where it is a message of parts, those.
fn own_parts(user_data: &str) -> Vec<Part> {
    let parts = mime::parts_of(user_data);
    if parts.is_empty() {
        return vec![Part::new("plain", "", user_data.to_owned())];
    }
    let own = |part: mime::Part| Part::new(&part.subtype, &part.filename, part.text);
    parts.into_iter().map(own).collect()
}

fn multipart(
    user: Option<&str>,
    own: Vec<Part>,
    metadata: &JsonMap,
    last: Vec<Part>,
) -> Result<String, Failure> {
    let unwritable = |error: mime::ControlCharacter| Failure::Invalid(error.to_string());
    let mut parts = vec![
        Part::new("cloud-config", "cloud-config", cloud_config(user)),
        Part::new("cloud-boothook", "boothook.sh", BOOTHOOK.to_owned()),
        Part::new("part-handler", "part-handler.py", PART_HANDLER.to_owned()),
    ];
    parts.extend(own);
    if !metadata.is_empty() {
        let content = python::json(&Value::Object(metadata.clone()));
        parts.push(Part::new("x-cfninitdata", "cfn-init-data", content));
    }
    parts.extend(last);
    // Made of the content, so that the same content is the same user data again.
    let mut digest = Sha256::new();
    for part in &parts {
        digest.update(part.content.as_bytes());
    }
    let digest = hex(&digest.finalize()[..12]);
    let boundary = format!("==============={digest}==");
    let mut message =
        format!("Content-Type: multipart/mixed; boundary=\"{boundary}\"\nMIME-Version: 1.0\n");
    for part in parts {
        let mime::Sent { charset, encoding, body } = mime::sent(&part.content);
        let content_type = mime::content_type(&part.subtype, charset).map_err(unwritable)?;
        message.push_str(&format!("\n--{boundary}\n{content_type}\nMIME-Version: 1.0\n"));
        message.push_str(&format!("Content-Transfer-Encoding: {encoding}\n"));
        let disposition = mime::disposition(&part.file).map_err(unwritable)?;
        message.push_str(&format!("{disposition}\n\n"));
        message.push_str(&body);
    }
    message.push_str(&format!("\n--{boundary}--\n"));
    Ok(message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::{Clock, SimulatedClock};
    use crate::openstack::CfnPlaces;
    use crate::resource_types::asks::{Facts, Run};

    fn told(properties: &Value, metadata: &Value) -> Result<String, Failure> {
        told_of(None, properties, metadata)
    }

    fn told_of(
        watch: Option<&str>,
        properties: &Value,
        metadata: &Value,
    ) -> Result<String, Failure> {
        let metadata_at = Some("http://Cfn.example:8000".to_owned());
        let watch = watch.map(str::to_owned);
        let run = Run::new(Facts {
            cfn_places: CfnPlaces { metadata: metadata_at, watch, ..CfnPlaces::default() },
            ..Facts::at(SimulatedClock::new(1).now())
        });
        let properties = properties.as_object().cloned().unwrap();
        let metadata = metadata.as_object().cloned().unwrap();
        let data = text(&properties, "user_data").unwrap_or_default();
        let encoded =
            run.go_on(|cloud| encoded(cloud, None, &properties, data, &metadata)).unwrap()?;
        Ok(String::from_utf8(STANDARD.decode(encoded.unwrap()).unwrap()).unwrap())
    }

    fn decoded(properties: Value) -> String {
        told(&properties, &json!({})).unwrap()
    }

    #[test]
    fn raw_user_data_goes_as_it_is() {
        assert_eq!(
            decoded(json!({"user_data": "#!/bin/sh\n", "user_data_format": "RAW"})),
            "#!/bin/sh\n"
        );
    }

    #[test]
    fn a_user_who_is_given_takes_the_place_of_the_images_own() {
        assert_eq!(cloud_config(None), CLOUD_CONFIG);
        assert!(cloud_config(Some("ec2-user")).ends_with("\nuser: ec2-user\n"));
    }

    #[test]
    fn the_parts_of_a_users_message_stand_beside_those_of_the_agent() {
        let message = mime::message(
            &[mime::Part {
                text: "echo hello".into(),
                subtype: "x-shellscript".into(),
                filename: "hello.sh".into(),
            }],
            7,
        )
        .unwrap();
        let told = decoded(json!({"user_data": message, "user_data_format": "SOFTWARE_CONFIG"}));
        assert!(told.contains("filename=\"hello.sh\"\n\necho hello"), "{told}");
        assert!(!told.contains("cfn-userdata") && !told.contains("0000000007"));
        let told = decoded(json!({"user_data": "plain", "user_data_format": "SOFTWARE_CONFIG"}));
        assert!(told.contains("text/plain") && told.contains("\n\nplain\n--"), "{told}");
        let named = |name: &str| {
            let user_data = format!(
                "Content-Type: multipart/mixed; boundary=b\n\n--b\n\
                 Content-Disposition: attachment; filename={name}\n\nx\n--b--"
            );
            told_of(
                None,
                &json!({ "user_data": user_data, "user_data_format": "SOFTWARE_CONFIG" }),
                &json!({}),
            )
        };
        let told = named("\"a\\\"b.sh\"").unwrap();
        assert!(told.contains("; filename=\"a\\\"b.sh\"\n"), "{told}");
        assert!(named("\"a\rX: 1\"").is_err());
    }

    #[test]
    fn the_default_form_has_the_users_part_among_its_own() {
        let message = decoded(json!({"user_data": "echo hello"}));
        assert!(message.starts_with("Content-Type: multipart/mixed; boundary="));
        assert!(message.contains("filename=\"cfn-userdata\"\n\necho hello\n--"));
        let server = "filename=\"cfn-metadata-server\"\n\nhttp://Cfn.example:8000/v1/\n--";
        assert!(message.contains(server), "{message}");
        let boto = "filename=\"cfn-boto-cfg\"\n\n[Boto]\ndebug = 0\nis_secure = 0\n\
                    https_validate_certificates = 1\ncfn_region_name = heat\n\
                    cfn_region_endpoint = cfn.example\n--";
        assert!(message.contains(boto), "{message}");
    }

    /// cloud-init reads the message as text: bytes that are not ASCII would come out as others.
    #[test]
    fn what_is_not_ascii_is_sent_in_ascii() {
        let properties = json!({
            "user_data": "#!/bin/sh\necho ü→\n", "user_data_format": "SOFTWARE_CONFIG",
        });
        let told = told(&properties, &json!({ "greeting": "grüße → 😀" })).unwrap();
        assert!(told.is_ascii(), "{told}");
        let part = "Content-Type: text/plain; charset=\"utf-8\"\nMIME-Version: 1.0\n\
                    Content-Transfer-Encoding: base64\n\
                    Content-Disposition: attachment; filename=\"\"\n\n\
                    IyEvYmluL3NoCmVjaG8gw7zihpIK\n\n--";
        assert!(told.contains(part), "{told}");
        let metadata = r#"{"greeting": "gr\u00fc\u00dfe \u2192 \ud83d\ude00"}"#;
        assert!(told.contains(metadata), "{told}");
        assert_eq!(mime::parts_of(&told)[3].text, "#!/bin/sh\necho ü→\n");
    }

    #[test]
    fn where_metric_data_are_put_is_told_where_it_is_known() {
        let told = |format: &str| {
            let properties = json!({ "user_data": "echo hello", "user_data_format": format });
            told_of(Some("http://Watch.example:8003/v1/"), &properties, &json!({})).unwrap()
        };
        let server = "filename=\"cfn-watch-server\"\n\nhttp://Watch.example:8003/v1/\n--";
        let boto = "cfn_region_endpoint = cfn.example\ncloudwatch_region_name = heat\n\
                    cloudwatch_region_endpoint = watch.example\n--";
        let message = told("HEAT_CFNTOOLS");
        assert!(message.contains(server) && message.contains(boto), "{message}");
        let message = told("SOFTWARE_CONFIG");
        assert!(message.contains(server) && !message.contains("cfn-boto-cfg"), "{message}");
        assert!(!decoded(json!({ "user_data": "echo hello" })).contains("watch"));
    }

    #[test]
    fn a_configuration_of_ignitions_gets_the_metadata_as_files() {
        let configured = |config: Value| {
            let properties = json!({
                "user_data": config.to_string(), "user_data_format": "SOFTWARE_CONFIG",
            });
            told(&properties, &json!({ "a": "b/c" }))
        };
        let told = configured(json!({ "ignition": { "version": "2.2.0" } })).unwrap();
        let told: Value = serde_json::from_str(&told).unwrap();
        let files = told["storage"]["files"].as_array().unwrap();
        assert_eq!(files.len(), 2);
        assert_eq!(files[0]["path"], "/var/lib/heat-cfntools/cfn-init-data");
        assert_eq!(files[0]["contents"]["source"], "data:,%7B%22a%22:%20%22b%2Fc%22%7D");
        let storage = json!({ "ignition": { "version": "2.2.0" }, "storage": 1 });
        let refused = configured(storage).unwrap_err().to_string();
        assert_eq!(refused, "Ignition \"storage\" section must be a map");
        let storage = json!({ "ignition": { "version": "2.2.0" }, "storage": { "files": {} } });
        let refused = configured(storage).unwrap_err().to_string();
        assert_eq!(refused, "Ignition \"files\" section must be a list");
        // Without a version it is a text as any other.
        assert!(configured(json!({ "ignition": {} })).unwrap().contains("multipart/mixed"));
    }
}
