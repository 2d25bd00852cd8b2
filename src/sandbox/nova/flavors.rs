//! Flavors, their extra specs, and who may use the ones that are not public.

use serde_json::{Value, json};

use super::super::answer::{self, Answer, Reply};
use super::super::ask::Ask;
use super::super::cloud::Cloud;
use super::super::doc::{Doc, flag_text, shown};
use super::super::keystone::Scope;
use super::super::listing;
use super::server::links;
use super::state::Flavor;
use super::version::Version;
use super::{bad, nowhere, policy};
use crate::model::JsonMap;

/// Adds one of the usual flavors.
pub(in crate::sandbox) fn plant(
    cloud: &mut Cloud,
    id: &str,
    name: &str,
    ram: i64,
    disk: i64,
    vcpus: i64,
) {
    let flavor = Flavor {
        id: id.to_owned(),
        name: name.to_owned(),
        ram,
        disk,
        ephemeral: 0,
        swap: 0,
        vcpus,
        rxtx_factor: 1.0,
        is_public: true,
        description: None,
        extra_specs: JsonMap::new(),
        access: Vec::new(),
    };
    cloud.nova.flavors.insert(id, flavor);
}

pub(super) fn answer(
    cloud: &mut Cloud,
    ask: &Ask,
    scope: &Scope,
    version: Version,
    path: &[&str],
) -> Reply {
    match (ask.method.as_str(), path) {
        ("GET", []) => list(cloud, ask, scope, version, false),
        ("GET", ["detail"]) => list(cloud, ask, scope, version, true),
        ("GET", [id]) => {
            let flavor = find(cloud, scope, id)?;
            Ok(Answer::json(200, &json!({"flavor": view(ask, version, flavor)})))
        }
        ("POST", []) => create(cloud, ask, scope, version),
        ("PUT", [id]) => {
            manage(scope, "update")?;
            find(cloud, scope, id)?;
            let given = ask.wrapped("flavor", answer::nova)?;
            edit(cloud, id, |flavor| {
                flavor.description =
                    given.get("description").and_then(Value::as_str).map(str::to_owned);
            });
            let flavor = find(cloud, scope, id)?;
            Ok(Answer::json(200, &json!({"flavor": view(ask, version, flavor)})))
        }
        ("DELETE", [id]) => {
            manage(scope, "delete")?;
            find(cloud, scope, id)?;
            cloud.nova.flavors.remove(id);
            Ok(Answer::empty(202))
        }
        (_, [id, "os-extra_specs", rest @ ..]) => extra_specs(cloud, ask, scope, id, rest),
        ("GET", [id, "os-flavor-access"]) => {
            if !scope.is_admin {
                return Err(policy("os-flavor-access"));
            }
            let flavor = find(cloud, scope, id)?;
            if flavor.is_public {
                return Err(answer::nova(404, "Access list not available for public flavors."));
            }
            Ok(access(flavor))
        }
        ("POST", [id, "action"]) => change_access(cloud, ask, scope, id),
        _ => Err(nowhere()),
    }
}

/// The flavor of this id, if the caller may use it.
pub(super) fn find<'a>(cloud: &'a Cloud, scope: &Scope, id: &str) -> Result<&'a Flavor, Answer> {
    cloud
        .nova
        .flavors
        .get(id)
        .filter(|flavor| usable(flavor, scope))
        .ok_or_else(|| answer::nova(404, format!("Flavor {id} could not be found.")))
}

fn usable(flavor: &Flavor, scope: &Scope) -> bool {
    flavor.is_public || scope.is_admin || flavor.access.contains(&scope.project_id)
}

