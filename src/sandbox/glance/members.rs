//! Whom an image is shared with.

use serde_json::{Value, json};

use super::super::answer::{self, Answer, Reply};
use super::super::ask::Ask;
use super::super::cloud::Cloud;
use super::super::doc::Doc;
use super::super::keystone::Scope;
use super::state::Member;
use super::{find, missing, nowhere, own};

pub(super) fn answer(
    cloud: &mut Cloud,
    ask: &Ask,
    scope: &Scope,
    id: &str,
    path: &[&str],
) -> Reply {
    let image = find(cloud, scope, id).ok_or_else(|| missing(id))?;
    if image.text("visibility") != "shared" {
        return Err(answer::glance(403, "Only shared images have members."));
    }
    match (ask.method.as_str(), path) {
        ("GET", []) => {
            let mine = scope.sees(image.text("owner"));
            let members: Vec<Value> = of(cloud, id)
                .filter(|member| mine || member.member_id == scope.project_id)
                .map(view)
                .collect();
            let body = json!({"members": members, "schema": "/v2/schemas/members"});
            Ok(Answer::json(200, &body))
        }
        ("GET", [project]) => match cloud.glance.members.get(&key(id, project)) {
            Some(member) => Ok(Answer::json(200, &view(member))),
            None => Err(no_member(id, project)),
        },
        ("POST", []) => {
            own(cloud, scope, id)?;
            let project = ask.object(answer::glance)?.text("member").to_owned();
            if project.is_empty() {
                return Err(answer::glance(400, "Member can't be empty"));
            }
            if cloud.glance.members.contains(&key(id, &project)) {
                let text = format!("Member {project} is duplicated for image {id}");
                return Err(answer::glance(409, text));
            }
            let member = Member {
                image_id: id.to_owned(),
                member_id: project.clone(),
                status: "pending".to_owned(),
                created_at: ask.moment(),
                updated_at: ask.moment(),
            };
            let body = view(&member);
            cloud.glance.members.insert(&key(id, &project), member);
            Ok(Answer::json(200, &body))
        }
        ("PUT", [project]) => {
            if *project != scope.project_id && !scope.is_admin {
                return Err(answer::glance(
                    403,
                    "You are not permitted to modify 'status' on this image member.",
                ));
            }
            let status = ask.object(answer::glance)?.text("status").to_owned();
            if !matches!(status.as_str(), "pending" | "accepted" | "rejected") {
                return Err(answer::glance(400, format!("Invalid status value: {status}")));
            }
            let now = ask.moment();
            let member = cloud
                .glance
                .members
                .edit(&key(id, project))
                .ok_or_else(|| no_member(id, project))?;
            member.status = status;
            member.updated_at = now;
            Ok(Answer::json(200, &view(member)))
        }
        ("DELETE", [project]) => {
            own(cloud, scope, id)?;
            match cloud.glance.members.remove(&key(id, project)) {
                Some(_) => Ok(Answer::empty(204)),
                None => Err(no_member(id, project)),
            }
        }
        _ => Err(nowhere()),
    }
}

/// Whether an image is shared with a project.
pub(super) fn has(cloud: &Cloud, image: &str, project: &str) -> bool {
    cloud.glance.members.contains(&key(image, project))
}

/// What a project said to the offer of an image.
pub(super) fn status<'a>(cloud: &'a Cloud, image: &str, project: &str) -> Option<&'a str> {
    cloud.glance.members.get(&key(image, project)).map(|member| member.status.as_str())
}

/// Forgets the members of an image that is gone.
pub(super) fn forget(cloud: &mut Cloud, image: &str) {
    for id in cloud.glance.members.ids_where(|member| member.image_id == image) {
        cloud.glance.members.remove(&id);
    }
}

fn of<'a>(cloud: &'a Cloud, image: &'a str) -> impl Iterator<Item = &'a Member> {
    cloud.glance.members.values().filter(move |member| member.image_id == image)
}

fn key(image: &str, project: &str) -> String {
    format!("{image} {project}")
}

fn no_member(image: &str, project: &str) -> Answer {
    answer::glance(404, format!("{project} not found in the member list of the image {image}."))
}

fn view(member: &Member) -> Value {
    json!({
        "image_id": member.image_id,
        "member_id": member.member_id,
        "status": member.status,
        "created_at": member.created_at,
        "updated_at": member.updated_at,
        "schema": "/v2/schemas/member",
    })
}
