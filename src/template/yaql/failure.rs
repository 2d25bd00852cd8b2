//! What goes wrong in an expression, in yaql's and Python's classes and words.

use crate::template::error::TemplateError;

/// The class of an expression with a character that starts no word.
pub(super) const LEXICAL: &str = "YaqlLexicalException";
/// The class of an expression with a word where it cannot stand.
pub(super) const GRAMMAR: &str = "YaqlGrammarException";
/// The class of what exceeds a bound of ours, which no expression can catch.
const BOUND: &str = "ResourceLimit";

/// The class of a call of a function with arguments that it does not take.
pub(super) const NO_MATCHING_FUNCTION: &str = "NoMatchingFunctionException";
/// The same of a method.
pub(super) const NO_MATCHING_METHOD: &str = "NoMatchingMethodException";

/// A named argument for a function that takes none.
pub(super) fn argument(name: &str) -> TemplateError {
    TemplateError::new("ArgumentException", format!("Invalid argument {name}"))
}

/// A rule that names no argument.
pub(super) fn rule() -> TemplateError {
    let message = "Cannot convert mapping to keyword argument";
    TemplateError::new("MappingTranslationException", message)
}

/// A collection over its limit.
pub(super) fn collection(limit: usize) -> TemplateError {
    let message = format!("Collection length exceeds {limit} elements");
    TemplateError::new("CollectionTooLargeException", message)
}

/// A value over the memory quota.
pub(super) fn memory() -> TemplateError {
    let message = "Expression consumed too much memory";
    TemplateError::new("MemoryQuotaExceededException", message)
}

/// An iterator at its end.
pub(super) fn stop(message: &str) -> TemplateError {
    TemplateError::new("StopIteration", message)
}

/// A division by zero.
pub(super) fn zero(message: &str) -> TemplateError {
    TemplateError::new("ZeroDivisionError", message)
}

/// An attribute that a Python object lacks.
pub(super) fn attribute(kind: &str, name: &str) -> TemplateError {
    let message = format!("'{kind}' object has no attribute '{name}'");
    TemplateError::new("AttributeError", message)
}

/// A key that a map lacks, as it is printed.
pub(super) fn key(printed: String) -> TemplateError {
    TemplateError::new("KeyError", printed)
}

/// An index beyond a list.
pub(super) fn index(message: &str) -> TemplateError {
    TemplateError::new("IndexError", message)
}

/// An integer that does not fit.
pub(super) fn too_large() -> TemplateError {
    TemplateError::new("OverflowError", "an integer of a yaql expression exceeds 128 bits")
}

/// More steps than an expression may take.
pub(super) fn steps() -> TemplateError {
    TemplateError::new(BOUND, "a yaql expression takes too many steps")
}

/// Deeper nesting than an expression may have.
pub(super) fn depth() -> TemplateError {
    TemplateError::new(BOUND, "a yaql expression is nested too deeply")
}

/// What an expression can do in Heat, but not here, where the same template gives the same value.
pub(super) fn impure(name: &str) -> TemplateError {
    let message = format!("the yaql function {name} gives another value each time");
    TemplateError::new("NotSupported", message)
}

/// Whether an aggregator may be tried the other way after this.
pub(super) fn is_mismatch(error: &TemplateError) -> bool {
    matches!(error.class.as_ref(), NO_MATCHING_FUNCTION | NO_MATCHING_METHOD | "IndexError")
}

/// Whether a bound of ours was met.
pub(super) fn is_bound(error: &TemplateError) -> bool {
    error.class == BOUND
}
