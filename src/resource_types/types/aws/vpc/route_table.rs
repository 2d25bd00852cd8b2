//! AWS::EC2::RouteTable: a router, which leads outside where that of its VPC does.

use super::super::text;
use super::router;
use crate::resource_types::declared::{Beating, Declared, PlainStage, done, next};
use crate::resource_types::failure::Failure;
use crate::resource_types::job::Beat;
use crate::resource_types::resource_type::ResourceType;
use crate::resource_types::stage::{Stages, stages};

pub(crate) struct RouteTable;

stages! {
    /// What follows once the router is there.
    enum Stage {
        LeadOut = "lead_out" Changes,
    }
}

impl ResourceType for RouteTable {
    fn beat(&self, declared: &Declared, beating: &Beating<'_>) -> Result<Beat, Failure> {
        let Beating { cloud, subject, step, .. } = *beating;
        if Stage::of(step) == Some(Stage::LeadOut) {
            let network = text(&subject.properties, "VpcId").unwrap_or_default();
            let of_vpc = router::of_network(cloud, network)?.unwrap_or_default();
            let outside = &of_vpc["external_gateway_info"]["network_id"];
            if !outside.is_null() {
                router::lead_out(
                    cloud,
                    subject.physical_id.as_deref().unwrap_or_default(),
                    outside,
                )?;
            }
            return Ok(done());
        }
        let makes = matches!(PlainStage::of(step), Some(PlainStage::Create | PlainStage::Ready));
        Ok(match declared.plain_beat(beating)? {
            Beat::Done { learned } if makes => next(learned, Stage::LeadOut.step()),
            beat => beat,
        })
    }
}
