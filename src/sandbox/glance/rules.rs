//! What an image may say of itself.

use super::super::answer::{self, Answer};
use super::super::doc::{shown, whole};
use super::super::keystone::Scope;
use crate::model::JsonMap;

/// Fields that a request cannot set.
pub(super) const READ_ONLY: [&str; 14] = [
    "status",
    "size",
    "virtual_size",
    "checksum",
    "os_hash_algo",
    "os_hash_value",
    "created_at",
    "updated_at",
    "file",
    "self",
    "schema",
    "direct_url",
    "locations",
    "stores",
];

pub(super) const VISIBILITIES: [&str; 4] = ["public", "community", "private", "shared"];
const DISK_FORMATS: [&str; 12] =
    ["ami", "ari", "aki", "vhd", "vhdx", "vmdk", "raw", "qcow2", "vdi", "ploop", "iso", "gpt"];
const CONTAINER_FORMATS: [&str; 8] =
    ["ami", "ari", "aki", "bare", "ovf", "ova", "docker", "compressed"];

/// Refuses values that the schema does not allow.
pub(super) fn check(image: &JsonMap) -> Result<(), Answer> {
    one_of(image, "visibility", &VISIBILITIES)?;
    for (field, formats) in
        [("disk_format", DISK_FORMATS.as_slice()), ("container_format", &CONTAINER_FORMATS)]
    {
        if image.get(field).is_some_and(|value| !value.is_null()) {
            one_of(image, field, formats)?;
        }
    }
    for field in ["min_ram", "min_disk"] {
        if image.get(field).and_then(whole).is_none_or(|number| number < 0) {
            let value = image.get(field).map(shown).unwrap_or_default();
            return Err(answer::glance(
                400,
                format!(
                    "Invalid value '{value}' for parameter '{field}': Cannot be a negative value"
                ),
            ));
        }
    }
    for field in ["protected", "os_hidden"] {
        if image.get(field).is_some_and(|value| !value.is_boolean()) {
            let value = image.get(field).map(shown).unwrap_or_default();
            return Err(mismatch(&format!("'{value}' is not of type 'boolean'")));
        }
    }
    // Properties of the user's own are texts.
    for field in ["name", "kernel_id", "ramdisk_id", "architecture", "os_distro", "os_version"] {
        if image.get(field).is_some_and(|value| !value.is_string() && !value.is_null()) {
            let value = image.get(field).map(shown).unwrap_or_default();
            return Err(mismatch(&format!("{value} is not of type 'null', 'string'")));
        }
    }
    Ok(())
}

fn one_of(image: &JsonMap, field: &str, allowed: &[&str]) -> Result<(), Answer> {
    let value = image.get(field).map(shown).unwrap_or_default();
    if allowed.contains(&value.as_str()) {
        return Ok(());
    }
    let list: Vec<String> = allowed.iter().map(|one| format!("'{one}'")).collect();
    Err(mismatch(&format!("'{value}' is not one of [{}]", list.join(", "))))
}

/// What does not fit the schema.
pub(super) fn mismatch(text: &str) -> Answer {
    answer::glance(400, format!("Provided object does not match schema 'image': {text}"))
}

/// Only administrators make images public.
pub(super) fn publicize(scope: &Scope, visibility: &str) -> Result<(), Answer> {
    if visibility != "public" || scope.is_admin {
        return Ok(());
    }
    Err(answer::glance(403, "You are not authorized to complete publicize_image action."))
}
