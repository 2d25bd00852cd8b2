//! Defaults of properties that an operator may change, as in Heat: by what agents are told of their
//! configurations, by what they answer, and how user data is packed.

use super::{ConfigError, Layers};

/// A default of the types that come with Hearth, and what is in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeDefault {
    pub property: &'static str,
    /// Heat's own; where a type has another, it keeps that.
    pub from: &'static str,
    pub to: &'static str,
}

/// An option, the property whose default it is, its choices, of which Heat's own is the first, and
/// what is said of another.
type Known = (&'static str, &'static str, &'static [&'static str], &'static str);

const KNOWN: [Known; 3] = [
    (
        "default_software_config_transport",
        "software_config_transport",
        &["POLL_SERVER_CFN", "POLL_SERVER_HEAT", "POLL_TEMP_URL", "ZAQAR_MESSAGE"],
        "POLL_SERVER_CFN, POLL_SERVER_HEAT, POLL_TEMP_URL or ZAQAR_MESSAGE",
    ),
    (
        "default_deployment_signal_transport",
        "signal_transport",
        &["CFN_SIGNAL", "TEMP_URL_SIGNAL", "HEAT_SIGNAL", "ZAQAR_SIGNAL"],
        "CFN_SIGNAL, TEMP_URL_SIGNAL, HEAT_SIGNAL or ZAQAR_SIGNAL",
    ),
    (
        "default_user_data_format",
        "user_data_format",
        &["HEAT_CFNTOOLS", "RAW", "SOFTWARE_CONFIG"],
        "HEAT_CFNTOOLS, RAW or SOFTWARE_CONFIG",
    ),
];

pub(super) fn type_defaults(layers: &Layers) -> Result<Vec<TypeDefault>, ConfigError> {
    let mut defaults = Vec::new();
    for (option, property, choices, wanted) in KNOWN {
        let from = choices[0];
        let given = layers.choice("DEFAULT", option, choices, wanted)?;
        if let Some(to) = given.filter(|to| *to != from) {
            defaults.push(TypeDefault { property, from, to });
        }
    }
    Ok(defaults)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_is_one_of_its_choices() {
        let mut layers = Layers::default();
        assert_eq!(type_defaults(&layers).unwrap(), []);
        layers.add_flag("DEFAULT", "default_user_data_format", "RAW");
        let (from, to) = ("HEAT_CFNTOOLS", "RAW");
        let expected = TypeDefault { property: "user_data_format", from, to };
        assert_eq!(type_defaults(&layers).unwrap(), [expected]);
        layers.add_flag("DEFAULT", "default_user_data_format", "COOKED");
        let said = type_defaults(&layers).unwrap_err().to_string();
        assert!(said.contains("must be HEAT_CFNTOOLS, RAW or SOFTWARE_CONFIG"), "{said}");
    }
}
