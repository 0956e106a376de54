//! Lanes: the sixteen roads that directives of the commands dialect travel.
//!
//! Which lane a run takes depends on its routing key alone, so every instance, and every consumer
//! outside our control, computes the same answer without asking anybody.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How many lanes there are. Consumers subscribe by lane number, so this never changes.
pub const LANES: u8 = 16;

/// How a tenant's runs are spread over the lanes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Mode {
    /// All runs of a tenant share one lane.
    #[default]
    Default,
    /// Each document of a tenant has its own lane, for a tenant that sends many at once.
    Burst,
}

/// The text that chooses the lane.
///
/// The parts of a burst key are joined without a separator, because existing consumers compute
/// their lanes that way. Two different pairs can therefore give the same key: it says where a message
/// travels and never whose it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RoutingKey(String);

impl RoutingKey {
    /// The key of every run of a tenant under [`Mode::Default`].
    #[must_use]
    pub fn of_tenant(tenant_id: &str) -> Self {
        Self(tenant_id.to_owned())
    }

    /// The key of the runs of one document under [`Mode::Burst`], which cannot do without one.
    #[must_use]
    pub fn of_document(tenant_id: &str, doc_id: &str) -> Self {
        Self(format!("{tenant_id}{doc_id}"))
    }

    /// The key as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RoutingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One of the sixteen roads, numbered from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub struct Lane(u8);

impl Lane {
    /// The lane that `key` takes: the IEEE CRC32 of its UTF-8 bytes, modulo [`LANES`].
    #[must_use]
    pub fn of(key: &RoutingKey) -> Self {
        let hash = crc32fast::hash(key.0.as_bytes());
        let number = hash % u32::from(LANES);
        Self(u8::try_from(number).expect("a remainder below 16 fits in a byte"))
    }

    /// The lane's number, from 0 to 15.
    #[must_use]
    pub const fn number(self) -> u8 {
        self.0
    }

    /// The bus topic of the lane.
    #[must_use]
    pub fn topic(self) -> String {
        format!("global-bus-p{}", self.0)
    }

    /// All lanes in order, for whoever serves every one of them.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..LANES).map(Self)
    }
}

impl fmt::Display for Lane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl From<Lane> for u8 {
    fn from(lane: Lane) -> Self {
        lane.0
    }
}

impl TryFrom<u8> for Lane {
    type Error = LaneError;

    fn try_from(number: u8) -> Result<Self, LaneError> {
        if number < LANES { Ok(Self(number)) } else { Err(LaneError { number }) }
    }
}

/// A number that names no lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no lane {number}; lanes are numbered 0 to 15")]
pub struct LaneError {
    number: u8,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenant_has_the_lane_that_existing_consumers_expect() {
        // D-021, D-022: under DEFAULT the tenant alone decides.
        for (tenant_id, lane) in [("contoso", 15), ("t1", 7), ("acme", 14), ("tenant-a", 11)] {
            assert_eq!(Lane::of(&RoutingKey::of_tenant(tenant_id)).number(), lane, "{tenant_id}");
        }
    }

    #[test]
    fn a_document_in_burst_mode_has_the_lane_that_existing_consumers_expect() {
        // D-021, D-022: under BURST the document follows the tenant immediately.
        for (tenant_id, doc_id, lane) in [("contoso", "doc-42", 4), ("acme", "doc-001", 5)] {
            let key = RoutingKey::of_document(tenant_id, doc_id);
            assert_eq!(Lane::of(&key).number(), lane, "{key}");
        }
    }

    #[test]
    fn a_topic_carries_the_lane_number_without_padding() {
        // D-023: 0 to 15, `p7` and never `p07`.
        let topics: Vec<String> = Lane::all().map(Lane::topic).collect();
        assert_eq!(topics.len(), 16);
        assert_eq!(topics[0], "global-bus-p0");
        assert_eq!(topics[7], "global-bus-p7");
        assert_eq!(topics[15], "global-bus-p15");
    }

    #[test]
    fn two_pairs_may_share_a_routing_key() {
        // the join has no separator, so a key must never serve as an identity.
        let one = RoutingKey::of_document("acme", "1doc");
        let other = RoutingKey::of_document("acme1", "doc");
        assert_eq!(one, other);
        assert_eq!(one.as_str(), "acme1doc");
    }

    #[test]
    fn a_mode_is_written_in_capitals() {
        // D-021: the words of the wire.
        assert_eq!(serde_json::to_string(&Mode::Default).unwrap(), "\"DEFAULT\"");
        assert_eq!(serde_json::from_str::<Mode>("\"BURST\"").unwrap(), Mode::Burst);
        assert!(serde_json::from_str::<Mode>("\"burst\"").is_err());
    }

    #[test]
    fn a_stored_number_that_names_no_lane_is_refused() {
        assert_eq!(serde_json::from_str::<Lane>("15").unwrap().topic(), "global-bus-p15");
        let error = serde_json::from_str::<Lane>("16").unwrap_err();
        assert!(error.to_string().contains("there is no lane 16"), "{error}");
    }
}
