//! Who may do what: Heat's default rules for the routes that are served.

use crate::model::Caller;

/// What a rule asks of a caller whose token is for the project in question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    Nobody,
    Admin,
    Member,
    Reader,
    /// A reader, or a user that a stack made for itself.
    ReaderOrStackUser,
}

/// The role of users that stacks make for themselves (`heat_stack_user_role`).
const STACK_USER_ROLE: &str = "heat_stack_user";

/// Heat's defaults, by the name that its policy files use.
const RULES: &[(&str, Rule)] = &[
    ("actions:cancel_update", Rule::Member),
    ("actions:cancel_without_rollback", Rule::Member),
    ("actions:check", Rule::Reader),
    ("actions:resume", Rule::Member),
    ("actions:suspend", Rule::Member),
    ("build_info:build_info", Rule::Reader),
    ("events:index", Rule::Reader),
    ("events:show", Rule::Reader),
    ("feed:all_projects", Rule::Admin),
    ("feed:follow", Rule::Reader),
    ("resource:index", Rule::Reader),
    ("resource:mark_unhealthy", Rule::Member),
    ("resource:metadata", Rule::ReaderOrStackUser),
    ("resource:show", Rule::Reader),
    ("resource:signal", Rule::ReaderOrStackUser),
    ("service:index", Rule::Admin),
    ("software_configs:create", Rule::Member),
    ("software_configs:delete", Rule::Member),
    ("software_configs:global_index", Rule::Nobody),
    ("software_configs:index", Rule::Reader),
    ("software_configs:show", Rule::Reader),
    ("software_deployments:create", Rule::Member),
    ("software_deployments:delete", Rule::Member),
    ("software_deployments:index", Rule::Reader),
    ("software_deployments:metadata", Rule::ReaderOrStackUser),
    ("software_deployments:show", Rule::Reader),
    ("software_deployments:update", Rule::Member),
    ("stacks:abandon", Rule::Member),
    ("stacks:create", Rule::Member),
    ("stacks:delete", Rule::Member),
    ("stacks:delete_snapshot", Rule::Member),
    ("stacks:detail", Rule::Reader),
    ("stacks:environment", Rule::Reader),
    ("stacks:export", Rule::Member),
    ("stacks:files", Rule::Reader),
    ("stacks:generate_template", Rule::Member),
    ("stacks:global_index", Rule::Nobody),
    ("stacks:index", Rule::Reader),
    ("stacks:list_outputs", Rule::Reader),
    ("stacks:list_resource_types", Rule::Reader),
    ("stacks:list_snapshots", Rule::Reader),
    ("stacks:list_template_functions", Rule::Reader),
    ("stacks:list_template_versions", Rule::Reader),
    ("stacks:lookup", Rule::ReaderOrStackUser),
    ("stacks:preview", Rule::Reader),
    ("stacks:preview_update", Rule::Member),
    ("stacks:preview_update_patch", Rule::Member),
    ("stacks:resource_schema", Rule::Reader),
    ("stacks:restore_snapshot", Rule::Member),
    ("stacks:show", Rule::Reader),
    ("stacks:show_output", Rule::Reader),
    ("stacks:show_snapshot", Rule::Reader),
    ("stacks:snapshot", Rule::Member),
    ("stacks:template", Rule::Reader),
    ("stacks:update", Rule::Member),
    ("stacks:update_no_change", Rule::Member),
    ("stacks:update_patch", Rule::Member),
    ("stacks:validate_template", Rule::Member),
];

/// Heat's defaults for resource types: these are for administrators, and all others for everybody.
/// A `*` stands for the last part of a name.
const ADMINS_TYPES: &[&str] = &[
    "OS::Blazar::Host",
    "OS::Cinder::EncryptedVolumeType",
    "OS::Cinder::QoSAssociation",
    "OS::Cinder::QoSSpecs",
    "OS::Cinder::Quota",
    "OS::Cinder::VolumeType",
    "OS::Keystone::*",
    "OS::Manila::ShareType",
    "OS::Neutron::ProviderNet",
    "OS::Neutron::QoSBandwidthLimitRule",
    "OS::Neutron::QoSDscpMarkingRule",
    "OS::Neutron::QoSMinimumBandwidthRule",
    "OS::Neutron::QoSMinimumPacketRateRule",
    "OS::Neutron::QoSPolicy",
    "OS::Neutron::Quota",
    "OS::Neutron::Segment",
    "OS::Nova::Flavor",
    "OS::Nova::HostAggregate",
    "OS::Nova::Quota",
    "OS::Octavia::AvailabilityZone",
    "OS::Octavia::AvailabilityZoneProfile",
    "OS::Octavia::Flavor",
    "OS::Octavia::FlavorProfile",
    "OS::Octavia::Quota",
];

/// Whether a caller may make resources of a type.
pub fn may_use(caller: &Caller, type_name: &str) -> bool {
    let family = type_name.rsplit_once("::").map(|(family, _)| format!("{family}::*"));
    let is_admins = ADMINS_TYPES.contains(&type_name)
        || family.is_some_and(|family| ADMINS_TYPES.contains(&family.as_str()));
    caller.is_admin() || !is_admins
}

/// Whether a caller may do this in the project that the token is for. What no rule names is
/// nobody's.
pub fn may(caller: &Caller, verb: &str) -> bool {
    let rule = RULES.iter().find(|(name, _)| *name == verb).map_or(Rule::Nobody, |(_, rule)| *rule);
    let has = |role: &str| caller.roles.iter().any(|held| held.eq_ignore_ascii_case(role));
    // Keystone implies these: an admin is a member, and a member is a reader.
    let (admin, member) = (has("admin"), has("member"));
    let reader = has("reader") || member || admin;
    match rule {
        Rule::Nobody => false,
        Rule::Admin => admin,
        Rule::Member => member || admin,
        Rule::Reader => reader,
        Rule::ReaderOrStackUser => reader || has(STACK_USER_ROLE),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller(role: &str) -> Caller {
        Caller {
            user_id: "u".into(),
            user_name: "u".into(),
            project_id: "p".into(),
            project_name: "p".into(),
            roles: vec![role.into()],
        }
    }

    #[test]
    fn a_reader_may_look_and_a_member_may_also_act() {
        assert!(may(&caller("reader"), "stacks:index"));
        assert!(!may(&caller("reader"), "stacks:create"));
        assert!(may(&caller("member"), "stacks:create"));
        assert!(!may(&caller("member"), "service:index"));
        assert!(may(&caller("admin"), "service:index"));
    }

    #[test]
    fn a_stack_user_may_do_next_to_nothing() {
        assert!(may(&caller(STACK_USER_ROLE), "resource:metadata"));
        assert!(!may(&caller(STACK_USER_ROLE), "stacks:index"));
    }

    #[test]
    fn some_types_are_for_administrators() {
        assert!(!may_use(&caller("member"), "OS::Nova::Flavor"));
        assert!(!may_use(&caller("member"), "OS::Keystone::User"));
        assert!(may_use(&caller("member"), "OS::Nova::Server"));
        assert!(may_use(&caller("member"), "My::Own"));
        assert!(may_use(&caller("admin"), "OS::Keystone::User"));
    }

    #[test]
    fn what_no_rule_names_is_nobodys() {
        assert!(!may(&caller("admin"), "stacks:global_index"));
        assert!(!may(&caller("admin"), "stacks:unheard_of"));
    }
}
