//! `hearth resolve --batch` by cases: each a request beside the answer that Heat gives to it. A
//! request is refused with the same class, text and status, or comes to the same document.

use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use crate::support::batch::resolve_batch;

/// A request with its answer, as the files have it.
#[derive(Debug, Deserialize)]
struct Case {
    id: String,
    result: Value,
    #[serde(flatten)]
    request: serde_json::Map<String, Value>,
}

#[test]
fn requests_are_answered_as_heat_answers_them() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/template/answers");
    let mut cases = Vec::new();
    for file in std::fs::read_dir(folder).unwrap() {
        let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
        cases.extend(serde_yaml::from_str::<Vec<Case>>(&text).unwrap());
    }
    let answers = answers(&cases);
    assert_eq!(answers.len(), cases.len());
    let wrong: Vec<String> = cases
        .iter()
        .zip(&answers)
        .filter(|(case, answer)| case.result != **answer)
        .map(|(case, answer)| format!("{}:\nexpected {}\nfound    {answer}", case.id, case.result))
        .collect();
    assert!(wrong.is_empty(), "{} cases:\n{}", wrong.len(), wrong.join("\n"));
}

fn answers(cases: &[Case]) -> Vec<Value> {
    let mut requests = String::new();
    for case in cases {
        let mut request = case.request.clone();
        request.insert("id".into(), case.id.as_str().into());
        requests += &(Value::Object(request).to_string() + "\n");
    }
    let lines = String::from_utf8(resolve_batch(requests.into_bytes())).unwrap();
    lines
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["result"].take())
        .collect()
}
