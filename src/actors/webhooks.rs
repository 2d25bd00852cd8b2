//! Where projects have their events told: made and deleted here, and told by an outlet.

use actix::prelude::*;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use url::Url;

use super::asks::RequestContext;
use super::engine::Engine;
use super::project::{Project, ProjectCommand};
use super::shell::Shell;
use crate::events::Position;
use crate::events::project::WebhookMade;
use crate::model::{ProjectId, Refusal, Secret, Selection, WebhookId, taint};

/// How long a URL may be, in bytes.
const URL_MAX_BYTES: usize = 2_048;
/// How long a key is, in bytes.
const KEY_BYTES: usize = 32;
/// What a key begins with, as the receivers' libraries know it.
const KEY_PREFIX: &str = "whsec_";

/// Where a webhook is, and what it is signed with.
pub struct WebhookTarget {
    pub url: Url,
    pub key: Secret<Vec<u8>>,
}

/// Asks a project where a webhook is, sealed.
#[derive(Message)]
#[rtype(result = "Option<Value>")]
struct TargetOf(WebhookId);

impl Handler<TargetOf> for Shell<Project> {
    type Result = Option<Value>;

    fn handle(&mut self, ask: TargetOf, _ctx: &mut Context<Self>) -> Option<Value> {
        self.machine.webhook(ask.0).cloned()
    }
}

impl Engine {
    /// Makes a webhook, and the key that its receiver knows it by.
    pub async fn make_webhook(
        &self,
        who: &RequestContext,
        url: &str,
        selection: Selection,
    ) -> Result<(WebhookId, Secret<String>, Position), Refusal> {
        let refused = |why: &str| {
            let text = format!("The url of a webhook {why}.");
            Err(Refusal::new("HTTPBadRequest", text))
        };
        if url.len() > URL_MAX_BYTES {
            return refused(&format!("has more than {URL_MAX_BYTES} bytes"));
        }
        let Ok(parsed) = Url::parse(url) else {
            return refused("has to be a whole one, such as https://example.com/events");
        };
        if !self.services.poster.may_go_to(&parsed) {
            return refused("leads to where no call may go");
        }
        let mut key = [0; KEY_BYTES];
        self.services.clock.fill(&mut key);
        let key = Secret::new(format!("{KEY_PREFIX}{}", STANDARD.encode(key)));
        let id = WebhookId(self.services.clock.fresh_id());
        let made = WebhookMade {
            id,
            origin: parsed.origin().ascii_serialization(),
            target: taint::taint(json!({ "url": url, "key": key.reveal() })),
            selection,
        };
        let command = ProjectCommand::MakeWebhook(made);
        let receipt =
            self.services.ask_project(&who.caller.project_id, command, who.meta()).await?;
        Ok((id, key, receipt.position))
    }

    /// Deletes a webhook: what is being told now may still arrive.
    pub async fn delete_webhook(
        &self,
        who: &RequestContext,
        project: &ProjectId,
        id: WebhookId,
    ) -> Result<Position, Refusal> {
        let command = ProjectCommand::DeleteWebhook(id);
        Ok(self.services.ask_project(project, command, who.meta()).await?.position)
    }

    /// Where a webhook is; none where it is gone, or cannot be read any more.
    pub async fn webhook(
        &self,
        project: &ProjectId,
        id: WebhookId,
    ) -> Result<Option<WebhookTarget>, Refusal> {
        let gone = || Refusal::unavailable("The engine is stopping.");
        let address = self.services.directory.project(project).ok_or_else(gone)?;
        let sealed = address.send(TargetOf(id)).await.map_err(|_| gone())?;
        Ok(sealed.and_then(|sealed| opened(taint::plain(sealed))))
    }

    /// Tells something to a webhook; the error is for the log.
    pub async fn post(
        &self,
        url: Url,
        headers: Vec<(&'static str, String)>,
        body: bytes::Bytes,
    ) -> Result<(), String> {
        self.services.poster.post(url, headers, body).await
    }
}

fn opened(target: Value) -> Option<WebhookTarget> {
    let key = target["key"].as_str()?.strip_prefix(KEY_PREFIX)?;
    Some(WebhookTarget {
        url: Url::parse(target["url"].as_str()?).ok()?,
        key: Secret::new(STANDARD.decode(key).ok()?),
    })
}
