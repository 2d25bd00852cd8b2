//! `digest`: a hash of a text, in hexadecimal digits.

use std::sync::Arc;

use blake2::{Blake2b512, Blake2s256};
use md5::Md5;
use ripemd::Ripemd160;
use sha1::Sha1;
use sha2::{Sha224, Sha256, Sha384, Sha512, Sha512_224, Sha512_256};
use sha3::{Sha3_224, Sha3_256, Sha3_384, Sha3_512};
use sm3::Sm3;

use super::{Call, Function, Scope};
use crate::template::error::{Outcome, TemplateError};
use crate::template::value::Datum;
use crate::template::work;
use crate::template::{python, walk};

#[derive(Debug)]
struct Digest(Call);

/// Parses a call.
pub(super) fn parse(call: Call) -> Outcome<Arc<dyn Function>> {
    Ok(Arc::new(Digest(call)))
}

/// How an algorithm's name may be written.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Written {
    /// In capitals, small letters or a mix.
    Freely,
    /// All in small letters or all in capitals.
    Evenly,
    /// In small letters.
    Small,
}

type Hash = fn(&[u8]) -> Vec<u8>;

fn hash<D: sha2::Digest>(bytes: &[u8]) -> Vec<u8> {
    D::digest(bytes).to_vec()
}

/// The algorithms, by the names of Python's hash library over OpenSSL. Those without a hash are of
/// no length of their own, so that they can be named but not used.
static ALGORITHMS: [(&str, Written, Option<Hash>); 19] = [
    ("md5", Written::Freely, Some(hash::<Md5>)),
    ("sha1", Written::Freely, Some(hash::<Sha1>)),
    ("sha224", Written::Freely, Some(hash::<Sha224>)),
    ("sha256", Written::Freely, Some(hash::<Sha256>)),
    ("sha384", Written::Freely, Some(hash::<Sha384>)),
    ("sha512", Written::Freely, Some(hash::<Sha512>)),
    ("sha512_224", Written::Evenly, Some(hash::<Sha512_224>)),
    ("sha512_256", Written::Evenly, Some(hash::<Sha512_256>)),
    ("sha3_224", Written::Small, Some(hash::<Sha3_224>)),
    ("sha3_256", Written::Small, Some(hash::<Sha3_256>)),
    ("sha3_384", Written::Small, Some(hash::<Sha3_384>)),
    ("sha3_512", Written::Small, Some(hash::<Sha3_512>)),
    ("shake_128", Written::Small, None),
    ("shake_256", Written::Small, None),
    ("blake2b", Written::Small, Some(hash::<Blake2b512>)),
    ("blake2s", Written::Small, Some(hash::<Blake2s256>)),
    ("ripemd160", Written::Freely, Some(hash::<Ripemd160>)),
    ("sm3", Written::Freely, Some(hash::<Sm3>)),
    ("md5-sha1", Written::Freely, Some(md5_and_sha1)),
];

fn md5_and_sha1(bytes: &[u8]) -> Vec<u8> {
    [hash::<Md5>(bytes), hash::<Sha1>(bytes)].concat()
}

impl Function for Digest {
    fn call(&self) -> &Call {
        &self.0
    }

    fn resolve(&self, scope: &Scope<'_>) -> Outcome<Option<Datum>> {
        let name = self.name();
        let texts: Option<Vec<String>> = match walk::args(self, scope)? {
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
        let small = algorithm.to_lowercase();
        let Some((known, written, hash)) = ALGORITHMS.iter().find(|(known, ..)| *known == small)
        else {
            let names: Vec<String> =
                ALGORITHMS.iter().map(|(name, ..)| python::quoted(name)).collect();
            let message = format!("Algorithm must be one of {{{}}}", names.join(", "));
            return Err(TemplateError::value(message));
        };
        let is_well_written = match written {
            Written::Freely => true,
            Written::Evenly => algorithm == known || *algorithm == known.to_uppercase(),
            Written::Small => algorithm == known,
        };
        if !is_well_written {
            return Err(TemplateError::value(format!("unsupported hash type {algorithm}")));
        }
        work::step_over(text.len())?;
        let bytes = latin_1(text)?;
        let Some(hash) = hash else {
            let message = "hexdigest() missing required argument 'length' (pos 1)";
            return Err(TemplateError::kind(message));
        };
        Ok(Some(Datum::Text(hexadecimal(&hash(&bytes)).into())))
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
