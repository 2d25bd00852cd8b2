//! AWS::EC2::SubnetRouteTableAssociation: a subnet leaves the router of its VPC for that of a route
//! table, and comes back in the end.

use super::super::text;
use super::router;
use crate::events::resource::Step;
use crate::resource_types::declared::{Beating, Declared, PlainStage, done, next};
use crate::resource_types::failure::Failure;
use crate::resource_types::job::{Beat, Learned, Subject, Work};
use crate::resource_types::resource_type::ResourceType;
use crate::resource_types::stage::{Stages, stages};

pub(crate) struct RouteTableAssociation;

stages! {
    /// How the subnet goes from one router to the other and back.
    enum Stage {
        Part = "part" Changes,
        Join = "join" Changes,
        Leave = "leave" Changes,
        Return = "return" Changes,
    }
}

impl ResourceType for RouteTableAssociation {
    fn first(&self, declared: &Declared, work: &Work, subject: &Subject) -> Step {
        match work {
            Work::Create => PlainStage::NoteOthers.step(),
            // Before the look at what is there nothing is changed, and that stays.
            Work::Delete if !Declared::may_be_sent(subject) => PlainStage::Done.step(),
            Work::Delete if Declared::was_there(subject) => Stage::Return.step(),
            Work::Delete => Stage::Leave.step(),
            Work::Update { .. } | Work::Act(_) => declared.first_step(work, subject),
        }
    }

    fn beat(&self, declared: &Declared, beating: &Beating<'_>) -> Result<Beat, Failure> {
        let Beating { cloud, subject, step, .. } = *beating;
        let given = |name| text(&subject.properties, name).unwrap_or_default();
        let (router, subnet) = (given("RouteTableId"), given("SubnetId"));
        let to = |stage: Stage| next(Learned::default(), stage.step());
        match Stage::of(step) {
            Some(Stage::Part) => {
                match router::of_subnet(cloud, subnet) {
                    Ok(Some(of_vpc)) => router::part(cloud, router::id(&of_vpc), subnet)?,
                    Ok(None) => {}
                    Err(error) if error.is_not_found() => {}
                    Err(error) => return Err(error),
                }
                Ok(to(Stage::Join))
            }
            Some(Stage::Join) => {
                if !beating.is_unanswered() || !router::has(cloud, router, subnet)? {
                    router::join(cloud, router, subnet)?;
                }
                Ok(done())
            }
            Some(Stage::Leave) => match router::part(cloud, router, subnet) {
                Ok(()) => Ok(to(Stage::Return)),
                Err(error) if error.is_conflict() => {
                    let progress = beating.progress();
                    progress.again_to_go(cloud.now(), error.into(), |it| it.to(Stage::Leave))
                }
                Err(error) => Err(error.into()),
            },
            Some(Stage::Return) => match come_back(beating, subnet) {
                Err(error) if !error.is_not_found() => Err(error),
                _ => Ok(done()),
            },
            None if PlainStage::of(step) == Some(PlainStage::NoteOthers) => {
                let there = router::has(cloud, router, subnet)?.then(|| subnet.to_owned());
                let there = there.into_iter().collect();
                Ok(Declared::noted(subject, there, Stage::Part.step()))
            }
            None => declared.plain_beat(beating),
        }
    }
}

/// Connects the subnet to the router of its VPC, unless some router has it: what took it over.
fn come_back(beating: &Beating<'_>, subnet: &str) -> Result<(), Failure> {
    let Beating { cloud, .. } = *beating;
    let network = router::network_of(cloud, subnet)?;
    match router::of_network(cloud, &network)? {
        Some(of_vpc) if !router::is_routed(cloud, ("network_id", &network), subnet)? => {
            Ok(router::join(cloud, router::id(&of_vpc), subnet)?)
        }
        _ => Ok(()),
    }
}
