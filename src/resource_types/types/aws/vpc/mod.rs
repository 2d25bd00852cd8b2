//! AWS::EC2::VPC and what belongs to one. A VPC is a network and a router, which belong together by
//! their name.
//!
//! ```text
//! create: network ─▶ router ─▶ ready ─▶ router_ready
//! delete: drop_router ─▶ network
//! ```

pub(in crate::resource_types::types) mod association;
pub(in crate::resource_types::types) mod gateway;
pub(in crate::resource_types::types) mod network_interface;
pub(in crate::resource_types::types) mod route_table;
pub(super) mod router;
pub(in crate::resource_types::types) mod subnet;

use serde_json::json;

use crate::events::resource::Step;
use crate::openstack::{Request, Service, path_segment};
use crate::resource_types::declared::{Beating, Declared, PlainStage, done, next};
use crate::resource_types::failure::Failure;
use crate::resource_types::job::{Beat, Learned, Subject, Work};
use crate::resource_types::resource_type::ResourceType;
use crate::resource_types::stage::{Stages, stages};

pub(crate) struct Vpc;

stages! {
    /// What a VPC has beside its network.
    enum Stage {
        Router = "router" Changes,
        RouterReady = "router_ready" Looks,
        DropRouter = "drop_router" Changes,
    }
}

impl ResourceType for Vpc {
    fn first(&self, declared: &Declared, work: &Work, subject: &Subject) -> Step {
        match work {
            // The router is made once the network is known.
            Work::Delete if subject.physical_id.is_some() => Stage::DropRouter.step(),
            Work::Create | Work::Update { .. } | Work::Delete | Work::Act(_) => {
                declared.first_step(work, subject)
            }
        }
    }

    fn beat(&self, declared: &Declared, beating: &Beating<'_>) -> Result<Beat, Failure> {
        let Beating { cloud, subject, step, .. } = *beating;
        let network = subject.physical_id.as_deref().unwrap_or_default();
        match Stage::of(step) {
            Some(Stage::Router) => {
                let name = &subject.physical_name;
                if !beating.is_unanswered() || router::named(cloud, name)?.is_none() {
                    let body = json!({ "router": { "name": name } });
                    cloud.send(Request::post(Service::Network, "/v2.0/routers").json(body))?;
                }
                Ok(next(Learned::default(), PlainStage::Ready.step()))
            }
            Some(Stage::RouterReady) => {
                let router = router::of_network(cloud, network)?.unwrap_or_default();
                Ok(match declared.is_ready(&router)? {
                    true => done(),
                    false => Beat::Wait { after: None },
                })
            }
            Some(Stage::DropRouter) => {
                let router = match router::of_network(cloud, network) {
                    Err(error) if error.is_not_found() => {
                        router::named(cloud, &subject.physical_name)?
                    }
                    router => router?,
                };
                if let Some(router) = router {
                    let path = format!("/v2.0/routers/{}", path_segment(router::id(&router)));
                    match cloud.send(Request::delete(Service::Network, path)) {
                        Err(error) if error.is_conflict() => {
                            let progress = beating.progress();
                            return progress.again_to_go(cloud.now(), error.into(), |progress| {
                                progress.to(Stage::DropRouter)
                            });
                        }
                        Err(error) if !error.is_not_found() => return Err(error.into()),
                        _ => {}
                    }
                }
                Ok(next(Learned::default(), PlainStage::Delete.step()))
            }
            None => Ok(match (PlainStage::of(step), declared.plain_beat(beating)?) {
                (Some(PlainStage::Create), Beat::Done { learned } | Beat::Next { learned, .. }) => {
                    next(learned, Stage::Router.step())
                }
                (Some(PlainStage::Ready), Beat::Done { learned }) => {
                    next(learned, Stage::RouterReady.step())
                }
                (_, beat) => beat,
            }),
        }
    }
}
