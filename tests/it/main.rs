//! One binary for everything that looks at Hearth from outside a room, so that it links once.

#![expect(clippy::unwrap_used, reason = "a test may stop at what it did not expect")]

mod access;
mod api;
mod bystanders;
mod cfn;
mod command_line;
mod convert_cases;
mod corpus;
mod coverage;
mod crash_process;
mod crash_sweep;
mod drivers;
mod environment_dir;
mod fault_sweep;
mod function_probes;
mod fuzz;
mod generated_cases;
mod histories;
mod hostile_cases;
mod journeys;
mod layers;
mod lifecycle;
mod log_commands;
mod log_contract;
mod parameter_cases;
mod plugins;
mod proof;
mod recorded_calls;
mod recorded_cuts;
mod resolve_answers;
mod retired;
mod sandbox;
mod secrets_everywhere;
mod serve;
mod simulation;
mod support;
mod template_cases;
mod type_rules;
mod type_schemas;
mod walks;
mod wrong_values;
mod yaql_cases;
