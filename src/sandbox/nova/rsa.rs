//! Making an RSA key pair in the forms that SSH reads.

use aws_lc_rs::encoding::AsDer;
use aws_lc_rs::rsa::{KeyPair, KeySize};
use aws_lc_rs::signature::KeyPair as _;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Both halves as text.
pub(super) struct Made {
    /// PEM.
    pub(super) private: String,
    /// `ssh-rsa …`
    pub(super) public: String,
}

/// A fresh key of 2048 bits.
pub(super) fn generate() -> Option<Made> {
    let pair = KeyPair::generate(KeySize::Rsa2048).ok()?;
    let private = pair.as_der().ok()?;
    let (modulus, exponent) = integers(pair.public_key().as_ref())?;
    let mut blob = Vec::new();
    // SSH's integers are DER's: big-endian, with a zero in front where the first bit is set.
    for part in [b"ssh-rsa", exponent, modulus] {
        blob.extend(u32::try_from(part.len()).ok()?.to_be_bytes());
        blob.extend(part);
    }
    let public = format!("ssh-rsa {} Generated-by-Nova", STANDARD.encode(blob));
    Some(Made { private: pem(inner(private.as_ref())?), public })
}

/// The key within `SEQUENCE { INTEGER, SEQUENCE, OCTET STRING }`.
fn inner(pkcs8: &[u8]) -> Option<&[u8]> {
    let (0x30, sequence, _) = element(pkcs8)? else { return None };
    let (0x02, _, rest) = element(sequence)? else { return None };
    let (0x30, _, rest) = element(rest)? else { return None };
    let (0x04, key, _) = element(rest)? else { return None };
    Some(key)
}

/// The two integers of `SEQUENCE { INTEGER n, INTEGER e }`.
fn integers(der: &[u8]) -> Option<(&[u8], &[u8])> {
    let (0x30, sequence, _) = element(der)? else { return None };
    let (0x02, modulus, rest) = element(sequence)? else { return None };
    let (0x02, exponent, _) = element(rest)? else { return None };
    Some((modulus, exponent))
}

/// The tag and content of the first DER element, and what follows it.
fn element(der: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (tag, rest) = der.split_first()?;
    let (first, mut rest) = rest.split_first()?;
    let mut length = usize::from(*first);
    if *first >= 0x80 {
        length = 0;
        for _ in 0..(*first & 0x7f) {
            let (byte, after) = rest.split_first()?;
            length = (length << 8) | usize::from(*byte);
            rest = after;
        }
    }
    Some((*tag, rest.get(..length)?, rest.get(length..)?))
}

fn pem(der: &[u8]) -> String {
    let mut text = String::from("-----BEGIN RSA PRIVATE KEY-----\n");
    let encoded = STANDARD.encode(der);
    let mut rest = encoded.as_str();
    while !rest.is_empty() {
        let (line, after) = rest.split_at(rest.len().min(64));
        text.push_str(line);
        text.push('\n');
        rest = after;
    }
    text.push_str("-----END RSA PRIVATE KEY-----\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_made_key_has_both_halves() {
        let made = generate().unwrap();
        assert!(made.private.starts_with("-----BEGIN RSA PRIVATE KEY-----\nMII"));
        // Every key of this kind begins with its name's length, its name and 65537.
        assert!(made.public.starts_with("ssh-rsa AAAAB3NzaC1yc2EAAAADAQAB"));
    }
}
