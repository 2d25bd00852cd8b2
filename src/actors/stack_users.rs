//! What a user may reach whom a stack has made for one of its resources: that resource, and others
//! of the stack only where the resource's type and the policies that it names let him.

use serde_json::Value;

use super::asks::{RequestContext, StackHead};
use super::engine::Engine;
use super::look::ResourceOfUser;
use super::looks::SeenResource;
use super::resource::Resource;
use super::shell::Inhabit;
use crate::model::taint::plain;
use crate::model::{Caller, Refusal, ResourceName, StackId};
use crate::resource_types::stack_user;

/// The role of such users where no domain for them is configured, Heat's default.
const ROLE: &str = "heat_stack_user";

impl Engine {
    /// Whether the caller has the role of users that stacks make (`heat_stack_user_role`).
    pub fn is_stack_user(&self, caller: &Caller) -> bool {
        let cloud = self.services.cloud.as_ref();
        let role = cloud.and_then(|cloud| cloud.stack_user_role()).unwrap_or(ROLE);
        caller.roles.iter().any(|held| held.eq_ignore_ascii_case(role))
    }

    /// Refuses a stack's user who is not the resource's own.
    pub async fn allow_resource(
        &self,
        who: &RequestContext,
        stack: StackId,
        name: &ResourceName,
    ) -> Result<(), Refusal> {
        self.guarded(who, stack, name).await.map(drop)
    }

    /// The head of a stack, for who may ask about the resource. What is not there is refused like
    /// what is not his, so that names stay unknown.
    pub(super) async fn guarded(
        &self,
        who: &RequestContext,
        stack: StackId,
        name: &ResourceName,
    ) -> Result<StackHead, Refusal> {
        let (head, seen) = self.head_and_resource(stack, name, false).await?;
        self.guard(who, stack, name, head, seen.as_ref()).await
    }

    /// The same of what was seen already.
    pub(super) async fn guard(
        &self,
        who: &RequestContext,
        stack: StackId,
        name: &ResourceName,
        head: Option<StackHead>,
        seen: Option<&SeenResource>,
    ) -> Result<StackHead, Refusal> {
        let head = head.ok_or_else(|| Refusal::not_found("Stack", stack))?;
        self.may_see(who, &head)?;
        let caller = &who.caller;
        // Whatever his roles: who comes with the project of the stack's users is one of them.
        let is_theirs = head.user_project.as_ref() == Some(&caller.project_id);
        if !is_theirs && !self.is_stack_user(caller) {
            return Ok(head);
        }
        if let Some(seen) = seen {
            let user = seen.user.clone().map(plain);
            if user.is_some_and(|user| user == *caller.user_id)
                || self.is_admitted(head.id, &caller.user_id, name).await?
            {
                return Ok(head);
            }
        }
        Err(forbidden())
    }

    /// Whether a user may ask about a resource that is not his own.
    async fn is_admitted(
        &self,
        stack: StackId,
        user: &str,
        name: &ResourceName,
    ) -> Result<bool, Refusal> {
        let Some(own) = self.ask_of(stack, || ResourceOfUser(user.to_string())).await? else {
            return Ok(false);
        };
        let (user, knowledge) = (user.to_owned(), Resource::knowledge(&self.services));
        let policies = move |resource: &Resource| {
            // An id alone may have come with data that somebody adopted.
            let is_his = |id: &Value| plain(id.clone()) == user;
            resource.data.get(stack_user::USER).filter(|id| is_his(id))?;
            let (driver, subject) = resource.inspected(&[], &knowledge)?;
            let policies = driver.program().policies(&subject.properties)?;
            Some(policies.into_iter().map(ResourceName::from).collect::<Vec<_>>())
        };
        let Some(policies) = self.look_at(stack, &own, policies).await? else {
            return Ok(false);
        };
        for policy in &policies {
            let (name, knowledge) = (name.clone(), Resource::knowledge(&self.services));
            let admits = move |resource: &Resource| {
                let (driver, subject) = resource.inspected(&[], &knowledge)?;
                Some(driver.program().admits(&subject.properties)?.contains(&name.as_str().into()))
            };
            if self.look_at(stack, policy, admits).await? != Some(true) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Heat's words for who is somebody and may not.
pub fn forbidden() -> Refusal {
    Refusal::new("Forbidden", "You are not authorized to complete this action.")
}
