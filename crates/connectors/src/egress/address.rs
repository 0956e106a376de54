//! Which addresses lie outside, and which are ours or nobody's.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// A range of addresses, such as `10.0.0.0/8` or `fd00::/8`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cidr {
    network: IpAddr,
    prefix: u8,
}

impl Cidr {
    /// Whether `address` lies in the range. An IPv4 address never lies in an IPv6 range.
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.network, address) {
            (IpAddr::V4(network), IpAddr::V4(address)) => {
                let mask = mask_of(self.prefix, Ipv4Addr::BITS) as u32;
                u32::from(network) & mask == u32::from(address) & mask
            }
            (IpAddr::V6(network), IpAddr::V6(address)) => {
                let mask = mask_of(self.prefix, Ipv6Addr::BITS);
                u128::from(network) & mask == u128::from(address) & mask
            }
            (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => false,
        }
    }
}

/// The mask in the lowest `width` bits.
fn mask_of(prefix: u8, width: u32) -> u128 {
    let host_bits = width - u32::from(prefix);
    u128::MAX.checked_shl(host_bits).unwrap_or(0)
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.network, self.prefix)
    }
}

impl From<IpAddr> for Cidr {
    fn from(network: IpAddr) -> Self {
        Self { network, prefix: if network.is_ipv4() { 32 } else { 128 } }
    }
}

impl FromStr for Cidr {
    type Err = CidrError;

    fn from_str(text: &str) -> Result<Self, CidrError> {
        let unreadable = || CidrError { text: text.to_owned() };
        let Some((network, prefix)) = text.split_once('/') else {
            return Ok(text.parse::<IpAddr>().map_err(|_| unreadable())?.into());
        };
        let network: IpAddr = network.parse().map_err(|_| unreadable())?;
        let prefix: u8 = prefix.parse().map_err(|_| unreadable())?;
        if prefix > Self::from(network).prefix {
            return Err(unreadable());
        }
        Ok(Self { network, prefix })
    }
}

/// A text that is no range of addresses.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{text}' is no range of addresses; write 10.1.2.0/24, fd00:1::/32 or a single address")]
pub struct CidrError {
    text: String,
}

/// Ranges that a call from inside must never reach unless somebody allowed it.
const INSIDE: &[(&str, &str)] = &[
    ("0.0.0.0/8", "this host"),
    ("10.0.0.0/8", "private"),
    ("100.64.0.0/10", "carrier-grade NAT"),
    ("127.0.0.0/8", "loopback"),
    ("169.254.0.0/16", "link-local, cloud metadata"),
    ("172.16.0.0/12", "private"),
    ("192.0.0.0/24", "protocol assignments"),
    ("192.0.2.0/24", "documentation"),
    ("192.88.99.0/24", "6to4 relay"),
    ("192.168.0.0/16", "private"),
    ("198.18.0.0/15", "benchmarking"),
    ("198.51.100.0/24", "documentation"),
    ("203.0.113.0/24", "documentation"),
    ("224.0.0.0/4", "multicast"),
    ("240.0.0.0/4", "reserved, broadcast"),
    // Addresses that carry an IPv4 address come first: the next range would do, but say less.
    ("::ffff:0.0.0.0/96", "IPv4-mapped"),
    ("64:ff9b::/96", "NAT64"),
    ("::/3", "loopback, IPv4-compatible or reserved"),
    ("2001::/23", "protocol assignments, Teredo"),
    ("2001:db8::/32", "documentation"),
    ("2002::/16", "6to4"),
    ("3fff::/20", "documentation"),
    ("fc00::/7", "unique local"),
    ("fe80::/10", "link-local"),
    ("ff00::/8", "multicast"),
    // Global unicast is 2000::/3 alone; what is left is unassigned.
    ("4000::/2", "reserved"),
    ("8000::/1", "reserved"),
];

/// What kind of inside address this is; none if it lies outside.
pub(super) fn inside(address: IpAddr) -> Option<&'static str> {
    let holds = |range: &&(&str, &str)| -> bool {
        range.0.parse::<Cidr>().expect("the table holds ranges").contains(address)
    };
    INSIDE.iter().find(holds).map(|range| range.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_range_of_the_table_is_readable_and_canonical() {
        for (range, _) in INSIDE {
            assert_eq!(range.parse::<Cidr>().unwrap().to_string(), *range);
        }
    }

    #[test]
    fn the_edges_of_a_range_are_exact() {
        let range: Cidr = "172.16.0.0/12".parse().unwrap();
        let holds = |text: &str| range.contains(text.parse().unwrap());
        assert!(holds("172.16.0.0") && holds("172.31.255.255"));
        assert!(!holds("172.15.255.255") && !holds("172.32.0.0"));
    }

    #[test]
    fn a_prefix_may_be_zero_or_whole() {
        let all: Cidr = "0.0.0.0/0".parse().unwrap();
        assert!(all.contains(Ipv4Addr::BROADCAST.into()));
        let one: Cidr = "::1".parse().unwrap();
        assert!(one.contains(Ipv6Addr::LOCALHOST.into()));
        assert!(!one.contains(Ipv6Addr::UNSPECIFIED.into()));
    }

    #[test]
    fn what_is_no_range_is_refused() {
        for text in ["", "10.0.0.0/33", "::/129", "10.0.0/8", "ten/8", "10.0.0.0/-1", "10.0.0.0/"] {
            assert!(text.parse::<Cidr>().is_err(), "{text}");
        }
    }

    #[test]
    fn well_known_public_addresses_lie_outside() {
        for text in ["1.1.1.1", "9.9.9.9", "172.32.0.1", "2606:4700::1111", "2a00:1450:4001::1"] {
            assert_eq!(inside(text.parse().unwrap()), None, "{text}");
        }
    }
}
