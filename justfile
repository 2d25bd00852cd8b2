# Each line is a plain command; `just` only saves typing.

# Format, lint, test: what a change must pass.
check:
    cargo fmt --check
    cargo clippy --all-targets -- -D warnings
    cargo test

# Rewrites expected outputs; review the diff.
golden:
    UPDATE_GOLDEN=1 cargo test

# The suites that need a real cloud, at the address in the environment.
live:
    cargo test --test live -- --nocapture

# The speed budgets, over the public API.
bench:
    cargo run --release -- bench

# The journeys of the real client.
client:
    tests/client/run
