//! Which cases of a test of data are played: all, or those that `CASE` asks for by their names.

/// The cases that `CASE` asks for; all where it is not set, or empty. A case has the `names`; one
/// that is asked for by its whole name is played alone, and else all that have the text in a name.
///
/// # Panics
///
/// `CASE` asks for none of them.
#[track_caller]
pub(crate) fn chosen<T>(cases: Vec<T>, names: impl Fn(&T) -> Vec<&str>) -> Vec<T> {
    let asked = std::env::var_os("CASE").unwrap_or_default();
    named(cases, &asked.to_string_lossy(), names)
}

/// The same by what is asked for.
#[track_caller]
pub(crate) fn named<T>(cases: Vec<T>, asked: &str, names: impl Fn(&T) -> Vec<&str>) -> Vec<T> {
    if asked.is_empty() {
        return cases;
    }
    let is_exact = |case: &T| names(case).contains(&asked);
    let has_exact = cases.iter().any(is_exact);
    let mut cases = cases;
    cases.retain(|case| match has_exact {
        true => is_exact(case),
        false => names(case).iter().any(|name| name.contains(asked)),
    });
    assert!(!cases.is_empty(), "CASE={asked} names no case");
    cases
}
