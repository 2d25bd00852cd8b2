//! The macro that makes a stream kind's enum out of its facts.

/// Declares the facts of a stream kind: an enum with a variant per fact, each wrapping the struct
/// of the same name, and the `Event` implementation that names, writes and reads them.
macro_rules! events {
    (
        $(#[$doc:meta])* $kind:ident { $($variant:ident = $version:literal),* $(,)? }
        $(only_notes: $notes:ident)?
        $(scope: $scope:expr)?
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq)]
        pub enum $kind { $(
            #[doc = concat!("See [`", stringify!($variant), "`].")]
            $variant($variant),
        )* }

        impl $kind {
            /// Every event of this kind, with the schema version that is written today.
            pub const TYPES: &'static [(&'static str, u16)] =
                &[ $( (stringify!($variant), $version), )* ];
        }

        impl $crate::events::Event for $kind {
            fn event_type(&self) -> &'static str {
                match self { $( $kind::$variant(_) => stringify!($variant), )* }
            }

            fn version(&self) -> u16 {
                match self { $( $kind::$variant(_) => $version, )* }
            }

            fn encode(&self) -> Result<String, serde_json::Error> {
                match self { $( $kind::$variant(body) => serde_json::to_string(body), )* }
            }

            $(fn only_notes(event_type: &str) -> bool {
                event_type == stringify!($notes)
            })?

            $(fn scope(&self) -> Option<$crate::events::StreamId> {
                let scope: fn(&Self) -> Option<$crate::events::StreamId> = $scope;
                scope(self)
            })?

            fn decode(
                event_type: &str,
                version: u16,
                body: &str,
            ) -> Result<Self, $crate::events::DecodeError> {
                let body = $crate::events::upcast::upcast(event_type, version, body);
                match event_type {
                    $( stringify!($variant) => serde_json::from_str(&body)
                        .map($kind::$variant)
                        .map_err(|source| $crate::events::DecodeError::Body {
                            event_type: event_type.to_owned(),
                            source,
                        }), )*
                    _ => Err($crate::events::DecodeError::UnknownType {
                        kind: stringify!($kind),
                        event_type: event_type.to_owned(),
                        version,
                    }),
                }
            }
        }

        $( impl From<$variant> for $kind {
            fn from(body: $variant) -> Self {
                $kind::$variant(body)
            }
        } )*
    };
}
