//! Revisions as commands take them.

/// A revision of a stack: `2`, or `r2`, as it is called among moments.
pub(super) fn read(text: &str) -> Result<u32, String> {
    let number = text.strip_prefix('r').unwrap_or(text);
    number.parse().map_err(|_| "a revision is a number, such as 2 or r2".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_revision_is_a_number_or_what_moments_call_it() {
        assert_eq!((read("2"), read("r12")), (Ok(2), Ok(12)));
        assert!(read("two").is_err() && read("rr2").is_err() && read("").is_err());
    }
}
