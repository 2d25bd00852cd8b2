//! What a server reads at its first start: the user's text as it is, or, in Heat's default form, a
//! MIME message with parts for cloud-init that leave it to the tools in the image.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::super::text;
use crate::model::{JsonMap, hex};
use crate::resource_types::types::heat::multipart as mime;

/// Where the parts are put in the guest, as Heat's tools expect it.
const DIRECTORY: &str = "/var/lib/heat-cfntools";

/// The user data as Nova takes it; none without any.
pub(super) fn encoded(properties: &JsonMap, data: &str, metadata: &JsonMap) -> Option<String> {
    let whole = match text(properties, "user_data_format") {
        Some("RAW") => data.to_owned(),
        Some("SOFTWARE_CONFIG") => multipart(own_parts(data), metadata),
        _ => multipart(parts_of_tools(data), metadata),
    };
    (!whole.is_empty()).then(|| STANDARD.encode(whole))
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
        Part::new("x-shellscript", "loguserdata.py", log_user_data()),
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

fn multipart(own: Vec<Part>, metadata: &JsonMap) -> String {
    let mut parts = vec![
        Part::new("cloud-config", "cloud-config", cloud_config()),
        Part::new("cloud-boothook", "boothook.sh", boothook()),
        Part::new("part-handler", "part-handler.py", part_handler()),
    ];
    parts.extend(own);
    if !metadata.is_empty() {
        let content = Value::Object(metadata.clone()).to_string();
        parts.push(Part::new("x-cfninitdata", "cfn-init-data", content));
    }
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
        let charset = if part.content.is_ascii() { "us-ascii" } else { "utf-8" };
        message.push_str(&format!(
            "\n--{boundary}\nContent-Type: text/{}; charset=\"{charset}\"\n",
            part.subtype
        ));
        message.push_str("MIME-Version: 1.0\n");
        let encoding = if part.content.is_ascii() { "7bit" } else { "8bit" };
        message.push_str(&format!("Content-Transfer-Encoding: {encoding}\n"));
        message
            .push_str(&format!("Content-Disposition: attachment; filename=\"{}\"\n\n", part.file));
        message.push_str(&part.content);
    }
    message.push_str(&format!("\n--{boundary}--\n"));
    message
}

fn cloud_config() -> String {
    "#cloud-config\n\
     cloud_config_modules:\n - locale\n - set_hostname\n - timezone\n - runcmd\n\n\
     # Whoever can log in may see what the scripts wrote.\n\
     output: {all: '| tee -a /var/log/cloud-init-output.log'}\n"
        .to_owned()
}

fn boothook() -> String {
    format!(
        "#!/bin/sh\n\
         # Runs early at every start: makes the places that later parts are put into.\n\
         for dir in /var/lib/cloud/data {DIRECTORY}; do\n\
         \x20 [ -d \"$dir\" ] || mkdir -p -m 700 \"$dir\"\n\
         done\n"
    )
}

fn part_handler() -> String {
    format!(
        "#part-handler\n\
         import os\n\n\n\
         def list_types():\n\
         \x20   return ['text/x-cfninitdata']\n\n\n\
         def handle_part(data, ctype, filename, payload):\n\
         \x20   if ctype in ('__begin__', '__end__'):\n\
         \x20       return\n\
         \x20   if isinstance(payload, str):\n\
         \x20       payload = payload.encode('utf-8')\n\
         \x20   for directory in ('/var/lib/cloud/data', '{DIRECTORY}'):\n\
         \x20       os.makedirs(directory, mode=0o700, exist_ok=True)\n\
         \x20       with open(os.path.join(directory, filename), 'wb') as part:\n\
         \x20           part.write(payload)\n"
    )
}

fn log_user_data() -> String {
    "#!/usr/bin/env python3\n\
     # Runs the user's own part, logs what it says, and notes that it is over.\n\
     import datetime\nimport os\nimport subprocess\nimport sys\n\n\
     script = '/var/lib/cloud/data/cfn-userdata'\n\
     log = '/var/log/heat-provision.log'\n\
     status = 0\n\
     with open(log, 'ab') as out:\n\
     \x20   out.write(('Provision began: %s\\n' % datetime.datetime.now()).encode())\n\
     \x20   if os.path.exists(script) and os.path.getsize(script):\n\
     \x20       os.chmod(script, 0o700)\n\
     \x20       try:\n\
     \x20           status = subprocess.call([script], stdout=out, stderr=subprocess.STDOUT)\n\
     \x20       except OSError as error:\n\
     \x20           # Without a first line that names an interpreter it is a shell script.\n\
     \x20           out.write(('%s\\n' % error).encode())\n\
     \x20           status = subprocess.call(['/bin/sh', script], stdout=out, stderr=subprocess.STDOUT)\n\
     \x20   out.write(('Provision done: %s\\n' % datetime.datetime.now()).encode())\n\
     open('/var/lib/heat-cfntools/provision-finished', 'w').close()\n\
     sys.exit(status)\n"
        .to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn decoded(properties: Value) -> String {
        let Value::Object(properties) = properties else { panic!("a map") };
        let data = text(&properties, "user_data").unwrap_or_default();
        let encoded = encoded(&properties, data, &JsonMap::new()).unwrap();
        String::from_utf8(STANDARD.decode(encoded).unwrap()).unwrap()
    }

    #[test]
    fn raw_user_data_goes_as_it_is() {
        assert_eq!(
            decoded(json!({"user_data": "#!/bin/sh\n", "user_data_format": "RAW"})),
            "#!/bin/sh\n"
        );
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
        );
        let told = decoded(json!({"user_data": message, "user_data_format": "SOFTWARE_CONFIG"}));
        assert!(told.contains("filename=\"hello.sh\"\n\necho hello"), "{told}");
        assert!(!told.contains("cfn-userdata") && !told.contains("0000000007"));
        let told = decoded(json!({"user_data": "plain", "user_data_format": "SOFTWARE_CONFIG"}));
        assert!(told.contains("text/plain") && told.contains("\n\nplain\n--"), "{told}");
    }

    #[test]
    fn the_default_form_has_the_users_part_among_its_own() {
        let message = decoded(json!({"user_data": "echo hello"}));
        assert!(message.starts_with("Content-Type: multipart/mixed; boundary="));
        assert!(message.contains("filename=\"cfn-userdata\"\n\necho hello\n--"));
    }
}
