//! `digest`: a hash of a text, in hexadecimal digits.

use std::sync::Arc;

use blake2::{Blake2b512, Blake2s256};
use md5::Md5;
use sha1::Sha1;
use sha2::{Digest as _, Sha224, Sha256, Sha384, Sha512, Sha512_224, Sha512_256};
use sha3::{Sha3_224, Sha3_256, Sha3_384, Sha3_512};

use super::{Call, Function, Scope};
use crate::template::error::{Outcome, TemplateError};
use crate::template::python;
use crate::template::value::Datum;

#[derive(Debug)]
struct Digest(Call);

/// Parses a call.
pub(super) fn parse(call: Call) -> Outcome<Arc<dyn Function>> {
    Ok(Arc::new(Digest(call)))
}

/// The algorithms, by the names of Python's hash library.
const ALGORITHMS: [&str; 15] = [
    "md5",
    "sha1",
    "sha224",
    "sha256",
    "sha384",
    "sha512",
    "sha512_224",
    "sha512_256",
    "sha3_224",
    "sha3_256",
    "sha3_384",
    "sha3_512",
    "blake2b",
    "blake2s",
    "md5-sha1",
];

impl Function for Digest {
    fn call(&self) -> &Call {
        &self.0
    }

    fn resolve(&self, scope: &Scope<'_>) -> Outcome<Option<Datum>> {
        let name = self.name();
        let texts: Option<Vec<String>> = match scope.args(self)? {
            Datum::List(items) => {
                items.into_iter().map(|item| item.as_text().map(str::to_owned)).collect()
            }
            _ => None,
        };
        let Some(texts) = texts else {
            let message = format!("Argument to function \"{name}\" must be a list of strings");
            return Err(TemplateError::kind(message));
        };
        let [algorithm, text] = texts.as_slice() else {
            let message = format!("Function \"{name}\" usage: [\"<algorithm>\", \"<value>\"]");
            return Err(TemplateError::value(message));
        };
        let algorithm = algorithm.to_lowercase();
        if !ALGORITHMS.contains(&algorithm.as_str()) {
            let names: Vec<String> = ALGORITHMS.iter().map(|name| python::quoted(name)).collect();
            let message = format!("Algorithm must be one of {{{}}}", names.join(", "));
            return Err(TemplateError::value(message));
        }
        Ok(Some(Datum::Text(hexadecimal(&hash(&algorithm, &latin_1(text)?)))))
    }
}

fn hash(algorithm: &str, bytes: &[u8]) -> Vec<u8> {
    match algorithm {
        "md5" => Md5::digest(bytes).to_vec(),
        "sha1" => Sha1::digest(bytes).to_vec(),
        "sha224" => Sha224::digest(bytes).to_vec(),
        "sha256" => Sha256::digest(bytes).to_vec(),
        "sha384" => Sha384::digest(bytes).to_vec(),
        "sha512_224" => Sha512_224::digest(bytes).to_vec(),
        "sha512_256" => Sha512_256::digest(bytes).to_vec(),
        "sha3_224" => Sha3_224::digest(bytes).to_vec(),
        "sha3_256" => Sha3_256::digest(bytes).to_vec(),
        "sha3_384" => Sha3_384::digest(bytes).to_vec(),
        "sha3_512" => Sha3_512::digest(bytes).to_vec(),
        "blake2b" => Blake2b512::digest(bytes).to_vec(),
        "blake2s" => Blake2s256::digest(bytes).to_vec(),
        "md5-sha1" => [Md5::digest(bytes).to_vec(), Sha1::digest(bytes).to_vec()].concat(),
        _ => Sha512::digest(bytes).to_vec(),
    }
}

/// The text in Latin-1, as Heat encodes it before hashing.
fn latin_1(text: &str) -> Outcome<Vec<u8>> {
    text.chars().map(|c| u8::try_from(u32::from(c)).ok()).collect::<Option<_>>().ok_or_else(|| {
        let problem = python::encode_problem(text, "latin-1", 256);
        TemplateError::new("UnicodeEncodeError", problem)
    })
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
