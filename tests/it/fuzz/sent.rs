//! What others send, changed at random: it is read or refused, in its time.

use std::panic::AssertUnwindSafe;
use std::time::Instant;

use super::{Chance, ROUNDS, TIME_MAX, mutated, setting};

#[path = "../../../fuzz/sent_input.rs"]
mod sent_input;

/// What is put into what others send: whatever means something in a query, a header, JSON, CBOR or
/// MIME.
const SENT_PIECES: [&str; 56] = [
    "&",
    "=",
    "%",
    "%00",
    "%F0%9F",
    "+",
    ";",
    ":",
    "\u{0}",
    "\n",
    "\r\n",
    "\n ",
    "\n\n",
    "\"",
    "\\",
    "'",
    "*=utf-8''%",
    "é",
    "\u{feff}",
    "{",
    "}",
    "[[[[",
    "\\ud83d",
    "1e400",
    "-1",
    "99999999999999999999",
    "--b",
    "--b--",
    "=====",
    "boundary=",
    "filename=",
    "multipart/mixed",
    "Content-Type: ",
    "#!",
    ".member.18446744073709551616.",
    "Parameters.member.1.",
    "SignatureVersion=2",
    "X-Amz-Algorithm=AWS4-HMAC-SHA256",
    "X-Amz-Expires=",
    "X-Amz-Date=",
    "Expires=",
    "+262142-12-31T23:59:59",
    "Credential=/////",
    "SignedHeaders=;;;",
    "\"a\":",
    "[1,",
    "\u{9f}",
    "\u{bf}",
    "\u{7f}",
    "\u{ff}",
    "\u{a1}",
    "\u{c1}",
    "\u{f6}",
    "\u{f9}\u{7e}\u{0}",
    "\u{fb}\u{7f}\u{ef}\u{ff}\u{ff}\u{ff}\u{ff}\u{ff}\u{ff}",
    "\u{9b}\u{7f}\u{ff}\u{ff}\u{ff}\u{ff}\u{ff}\u{ff}\u{ff}",
];

#[test]
fn what_others_send_is_read_or_refused() {
    let seed = setting("FUZZ_SEED").unwrap_or(20_130_523);
    let rounds = setting("FUZZ_ROUNDS").unwrap_or(ROUNDS);
    println!("FUZZ_SEED={seed} FUZZ_ROUNDS={rounds}");
    let mut chance = Chance(seed);
    for (name, read, corpus) in sent() {
        let short: Vec<String> = corpus.iter().filter(|it| it.len() < 4_096).cloned().collect();
        let mutations = (0..rounds).map(|_| mutated(&short, &SENT_PIECES, &mut chance));
        for (round, text) in corpus.iter().cloned().chain(mutations).enumerate() {
            let began = Instant::now();
            let outcome = std::panic::catch_unwind(AssertUnwindSafe(|| read(text.as_bytes())));
            let head: String = text.chars().take(2_000).collect();
            assert!(outcome.is_ok(), "{name}: input {round} of seed {seed} panics:\n{head}");
            let took = began.elapsed();
            assert!(took < TIME_MAX, "{name}: input {round} of seed {seed}: {took:?}\n{head}");
        }
    }
}