fn list(cloud: &Cloud, ask: &Ask, scope: &Scope, version: Version, detail: bool) -> Reply {
    let known = ["limit", "marker", "is_public", "minRam", "minDisk", "sort_key", "sort_dir"];
    version.accept_only(ask, &known)?;
    let public = match ask.query("is_public").map(flag_text) {
        Some(public) if scope.is_admin => public,
        // Without a word on it, even an administrator sees the public ones.
        _ => Some(true),
    };
    let number = |key: &str| ask.query(key).and_then(|text| text.parse::<i64>().ok());
    let rows = cloud
        .nova
        .flavors
        .values()
        .filter(|flavor| match public {
            None => true,
            Some(true) => usable(flavor, scope) && (flavor.is_public || !scope.is_admin),
            Some(false) => !flavor.is_public,
        })
        .filter(|flavor| number("minRam").is_none_or(|min| flavor.ram >= min))
        .filter(|flavor| number("minDisk").is_none_or(|min| flavor.disk >= min))
        .map(|flavor| if detail { view(ask, version, flavor) } else { brief(ask, flavor) })
        .collect();
    let page = listing::page(rows, ask, 1000).ok_or_else(|| {
        bad(format!("marker [{}] not found", ask.query("marker").unwrap_or_default()))
    })?;
    Ok(Answer::json(200, &json!({"flavors": page.rows})))
}

fn create(cloud: &mut Cloud, ask: &Ask, scope: &Scope, version: Version) -> Reply {
    manage(scope, "create")?;
    let given = ask.wrapped("flavor", answer::nova)?;
    let number = |key: &str, least: i64| {
        match given.get(key) {
        None => Ok(least.min(0)),
        Some(value) => super::super::doc::whole(value).filter(|number| *number >= least).ok_or_else(|| {
            bad(format!(
                "Invalid input for field/attribute {key}. Value: {}. {} is less than the minimum of {least}",
                shown(value),
                shown(value)
            ))
        }),
    }
    };
    let id = match given.get("id").or(given.get("flavorid")) {
        None | Some(Value::Null) => cloud.fresh_id(),
        Some(id) if *id == "auto" => cloud.fresh_id(),
        Some(id) => shown(id),
    };
    let flavor = Flavor {
        id,
        name: given.text("name").trim().to_owned(),
        ram: number("ram", 1)?,
        disk: number("disk", 0)?,
        ephemeral: number("OS-FLV-EXT-DATA:ephemeral", 0)?,
        swap: number("swap", 0)?,
        vcpus: number("vcpus", 1)?,
        rxtx_factor: given.get("rxtx_factor").and_then(Value::as_f64).unwrap_or(1.0),
        is_public: given.get("os-flavor-access:is_public").is_none_or(|public| *public != false),
        description: given.get("description").and_then(Value::as_str).map(str::to_owned),
        extra_specs: JsonMap::new(),
        access: Vec::new(),
    };
    if flavor.name.is_empty() || flavor.ram < 1 || flavor.vcpus < 1 {
        return Err(bad("Invalid input for field/attribute flavor."));
    }
    if cloud.nova.flavors.contains(&flavor.id) {
        let text = format!("Flavor with ID {} already exists.", flavor.id);
        return Err(answer::nova(409, text));
    }
    if cloud.nova.flavors.values().any(|other| other.name == flavor.name) {
        let text = format!("Flavor with name {} already exists.", flavor.name);
        return Err(answer::nova(409, text));
    }
    let view = view(ask, version, &flavor);
    cloud.nova.flavors.insert(&flavor.id.clone(), flavor);
    Ok(Answer::json(200, &json!({"flavor": view})))
}

fn extra_specs(cloud: &mut Cloud, ask: &Ask, scope: &Scope, id: &str, path: &[&str]) -> Reply {
    let specs = find(cloud, scope, id)?.extra_specs.clone();
    let missing =
        |key: &str| answer::nova(404, format!("Flavor {id} has no extra specs with key {key}."));
    if ask.method != "GET" && !scope.is_admin {
        let verb = if ask.method == "DELETE" { "delete" } else { "create" };
        return Err(policy(&format!("os-flavor-extra-specs:{verb}")));
    }
    match (ask.method.as_str(), path) {
        ("GET", []) => Ok(Answer::json(200, &json!({"extra_specs": specs}))),
        ("GET", [key]) => {
            let value = specs.get(*key).ok_or_else(|| missing(key))?;
            Ok(Answer::json(200, &json!({*key: value})))
        }
        ("POST", []) => {
            let given = ask.wrapped("extra_specs", answer::nova)?;
            edit(cloud, id, |flavor| flavor.extra_specs.extend(given.clone()));
            Ok(Answer::json(200, &json!({"extra_specs": given})))
        }
        ("PUT", [key]) => {
            let given = ask.object(answer::nova)?;
            edit(cloud, id, |flavor| flavor.extra_specs.extend(given.clone()));
            Ok(Answer::json(200, &json!({*key: given.get(*key)})))
        }
        ("DELETE", [key]) => {
            specs.get(*key).ok_or_else(|| missing(key))?;
            edit(cloud, id, |flavor| {
                flavor.extra_specs.remove(*key);
            });
            Ok(Answer::empty(200))
        }
        _ => Err(nowhere()),
    }
}

