//! `cargo fuzz run resolve`: whatever a template and its environment are, they are resolved or
//! refused.

#![no_main]

use std::sync::LazyLock;

use hearth::resource_types::Registry;
use libfuzzer_sys::fuzz_target;

#[path = "../resolve_input.rs"]
mod resolve_input;

static REGISTRY: LazyLock<Registry> =
    LazyLock::new(|| Registry::built_in().expect("the built-in types are well"));

fuzz_target!(|input: &[u8]| resolve_input::resolve(&REGISTRY, input));
