//! AWS::EC2::VPCGatewayAttachment: the routers of the VPC's route tables lead to the only network
//! outside. Which those are is kept, so that in the end the same lose their way out.

use std::collections::BTreeMap;

use serde_json::Value;

use super::super::text;
use super::router;
use crate::events::resource::Step;
use crate::resource_types::declared::{Beating, Declared, Progress, done, next};
use crate::resource_types::failure::Failure;
use crate::resource_types::job::{Beat, Learned, Subject, Work};
use crate::resource_types::resource_type::ResourceType;
use crate::resource_types::stage::{Stages, stages};
use crate::resource_types::types::nova::floating::only_pool;

pub(crate) struct Gateway;

/// Resource data: the ids of the routers, and that of the network outside.
const ROUTERS: &str = "routers";
const OUTSIDE: &str = "outside";

stages! {
    /// What an attachment goes through; one router at a time.
    enum Stage {
        Look = "look" Looks,
        Open = "open" Changes,
        Close = "close" Changes,
    }
}

impl ResourceType for Gateway {
    fn first(&self, declared: &Declared, work: &Work, subject: &Subject) -> Step {
        match work {
            Work::Create => Stage::Look.step(),
            Work::Delete => Stage::Close.step(),
            Work::Update { .. } | Work::Act(_) => declared.first_step(work, subject),
        }
    }

    fn beat(&self, declared: &Declared, beating: &Beating<'_>) -> Result<Beat, Failure> {
        let Beating { cloud, subject, step, .. } = *beating;
        let progress = beating.progress();
        let Some(stage) = Stage::of(step) else { return declared.plain_beat(beating) };
        if stage == Stage::Look {
            let outside = only_pool(cloud)?;
            let vpc = text(&subject.properties, "VpcId").unwrap_or_default();
            let routers = cloud.neighbors("AWS::EC2::RouteTable", "VpcId", vpc)?;
            let data = [(OUTSIDE.to_owned(), outside), (ROUTERS.to_owned(), routers.into())];
            let learned = Learned { data: BTreeMap::from(data), ..Learned::default() };
            return Ok(next(learned, Stage::Open.step()));
        }
        let routers = subject.data.get(ROUTERS).and_then(Value::as_array);
        let routers = routers.map_or(&[][..], Vec::as_slice);
        let router = routers.get(progress.index as usize).and_then(Value::as_str);
        let Some(router) = router else { return Ok(done()) };
        let outside = subject.data.get(OUTSIDE).filter(|_| stage == Stage::Open);
        match router::lead_out(cloud, router, outside.unwrap_or(&Value::Null)) {
            Err(error) if stage == Stage::Close && error.is_conflict() => {
                return progress.again_to_go(cloud.now(), error.into(), |it| it.to(stage));
            }
            Err(error) if stage == Stage::Close && error.is_not_found() => {}
            answer => answer?,
        }
        let index = progress.index + 1;
        Ok(next(Learned::default(), Progress { index, ..Progress::default() }.to(stage)))
    }
}
