# Each line is a plain command; `just` only saves typing.

# Format, lint, test: what a change must pass.
check:
    cargo fmt --check
    cargo clippy --all-targets -- -D warnings
    cargo test

# What to run after each change: decisions, layers, data cases, recorded calls, two hundred lives.
quick:
    cargo test --lib
    SIMULATION_SEEDS=200 cargo test --test it -- layers:: circles:: coverage:: _cases:: \
        function_probes:: type_rules:: type_schemas:: recorded_calls:: lifecycle:: simulation::

# The tests whose names have a word in them: a function, a kind of data cases; of such a kind one case
# by its name: `just case walks octavia_pool`, `just case nested::transcripts OS::Heat::Stack`.
case word name="":
    CASE='{{name}}' cargo test --lib --test it -- {{word}} --nocapture

# Rewrites expected outputs; review the diff.
golden:
    UPDATE_GOLDEN=1 cargo test

# The suites that need a real cloud, at the address in the environment.
live:
    cargo test --test live -- --nocapture

# The speed budgets, over the public API.
bench *parts:
    cargo run --release -- bench {{parts}}

# The journeys of the real client.
client:
    tests/client/run
