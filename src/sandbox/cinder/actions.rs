//! `POST /volumes/{id}/action`.

use serde_json::{Value, json};

use super::super::answer::{self, Answer, Reply};
use super::super::ask::Ask;
use super::super::cloud::Cloud;
use super::super::doc::{Doc, shown, whole};
use super::super::keystone::Scope;
use super::state::{Volume, VolumeEnd};
use super::volume::{begin_delete, find, plan, set_status};
use super::{bad, policy, quotas, types};
use crate::model::JsonMap;

/// From this microversion on a volume in use can be extended.
const EXTEND_IN_USE: u32 = 42;

pub(super) fn act(cloud: &mut Cloud, ask: &Ask, scope: &Scope, version: u32, id: &str) -> Reply {
    let body = ask.object(answer::nova)?;
    let volume = find(cloud, scope, id)?.clone();
    let Some((action, given)) = body.iter().next() else {
        return Err(bad("There is no such action: ."));
    };
    let empty = JsonMap::new();
    let given = given.as_object().unwrap_or(&empty);
    match action.as_str() {
        "os-extend" => extend(cloud, ask, version, &volume, given)?,
        "os-retype" => {
            let kind = types::chosen(cloud, Some(given.text("new_type")))?;
            idle(&volume, &["available", "in-use"], "retype")?;
            let back = VolumeEnd::Status(volume.status.clone());
            if let Some(volume) = cloud.cinder.volumes.edit(id) {
                volume.volume_type = kind;
            }
            set_status(cloud, id, "retyping", ask.at);
            plan(cloud, id, back, ask.at);
        }
        "os-update_readonly_flag" => {
            if volume.status != "available" {
                return Err(bad(format!(
                    "Invalid volume: Volume {id} status must be available to update readonly \
                     flag, but current status is: {}.",
                    volume.status
                )));
            }
            let readonly = given.get("readonly").map(shown).unwrap_or_default();
            let word = if readonly.eq_ignore_ascii_case("true") { "True" } else { "False" };
            edit(cloud, id, |volume| volume.metadata.set("readonly", word));
        }
        "os-set_bootable" => {
            let bootable = given.get("bootable").map(shown).unwrap_or_default();
            edit(cloud, id, |volume| volume.bootable = bootable.eq_ignore_ascii_case("true"));
            return Ok(Answer::empty(200));
        }
        "os-set_image_metadata" => {
            let metadata = given.object("metadata").cloned().unwrap_or_default();
            edit(cloud, id, |volume| {
                volume.image.get_or_insert_default().extend(metadata.clone());
            });
            return Ok(Answer::json(200, &json!({"metadata": metadata})));
        }
        "os-reset_status" | "os-force_delete" if !scope.is_admin => {
            let rule = action.trim_start_matches("os-");
            return Err(policy(&format!("volume_extension:volume_admin_actions:{rule}")));
        }
        "os-reset_status" => set_status(cloud, id, given.text("status"), ask.at),
        "os-force_delete" => begin_delete(cloud, id, ask.at),
        other => {
            return Err(bad(format!(
                "There is no such action: {other}. Verify the request body and Content-Type header and try again."
            )));
        }
    }
    Ok(Answer::empty(202))
}

fn extend(
    cloud: &mut Cloud,
    ask: &Ask,
    version: u32,
    volume: &Volume,
    given: &JsonMap,
) -> Result<(), Answer> {
    let size = given.get("new_size").and_then(whole).ok_or_else(|| {
        let shown = given.get("new_size").unwrap_or(&Value::Null);
        bad(format!("Invalid input for field/attribute new_size. Value: {shown}."))
    })?;
    let allowed: &[&str] =
        if version >= EXTEND_IN_USE { &["available", "in-use"] } else { &["available"] };
    if !allowed.contains(&volume.status.as_str()) {
        return Err(bad(format!(
            "Invalid volume: Volume {} status must be '{{'status': 'available'}}' to extend, currently {}.",
            volume.id, volume.status
        )));
    }
    if size <= volume.size {
        return Err(bad(format!(
            "Invalid input received: New size for extend must be greater than current size. (current: {}, extended: {size}).",
            volume.size
        )));
    }
    quotas::allow_gigabytes(cloud, &volume.project_id, size - volume.size)?;
    let back = VolumeEnd::Status(volume.status.clone());
    edit(cloud, &volume.id, |volume| volume.size = size);
    set_status(cloud, &volume.id, "extending", ask.at);
    plan(cloud, &volume.id, back, ask.at);
    Ok(())
}

fn idle(volume: &Volume, allowed: &[&str], verb: &str) -> Result<(), Answer> {
    if allowed.contains(&volume.status.as_str()) {
        return Ok(());
    }
    Err(bad(format!(
        "Invalid volume: Volume {} status must be {} to {verb}, but current status is: {}.",
        volume.id,
        allowed.join(" or "),
        volume.status
    )))
}

fn edit(cloud: &mut Cloud, id: &str, change: impl FnOnce(&mut Volume)) {
    if let Some(volume) = cloud.cinder.volumes.edit(id) {
        change(volume);
    }
}