/// What reads an input, and inputs that it reads: as usual, and as long as a body may be.
type Sent = (&'static str, fn(&[u8]), Vec<String>);

fn sent() -> [Sent; 6] {
    const FULL: usize = 500_000;
    let form = "Action=CreateStack&StackName=a&TemplateBody=%7B%7D&Parameters.member.1.ParameterKey=k\
                &Parameters.member.1.ParameterValue=v&ContentType=JSON";
    let second = "AWSAccessKeyId=k&Signature=s%2F%3D&SignatureVersion=2&SignatureMethod=HmacSHA256\
                  &Timestamp=2024-10-04T00:00:00Z&Expires=2024-10-05T00:00:00Z";
    let fourth = "Authorization: AWS4-HMAC-SHA256 Credential=k/20241004/r/cloudformation/aws4_request, \
                  SignedHeaders=host;x-amz-date;user-agent, Signature=abc\n\
                  X-Amz-Date: 20241004T000000Z\nHost: h:8000\nContent-Type: text/plain; x=y";
    let in_query = "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=k/20241004/r/s/aws4_request\
                    &X-Amz-Date=20241004T000000Z&X-Amz-Expires=60&X-Amz-SignedHeaders=host\
                    &X-Amz-Signature=abc";
    let requests = vec![
        format!("{form}&{second}"),
        format!("\0{fourth}\0{form}"),
        format!("{in_query}\0Content-Type: application/x-www-form-urlencoded\0{form}"),
        "a&".repeat(FULL),
        "=".repeat(FULL),
        "%41".repeat(FULL / 3),
        format!("{in_query};{}\0{}", "a;".repeat(FULL / 4), "Signature=,".repeat(FULL / 20)),
        format!("\0\0{}", "Parameters.member.1.=&".repeat(FULL / 22)),
    ];
    let json = vec![
        r#"{"Namespace": "n", "MetricData": [{"MetricName": "m", "Value": 1.5, "Timestamp": 1e9,
            "Dimensions": [{"Name": "k", "Value": "v"}]}], "ActionsEnabled": true}"#
            .to_owned(),
        "[".repeat(FULL),
        "{\"a\":".repeat(FULL / 5),
        // A long name before many values.
        format!("{{\"{}\": [{}1]}}", "a".repeat(FULL / 2), "1,".repeat(FULL / 4)),
        format!("{{\"{}\": [{}1]}}", "a".repeat(250), "1,".repeat(900)),
    ];
    let documents: Vec<String> = [
        b"\xa2\x69Namespace\x61n\x6aMetricData\x81\xa3\x65Value\xfb\x3f\xf8\0\0\0\0\0\0\x64Unit\xf6\
          \x69Timestamp\xc1\x1a\x65\x53\xf1\0"
            .to_vec(),
        b"\xbf\x61a\x9f\x01\x20\xf9\x3c\0\xf4\xff\x61b\x7f\x61c\x61d\xff\xff".to_vec(),
        [b"\xa1\x61a".to_vec(), vec![0x9f; FULL]].concat(),
        b"\xa1\x61a".repeat(FULL / 3),
        [b"\xa1\x61a".to_vec(), vec![0x7f; FULL]].concat(),
        [b"\xa1\x61a".to_vec(), vec![0xc1; FULL]].concat(),
        [b"\xa1\x61a\x9f".to_vec(), vec![0; FULL], vec![0xff]].concat(),
        [b"\xa1\x7a\0\x04\0\0".to_vec(), vec![b'a'; 1 << 18], b"\x9f".to_vec(), vec![0; 900], vec![0xff]]
            .concat(),
        b"\xa1\x61a\x9b\xff\xff\xff\xff\xff\xff\xff\xff".to_vec(),
        b"\xa1\x61a\x7b\x7f\xff\xff\xff\xff\xff\xff\xff".to_vec(),
    ]
    .map(|bytes| bytes.into_iter().map(char::from).collect())
    .into();
    let signals = vec![
        r#"{"Status": "SUCCESS", "Reason": "r", "Data": "d\\u00fc", "UniqueId": "1"}"#.to_owned(),
        "\u{feff} {\"status\": \"SUCCESS\", \"id\": [1, {\"a\": null}]}".to_owned(),
        "[".repeat(FULL),
        "{\"a\":".repeat(FULL / 5),
        format!("{{{}\"z\": 1}}", "\"a\": [], ".repeat(FULL / 9)),
        "\n".repeat(FULL),
    ];
    let part = "\n--b\nContent-Type: text/x-shellscript; charset=\"utf-8\"\n\
                Content-Transfer-Encoding: base64\n\
                Content-Disposition: attachment;\n filename=\"a\\\"b.sh\"\n\nIyEvYmluL3NoCg==\n\
                --b\nContent-Disposition: attachment; filename*=utf-8''%C3%BC\n\nplain\n";
    let message = "Content-Type: multipart/mixed; boundary=\"b\"\nMIME-Version: 1.0\n";
    let user_data = vec![
        format!("{message}{part}--b--\n"),
        format!("{message}{}", part.repeat(FULL / part.len())).replace('\n', "\r\n"),
        "#!/bin/sh\necho a\n".to_owned(),
        format!("{message}\n{}", "--b\n".repeat(FULL / 4)),
        format!("Content-Type: x{}\n\n", "\n ;boundary".repeat(FULL / 11)),
        format!("{message}\n--b\nContent-Disposition: a; filename=\"{}", "\\\"".repeat(FULL / 2)),
        format!("Content-Type: multipart/x; boundary=\n{}", "\n--".repeat(FULL / 12)),
    ];
    [
        ("requests", sent_input::request, requests.clone()),
        ("signatures", sent_input::signature, requests),
        ("JSON", sent_input::document, json),
        ("CBOR", cbor, documents),
        ("signals", sent_input::signal, signals),
        ("user data", sent_input::user_data, user_data),
    ]
}

/// CBOR whose bytes are the characters of a text; others stand for none.
fn cbor(text: &[u8]) {
    let text = String::from_utf8_lossy(text);
    let bytes: Vec<u8> = text.chars().filter_map(|c| u8::try_from(c).ok()).collect();
    sent_input::document(&bytes);
}
