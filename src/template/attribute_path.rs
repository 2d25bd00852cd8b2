//! How an attribute and the path that is read within it are written as one text, where the path
//! matters to the type: groups have different things to show at different paths.

use serde_json::Value;

/// The text of an attribute and a path. An attribute alone is its own text.
pub fn attribute_key(attribute: &str, path: &[Value]) -> String {
    if path.is_empty() {
        return attribute.to_owned();
    }
    let parts = std::iter::once(Value::from(attribute)).chain(path.iter().cloned());
    Value::Array(parts.collect()).to_string()
}

/// The attribute and the path of such a text.
pub fn attribute_parts(key: &str) -> (String, Vec<Value>) {
    let parts = key.starts_with('[').then(|| serde_json::from_str(key).ok()).flatten();
    let Some(Value::Array(mut parts)) = parts else { return (key.to_owned(), Vec::new()) };
    match parts.first().and_then(Value::as_str).map(str::to_owned) {
        Some(attribute) => (attribute, parts.split_off(1)),
        None => (key.to_owned(), Vec::new()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_attribute_and_its_path_are_read_back_as_they_were() {
        for (attribute, path) in
            [("refs", vec![]), ("outputs", vec![json!("a, b"), json!(0)]), ("[odd", vec![])]
        {
            let key = attribute_key(attribute, &path);
            assert_eq!(attribute_parts(&key), (attribute.to_owned(), path));
        }
        assert_eq!(attribute_key("refs", &[]), "refs");
        assert_eq!(attribute_parts("[1]"), ("[1]".to_owned(), vec![]));
    }
}
