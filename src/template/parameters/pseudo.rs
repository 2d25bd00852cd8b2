//! The pseudo parameters: what a template may ask of its own stack.

use serde_json::Value;

use super::Schema;
use crate::template::PseudoParameters;
use crate::template::constraints::{Constraint, Rule};
use crate::template::dialect::Language;

/// The region that Heat names, whatever region the cloud is.
const REGION: &str = "ap-southeast-1";

/// The regions that Heat lets a default of the environment name instead.
const REGIONS: [&str; 7] =
    ["us-east-1", "us-west-1", "us-west-2", "sa-east-1", "eu-west-1", REGION, "ap-northeast-1"];

/// The pseudo parameters of a language with their values. Without a stack there is no stack name
/// either.
pub(super) fn schemas(stack: &PseudoParameters, language: Language) -> Vec<(&'static str, Schema)> {
    let has_stack = !stack.stack_name.is_empty();
    let name = Schema::text(&stack.stack_name);
    match language {
        Language::Hot => {
            let mut schemas = vec![
                ("OS::stack_id", Schema::text(&stack.stack_id)),
                ("OS::project_id", Schema::text(&stack.project_id)),
            ];
            schemas.extend(has_stack.then_some(("OS::stack_name", name)));
            schemas
        }
        Language::Cfn => {
            let mut schemas = vec![("AWS::StackId", Schema::text(&arn(stack)))];
            if has_stack {
                let rule = Rule::AllowedValues(REGIONS.map(Value::from).to_vec());
                let mut region = Schema::text(REGION);
                region.constraints.push(Constraint { rule, description: None });
                schemas.push(("AWS::StackName", name));
                schemas.push(("AWS::Region", region));
            }
            schemas
        }
    }
}

/// The name that CloudFormation's API has for a stack.
fn arn(stack: &PseudoParameters) -> String {
    if stack.stack_name.is_empty() || stack.stack_id == "None" {
        return "None".to_owned();
    }
    let PseudoParameters { project_id, stack_name, stack_id, .. } = stack;
    format!("arn:openstack:heat::{project_id}:stacks/{stack_name}/{stack_id}")
}
