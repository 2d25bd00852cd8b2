//! The second reader: the grammar of PyYAML's own scanner and parser, which Heat asks when libyaml
//! refuses a text. Its messages are the ones that a client sees, and what it accepts counts.

mod collections;
mod directives;
mod parser;
mod scalars;
mod scanner;
mod source;
mod tags;
mod token;

pub(super) use parser::Parser;
