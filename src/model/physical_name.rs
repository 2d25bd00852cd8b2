//! The name that a resource's object has in the cloud where the template gives none.

use crate::model::{ResourceId, ResourceName, StackName};

/// The longest name, where the type has no limit of its own.
pub const PHYSICAL_NAME_MAX_CHARS: usize = 255;

const BASE32: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// `STACK-RESOURCE-SHORTID`, cut to the limit as Heat cuts it: two leading characters, a hyphen,
/// the tail.
pub fn physical_name(
    stack: &StackName,
    resource: &ResourceName,
    id: ResourceId,
    limit: usize,
) -> String {
    let stack = stack.as_str().trim_end_matches('*');
    reduce(&format!("{stack}-{resource}-{}", short_id(id)), limit)
}

/// Twelve base32 characters of the 60-bit time field of a UUID.
fn short_id(id: ResourceId) -> String {
    let (low, mid, high, _) = id.0.as_fields();
    let time = u64::from(high & 0x0fff) << 48 | u64::from(mid) << 32 | u64::from(low);
    (0..12).rev().map(|place| BASE32[(time >> (place * 5)) as usize & 31] as char).collect()
}

fn reduce(name: &str, limit: usize) -> String {
    let length = name.chars().count();
    if length <= limit {
        return name.to_owned();
    }
    let head = name.chars().take(2);
    let tail = name.chars().skip(length - limit.saturating_sub(3));
    head.chain(['-']).chain(tail).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn short(text: &str) -> String {
        short_id(ResourceId(uuid::Uuid::parse_str(text).unwrap()))
    }

    #[test]
    fn the_short_id_is_heats() {
        assert_eq!(short("12345678-9abc-4def-8123-456789abcdef"), "3342xqjdivty");
        assert_eq!(short("00000000-0000-4000-8000-000000000000"), "aaaaaaaaaaaa");
        assert_eq!(short("ffffffff-ffff-4fff-bfff-ffffffffffff"), "777777777777");
    }

    #[test]
    fn a_long_name_keeps_two_leading_characters_and_its_tail() {
        assert_eq!(reduce("abcdefghij", 8), "ab-fghij");
        assert_eq!(reduce("abcdefghij", 10), "abcdefghij");
        assert_eq!(reduce("abcdefghij", 4), "ab-j");
        assert_eq!(reduce("stack-resource-abcdefghijkl", 20), "st-urce-abcdefghijkl");
    }
}
