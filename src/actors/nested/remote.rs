//! Stacks that a resource has in another region or cloud: where that is, what they are made of, and
//! what there is of them for those who look.

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};

use super::asks::parent;
use super::turn::ChildBeat;
use crate::actors::previewed::{FarAsk, Preview, PreviewWithin, PreviewedResource};
use crate::actors::services::Services;
use crate::clock::Moment;
use crate::model::taint;
use crate::openstack::{CloudError, Request, Session};
use crate::resource_types::child::{ChildAsk, ChildSeen, Nested};
use crate::resource_types::declared::nesting::elsewhere::{heat, request};
use crate::resource_types::{Failure, Subject};

/// The session there, where a resource's stack is to stand somewhere else than here.
pub(in crate::actors) async fn elsewhere(
    services: &Services,
    session: &Session,
    nested: &dyn Nested,
    subject: &Subject,
) -> Result<Option<Session>, CloudError> {
    match services.cloud {
        Some(_) => session.elsewhere(&nested.elsewhere(subject), &heat()).await,
        None => Ok(None),
    }
}

/// What the stack there of a beat is made of.
pub(in crate::actors) async fn definition(
    services: &Arc<Services>,
    beat: &ChildBeat<'_>,
) -> Result<Value, Failure> {
    let (known, parent) = parent(services, beat).await?;
    let moment = Moment::of(services.clock.as_ref());
    let subject = beat.filled();
    let ask = ChildAsk {
        work: beat.work,
        subject: &subject,
        definition: &known.definition,
        child: None,
        used: None,
        templates: services.registry.operator_templates(),
        room: services.limits.tree().room(),
        timeout: parent.timeout(services.limits.stack_action_timeout),
        now: moment.now,
        chance: &|bytes| moment.fill(bytes),
    };
    question(beat.nested, &ask)
}

/// What a stack there is made of, as its API is told.
pub(in crate::actors) fn question(
    nested: &dyn Nested,
    ask: &ChildAsk<'_>,
) -> Result<Value, Failure> {
    let wanted = nested.wanted(ask)?;
    let source = ask.definition.source();
    let mut body = json!({
        "template": ask.subject.properties.get("template"),
        "files": source.files,
        "environment": taint::plain_map(source.environment),
        "parameters": wanted.parameters,
    });
    if let Some(minutes) = wanted.timeout_mins {
        body["timeout_mins"] = minutes.into();
    }
    Ok(body)
}

async fn show(there: &Session, subject: &Subject) -> Result<Value, CloudError> {
    let shown = there.send(request(Request::get, subject, "")).await?.json()?;
    Ok(shown["stack"].clone())
}

/// The stack there as its resource's attributes need it. `None`: it stands here.
pub(super) async fn seen(
    services: &Arc<Services>,
    session: &Session,
    nested: &dyn Nested,
    subject: &Subject,
) -> Option<Result<ChildSeen, CloudError>> {
    let there = elsewhere(services, session, nested, subject).await.transpose()?;
    let shown = async { show(&there?, subject).await };
    Some(shown.await.map(|stack| {
        let outputs = stack["outputs"].as_array().into_iter().flatten().filter_map(|output| {
            Some((output["output_key"].as_str()?.to_owned(), output["output_value"].clone()))
        });
        ChildSeen { outputs: outputs.collect(), ..ChildSeen::default() }
    }))
}

/// Asks the Heats of other places what a plan's updates would do to the stacks there.
pub(in crate::actors) fn ask_elsewhere<'a>(
    services: &'a Arc<Services>,
    session: &'a Session,
    plan: &'a mut Preview,
) -> BoxFuture<'a, ()> {
    async move {
        let Preview { updated, within, .. } = plan;
        for within in within.iter_mut() {
            ask_elsewhere(services, session, &mut within.plan).await;
        }
        for entry in updated {
            let Some(far) = entry.far.take() else { continue };
            match previewed(services, session, entry, far).await {
                Ok(found) => within.extend(found),
                Err(error) => {
                    tracing::warn!(%error, "a stack elsewhere cannot be asked for a plan");
                    entry.why.push_str("; what changes there cannot be asked now");
                }
            }
        }
    }
    .boxed()
}

async fn previewed(
    services: &Services,
    session: &Session,
    entry: &PreviewedResource,
    far: FarAsk,
) -> Result<Option<PreviewWithin>, CloudError> {
    let driver = services.registry.driver(&far.type_name);
    let Some(nested) = driver.as_ref().and_then(|driver| driver.nests()) else { return Ok(None) };
    let subject = Subject {
        properties: entry.properties.clone(),
        physical_id: entry.physical_id.clone(),
        physical_name: far.stack_name,
        ..Subject::default()
    };
    let Some(there) = elsewhere(services, session, nested, &subject).await? else {
        return Ok(None);
    };
    let asked = request(Request::put, &subject, "/preview").json(far.body);
    let changes = there.send(asked).await?.json()?["resource_changes"].take();
    let of = |kind: &str| -> Vec<PreviewedResource> {
        let told = changes[kind].as_array().into_iter().flatten();
        let text = |told: &Value, key: &str| told[key].as_str().unwrap_or_default().to_owned();
        let resource = |told: &Value| PreviewedResource {
            name: text(told, "resource_name"),
            type_name: text(told, "resource_type"),
            ..PreviewedResource::default()
        };
        told.map(resource).collect()
    };
    let plan = Preview {
        unchanged: of("unchanged"),
        updated: of("updated"),
        replaced: of("replaced"),
        added: of("added"),
        deleted: of("deleted"),
        ..Preview::default()
    };
    let (resource, name) = (entry.name.clone(), subject.physical_name);
    Ok(Some(PreviewWithin { resource, name, stack: None, plan }))
}
