//! Software configurations and deployments: two small machines, and the keeper that runs them. They
//! have no actor: each command reads its stream, is decided, and is decided again where another
//! was faster.

mod config;
mod deployment;
mod keeper;
mod outcome;
mod polled;
mod requests;

pub use config::{Config, ConfigCommand};
pub use deployment::{DeploymentCommand, DeploymentState};
pub use keeper::SoftwareKeeper;
pub use requests::{ChangeDeployment, CreateDeployment};
