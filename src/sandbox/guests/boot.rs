//! What a guest reads of its user data: the scripts that cloud-init would run, in their order, and
//! what an agent is told to begin with.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

/// How many parts of a message are read.
const PARTS_MAX: usize = 64;

/// See the module.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Boot {
    pub(super) scripts: Vec<String>,
    /// The metadata of the server when it was made.
    pub(super) metadata: Value,
}

/// Reads user data as Nova keeps it. What cannot be read is as if it were not there.
pub(super) fn read(user_data: &str) -> Boot {
    let decoded = STANDARD.decode(user_data.trim()).unwrap_or_default();
    let text = String::from_utf8_lossy(&decoded);
    let mut boot = Boot::default();
    let Some((_, boundary)) = head_of(&text).filter(|(kind, _)| kind.starts_with("multipart/"))
    else {
        boot.scripts.extend(script(&text));
        return boot;
    };
    let limit = format!("\n--{boundary}");
    for part in text.split(&limit).skip(1).take(PARTS_MAX).take_while(|it| !it.starts_with("--")) {
        let Some((head, body)) = part.split_once("\n\n") else { continue };
        let body = match value(head, "content-transfer-encoding").as_deref() {
            Some("base64") => decoded_lines(body),
            _ => body.to_owned(),
        };
        let kind = value(head, "content-type").unwrap_or_default();
        match named(head).as_str() {
            "cfn-init-data" => boot.metadata = serde_json::from_str(&body).unwrap_or_default(),
            // It runs the user's part, which is run here by itself.
            "loguserdata.py" => {}
            "cfn-userdata" => boot.scripts.extend(script(&body)),
            _ if kind.starts_with("text/x-shellscript") => boot.scripts.push(body),
            _ if kind.starts_with("text/plain") => boot.scripts.extend(script(&body)),
            _ => {}
        }
    }
    boot
}

/// A text that is a program.
fn script(text: &str) -> Option<String> {
    text.starts_with("#!").then(|| text.to_owned())
}

/// The type of a message and what stands between its parts.
fn head_of(text: &str) -> Option<(String, String)> {
    let (head, _) = text.split_once("\n\n")?;
    let kind = value(head, "content-type")?;
    let boundary = parameter(&kind, "boundary")?;
    Some((kind, boundary))
}

/// The file name of a part.
fn named(head: &str) -> String {
    let disposition = value(head, "content-disposition").unwrap_or_default();
    parameter(&disposition, "filename").unwrap_or_default()
}

/// The value of a header, with the lines that continue it.
fn value(head: &str, name: &str) -> Option<String> {
    let mut lines = head.lines().map(|line| line.trim_end_matches('\r'));
    let first = lines.find_map(|line| {
        let (own, value) = line.split_once(':')?;
        own.trim().eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
    })?;
    let rest = lines.take_while(|line| line.starts_with([' ', '\t']));
    Some(rest.fold(first, |value, line| value + " " + line.trim()))
}

fn parameter(value: &str, name: &str) -> Option<String> {
    let found = value.split(';').skip(1).find_map(|part| {
        let (own, text) = part.split_once('=')?;
        own.trim().eq_ignore_ascii_case(name).then_some(text.trim())
    })?;
    Some(found.trim_matches('"').to_owned())
}

fn decoded_lines(body: &str) -> String {
    let joined: String = body.split_whitespace().collect();
    String::from_utf8_lossy(&STANDARD.decode(joined).unwrap_or_default()).into_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn boot(text: &str) -> Boot {
        read(&STANDARD.encode(text))
    }

    #[test]
    fn a_text_is_run_where_it_is_a_program() {
        assert_eq!(boot("#!/bin/sh\necho a").scripts, ["#!/bin/sh\necho a"]);
        assert_eq!(boot("echo a"), Boot::default());
        assert_eq!(boot("#cloud-config\npackages: []"), Boot::default());
        assert_eq!(read("no base64!"), Boot::default());
    }

    #[test]
    fn of_a_message_the_programs_are_run_and_the_metadata_are_read() {
        let message = "Content-Type: multipart/mixed; boundary=\"=== x ===\"\nMIME-Version: 1.0\n\
            \n--=== x ===\nContent-Type: text/cloud-config\n\n#cloud-config\n\
            \n--=== x ===\nContent-Type: text/x-shellscript; charset=\"us-ascii\"\n\
            Content-Disposition: attachment;\n filename=\"loguserdata.py\"\n\nimport os\n\
            \n--=== x ===\nContent-Type: text/x-cfninitdata\n\
            Content-Disposition: attachment; filename=\"cfn-userdata\"\n\n#!/bin/sh\necho one\
            \n--=== x ===\nContent-Type: text/x-shellscript\n\
            Content-Transfer-Encoding: base64\n\nIyEvYmluL3NoCmVj\naG8gdHdv\n\
            \n--=== x ===\nContent-Type: text/plain\n\nno program\
            \n--=== x ===\nContent-Type: text/x-cfninitdata\n\
            Content-Disposition: attachment; filename=\"cfn-init-data\"\n\n{\"a\": 1}\
            \n--=== x ===--\n";
        let read = boot(message);
        assert_eq!(read.scripts, ["#!/bin/sh\necho one", "#!/bin/sh\necho two"]);
        assert_eq!(read.metadata, json!({ "a": 1 }));
        // Whatever is cut off or of another form is passed over.
        for end in 0..message.len() {
            boot(&message[..end]);
        }
    }
}