fn change_access(cloud: &mut Cloud, ask: &Ask, scope: &Scope, id: &str) -> Reply {
    let body = ask.object(answer::nova)?;
    let (action, given) = match body.iter().next() {
        Some((action, Value::Object(given))) => (action.as_str(), given),
        _ => return Err(bad("There is no such action.")),
    };
    if !scope.is_admin {
        let rule = if action == "addTenantAccess" { "add" } else { "remove" };
        return Err(policy(&format!("os-flavor-access:{rule}_tenant_access")));
    }
    let flavor = find(cloud, scope, id)?;
    let project = given.text("tenant").to_owned();
    let held = flavor.access.contains(&project);
    match action {
        "addTenantAccess" if flavor.is_public => {
            Err(answer::nova(409, "Can not add access to a public flavor."))
        }
        "addTenantAccess" if held => Err(answer::nova(
            409,
            format!(
                "Flavor access already exists for flavor {id} and project {project} combination."
            ),
        )),
        "addTenantAccess" => {
            edit(cloud, id, |flavor| flavor.access.push(project));
            Ok(access(find(cloud, scope, id)?))
        }
        "removeTenantAccess" if held => {
            edit(cloud, id, |flavor| flavor.access.retain(|held| *held != project));
            Ok(access(find(cloud, scope, id)?))
        }
        "removeTenantAccess" => Err(answer::nova(
            404,
            format!("Flavor access not found for {id} / {project} combination."),
        )),
        _ => Err(bad("There is no such action.")),
    }
}

fn access(flavor: &Flavor) -> Answer {
    let list: Vec<Value> = flavor
        .access
        .iter()
        .map(|project| json!({"flavor_id": flavor.id, "tenant_id": project}))
        .collect();
    Answer::json(200, &json!({"flavor_access": list}))
}

fn manage(scope: &Scope, verb: &str) -> Result<(), Answer> {
    if scope.is_admin { Ok(()) } else { Err(policy(&format!("os-flavor-manage:{verb}"))) }
}

fn edit(cloud: &mut Cloud, id: &str, change: impl FnOnce(&mut Flavor)) {
    if let Some(flavor) = cloud.nova.flavors.edit(id) {
        change(flavor);
    }
}

fn brief(ask: &Ask, flavor: &Flavor) -> JsonMap {
    let mut view = JsonMap::new();
    view.set("id", flavor.id.as_str());
    view.set("name", flavor.name.as_str());
    view.set("links", links(ask, "flavors", &flavor.id));
    view
}

fn view(ask: &Ask, version: Version, flavor: &Flavor) -> JsonMap {
    let mut view = brief(ask, flavor);
    view.set("ram", flavor.ram);
    view.set("disk", flavor.disk);
    view.set("vcpus", flavor.vcpus);
    view.set("OS-FLV-EXT-DATA:ephemeral", flavor.ephemeral);
    // No swap is an empty text until 2.75.
    let swap = match flavor.swap {
        0 if version < Version(75) => "".into(),
        swap => Value::from(swap),
    };
    view.set("swap", swap);
    view.set("rxtx_factor", flavor.rxtx_factor);
    view.set("OS-FLV-DISABLED:disabled", false);
    view.set("os-flavor-access:is_public", flavor.is_public);
    if version >= Version(55) {
        view.set("description", json!(flavor.description));
    }
    if version >= Version(61) {
        view.set("extra_specs", flavor.extra_specs.clone());
    }
    view
}
