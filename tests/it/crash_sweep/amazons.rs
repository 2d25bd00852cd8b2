//! Types in Amazon's words, cut at every append.

use serde_json::{Value, json};

use super::{Life, reached, sweep};
use crate::support::cut_log::CutLog;
use crate::support::world::{World, hot};

/// A user with a key, of whom another update makes another.
struct Keyed;

fn template(path: &str) -> Value {
    hot(json!({
        "user": { "type": "AWS::IAM::User", "properties": { "Path": path } },
        "key": { "type": "AWS::IAM::AccessKey",
                 "properties": { "UserName": { "get_resource": "user" } } },
    }))
}

impl Life for Keyed {
    async fn live(&self, world: &World, log: &CutLog) -> Option<()> {
        let web = world.create("web", template("/a/")).await.ok()?;
        reached(world, log, &web, "CREATE_COMPLETE").await?;
        let updated = world.update(web.stack, template("/b/")).await.ok()?;
        reached(world, log, &updated, "UPDATE_COMPLETE").await?;
        let deleted = world.delete(web.stack).await.ok()?;
        reached(world, log, &deleted, "DELETE_COMPLETE").await
    }
}

#[actix::test]
async fn a_key_is_made_once_whenever_the_process_ended() {
    sweep(&Keyed, 30).await;
}
