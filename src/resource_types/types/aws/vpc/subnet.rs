//! AWS::EC2::Subnet: a subnet that the router of its VPC has, too.

use serde_json::Value;

use super::super::text;
use super::router;
use crate::events::resource::Step;
use crate::model::JsonMap;
use crate::resource_types::declared::{Beating, Declared, PlainStage, done, next};
use crate::resource_types::failure::Failure;
use crate::resource_types::job::{Beat, Learned, Subject, Work};
use crate::resource_types::resource_type::{At, Purpose, ResourceType};
use crate::resource_types::stage::{Stages, stages};

pub(crate) struct Subnet;

stages! {
    /// How the subnet comes to its router.
    enum Stage {
        Join = "join" Changes,
        Part = "part" Changes,
    }
}

impl ResourceType for Subnet {
    fn first(&self, declared: &Declared, work: &Work, subject: &Subject) -> Step {
        match work {
            Work::Delete if subject.physical_id.is_some() => Stage::Part.step(),
            Work::Create | Work::Update { .. } | Work::Delete | Work::Act(_) => {
                declared.first_step(work, subject)
            }
        }
    }

    fn beat(&self, declared: &Declared, beating: &Beating<'_>) -> Result<Beat, Failure> {
        let Beating { cloud, subject, step, .. } = *beating;
        let subnet = subject.physical_id.as_deref().unwrap_or_default();
        let network = text(&subject.properties, "VpcId").unwrap_or_default();
        match Stage::of(step) {
            Some(Stage::Join) => {
                if let Some(router) = router::of_network(cloud, network)? {
                    let router = router::id(&router);
                    if !beating.is_unanswered() || !router::has(cloud, router, subnet)? {
                        router::join(cloud, router, subnet)?;
                    }
                }
                Ok(done())
            }
            Some(Stage::Part) => {
                let parted = match router::of_network(cloud, network) {
                    Ok(Some(router)) => router::part(cloud, router::id(&router), subnet),
                    Ok(None) => Ok(()),
                    Err(error) if error.is_not_found() => Ok(()),
                    Err(error) => return Err(error),
                };
                match parted {
                    Ok(()) => Ok(next(Learned::default(), PlainStage::Delete.step())),
                    Err(error) if error.is_conflict() => {
                        let progress = beating.progress();
                        progress.again_to_go(cloud.now(), error.into(), |it| it.to(Stage::Part))
                    }
                    Err(error) => Err(error.into()),
                }
            }
            None => Ok(match (PlainStage::of(step), declared.plain_beat(beating)?) {
                (Some(PlainStage::Create), Beat::Done { learned }) => {
                    next(learned, Stage::Join.step())
                }
                (_, beat) => beat,
            }),
        }
    }

    fn attribute(&self, at: At<'_>, _object: &Value, name: &str) -> Result<Option<Value>, Failure> {
        let zone = || at.subject.properties.get(name).cloned().unwrap_or_default();
        Ok((name == "AvailabilityZone").then(zone))
    }

    fn body(&self, _purpose: Purpose, _subject: &Subject, body: &mut JsonMap) {
        body.insert("ip_version".to_owned(), Value::from(4));
    }
}
