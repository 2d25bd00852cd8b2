//! Lists by pages, as Amazon gives them; Heat gives each whole. A page is longer than Amazon's, so
//! that clients which follow no token see what they saw of Heat.

use std::str::FromStr;

use super::asked::Asked;
use super::fault::{CfnFault, VALIDATION};

/// How much of a list is told at a time.
pub(super) const PAGE: usize = 1_000;

/// How much of it is read: by one more is seen whether there is another page.
pub(super) const READ: u64 = PAGE as u64 + 1;

/// What the page before ended with, where one is gone on from.
pub(super) fn token<T: FromStr>(asked: &Asked) -> Result<Option<T>, CfnFault> {
    let given = asked.param("NextToken").filter(|token| !token.is_empty());
    given.map(|token| token.parse().map_err(|_| unknown())).transpose()
}

/// The refusal of a token that no page came with.
pub(super) fn unknown() -> CfnFault {
    CfnFault::new(VALIDATION, "NextToken is none that a page came with.")
}

/// The page that stands first in what was read, with the token of the next where there is one.
pub(super) fn cut<T>(mut read: Vec<T>, token: impl Fn(&T) -> String) -> (Vec<T>, Option<String>) {
    let has_next = read.len() > PAGE;
    read.truncate(PAGE);
    let next = read.last().filter(|_| has_next).map(token);
    (read, next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_a_token_where_there_is_another() {
        let cut = |count: usize| cut((0..count).collect(), |it: &usize| it.to_string());
        assert_eq!(cut(0), (Vec::new(), None));
        assert_eq!(cut(PAGE), ((0..PAGE).collect(), None));
        assert_eq!(cut(PAGE + 1), ((0..PAGE).collect(), Some((PAGE - 1).to_string())));
    }
}
