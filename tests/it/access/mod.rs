//! Who reaches what: every route by every kind of token, and what an operator's rules change.

mod command;
mod operator;
mod people;
mod scopes;
mod walk;
