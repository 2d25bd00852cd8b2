//! The messages of the calls that are made here and not by the client of the crate: appends in a
//! session, deletions, and what nodes know of each other. By hand from the published .proto files,
//! with what is used of them.

use std::collections::HashMap;

use bytes::Bytes;

#[derive(Clone, Copy, PartialEq, prost::Message)]
pub(super) struct Empty {}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Id {
    #[prost(message, optional, tag = "1")]
    pub(super) halves: Option<Halves>,
    #[prost(string, optional, tag = "2")]
    pub(super) text: Option<String>,
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
pub(super) struct Halves {
    #[prost(int64, tag = "1")]
    pub(super) most: i64,
    #[prost(int64, tag = "2")]
    pub(super) least: i64,
}

impl Id {
    pub(super) fn of(id: uuid::Uuid) -> Self {
        Self { halves: None, text: Some(id.to_string()) }
    }

    /// In whichever form it came: a server that answers by a time-out changes it.
    pub(super) fn get(&self) -> Option<uuid::Uuid> {
        match (&self.text, self.halves) {
            (Some(text), _) => text.parse().ok(),
            (None, Some(Halves { most, least })) => {
                Some(uuid::Uuid::from_u64_pair(most.cast_unsigned(), least.cast_unsigned()))
            }
            (None, None) => None,
        }
    }
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct StreamName {
    #[prost(bytes = "bytes", tag = "3")]
    pub(super) name: Bytes,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct BatchAppendReq {
    #[prost(message, optional, tag = "1")]
    pub(super) correlation_id: Option<Id>,
    #[prost(message, optional, tag = "2")]
    pub(super) options: Option<BatchOptions>,
    #[prost(message, repeated, tag = "3")]
    pub(super) proposed: Vec<Proposed>,
    #[prost(bool, tag = "4")]
    pub(super) is_final: bool,
}

/// Exactly one of `revision` and `no_stream` is set.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct BatchOptions {
    #[prost(message, optional, tag = "1")]
    pub(super) stream: Option<StreamName>,
    #[prost(uint64, optional, tag = "2")]
    pub(super) revision: Option<u64>,
    #[prost(message, optional, tag = "3")]
    pub(super) no_stream: Option<Empty>,
    #[prost(message, optional, tag = "7")]
    pub(super) deadline: Option<Seconds>,
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
pub(super) struct Seconds {
    #[prost(int64, tag = "1")]
    pub(super) seconds: i64,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Proposed {
    #[prost(message, optional, tag = "1")]
    pub(super) id: Option<Id>,
    #[prost(map = "string, string", tag = "2")]
    pub(super) metadata: HashMap<String, String>,
    #[prost(bytes = "bytes", tag = "3")]
    pub(super) custom_metadata: Bytes,
    #[prost(bytes = "bytes", tag = "4")]
    pub(super) data: Bytes,
}

impl Proposed {
    pub(super) fn new(
        id: uuid::Uuid,
        event_type: &str,
        custom_metadata: Vec<u8>,
        data: Bytes,
    ) -> Self {
        let content = if data.first() == Some(&b'{') {
            "application/json"
        } else {
            "application/octet-stream"
        };
        let metadata = [("type", event_type), ("content-type", content)];
        let metadata = metadata.map(|(name, value)| (name.to_owned(), value.to_owned()));
        Self {
            id: Some(Id::of(id)),
            metadata: metadata.into(),
            custom_metadata: custom_metadata.into(),
            data,
        }
    }

    /// What the server counts, and more.
    pub(super) fn size(&self) -> usize {
        self.data.len() + self.custom_metadata.len()
    }
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct BatchAppendResp {
    #[prost(message, optional, tag = "1")]
    pub(super) correlation_id: Option<Id>,
    #[prost(message, optional, tag = "2")]
    pub(super) error: Option<Failure>,
    #[prost(message, optional, tag = "3")]
    pub(super) success: Option<Success>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Failure {
    #[prost(int32, tag = "1")]
    pub(super) code: i32,
    #[prost(string, tag = "2")]
    pub(super) message: String,
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
pub(super) struct Success {
    #[prost(message, optional, tag = "3")]
    pub(super) position: Option<Place>,
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
pub(super) struct Place {
    #[prost(uint64, tag = "1")]
    pub(super) commit: u64,
    #[prost(uint64, tag = "2")]
    pub(super) prepare: u64,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct DeleteReq {
    #[prost(message, optional, tag = "1")]
    pub(super) options: Option<DeleteOptions>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct DeleteOptions {
    #[prost(message, optional, tag = "1")]
    pub(super) stream: Option<StreamName>,
    #[prost(uint64, optional, tag = "2")]
    pub(super) revision: Option<u64>,
    #[prost(message, optional, tag = "4")]
    pub(super) any: Option<Empty>,
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
pub(super) struct DeleteResp {
    #[prost(message, optional, tag = "1")]
    pub(super) position: Option<Place>,
}

/// Exactly one of `stream` and `all` is set, and one of `filter` and `no_filter`.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct ReadOptions {
    #[prost(message, optional, tag = "1")]
    pub(super) stream: Option<InStream>,
    #[prost(message, optional, tag = "2")]
    pub(super) all: Option<InAll>,
    /// 0 is forwards, 1 backwards.
    #[prost(int32, tag = "3")]
    pub(super) direction: i32,
    #[prost(uint64, optional, tag = "5")]
    pub(super) count: Option<u64>,
    #[prost(message, optional, tag = "7")]
    pub(super) filter: Option<FilterOptions>,
    #[prost(message, optional, tag = "8")]
    pub(super) no_filter: Option<Empty>,
    #[prost(message, optional, tag = "9")]
    pub(super) ids: Option<IdsAsText>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct ReadReq {
    #[prost(message, optional, tag = "1")]
    pub(super) options: Option<ReadOptions>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct InStream {
    #[prost(message, optional, tag = "1")]
    pub(super) stream: Option<StreamName>,
    #[prost(uint64, optional, tag = "2")]
    pub(super) revision: Option<u64>,
    #[prost(message, optional, tag = "4")]
    pub(super) end: Option<Empty>,
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
pub(super) struct InAll {
    #[prost(message, optional, tag = "1")]
    pub(super) position: Option<Place>,
    #[prost(message, optional, tag = "2")]
    pub(super) start: Option<Empty>,
    #[prost(message, optional, tag = "3")]
    pub(super) end: Option<Empty>,
}

/// One of the two is set.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct FilterOptions {
    #[prost(message, optional, tag = "1")]
    pub(super) stream: Option<Expression>,
    #[prost(message, optional, tag = "2")]
    pub(super) event_type: Option<Expression>,
    #[prost(uint32, tag = "3")]
    pub(super) window: u32,
    #[prost(uint32, tag = "5")]
    pub(super) multiplier: u32,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Expression {
    #[prost(string, repeated, tag = "2")]
    pub(super) prefixes: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
pub(super) struct IdsAsText {
    #[prost(message, optional, tag = "2")]
    pub(super) text: Option<Empty>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct ReadResp {
    #[prost(message, optional, tag = "1")]
    pub(super) event: Option<ReadEvent>,
    #[prost(message, optional, tag = "4")]
    pub(super) no_stream: Option<Empty>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct ReadEvent {
    #[prost(message, optional, tag = "1")]
    pub(super) event: Option<Recorded>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Recorded {
    #[prost(message, optional, tag = "1")]
    pub(super) id: Option<Id>,
    #[prost(message, optional, tag = "2")]
    pub(super) stream: Option<StreamName>,
    #[prost(uint64, tag = "3")]
    pub(super) revision: u64,
    #[prost(uint64, tag = "5")]
    pub(super) commit: u64,
    #[prost(map = "string, string", tag = "6")]
    pub(super) metadata: HashMap<String, String>,
    #[prost(bytes = "bytes", tag = "7")]
    pub(super) custom_metadata: Bytes,
    #[prost(bytes = "bytes", tag = "8")]
    pub(super) data: Bytes,
}

/// What a node knows of its cluster.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct ClusterInfo {
    #[prost(message, repeated, tag = "1")]
    pub(super) members: Vec<Member>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Member {
    #[prost(bool, tag = "4")]
    pub(super) is_alive: bool,
    #[prost(message, optional, tag = "5")]
    pub(super) place: Option<MemberPlace>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct MemberPlace {
    #[prost(string, tag = "1")]
    pub(super) host: String,
    #[prost(uint32, tag = "2")]
    pub(super) port: u32,
}
