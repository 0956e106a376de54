//! Chance from a seed: the only source of randomness in a timeline.

/// A stream of numbers that a seed and a name determine.
pub(crate) struct Chance {
    state: u64,
}

const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

impl Chance {
    pub(crate) fn of(seed: u64, name: &str) -> Self {
        let fold = |state: u64, byte: u8| mix(state ^ u64::from(byte)).wrapping_add(STEP);
        Self { state: name.bytes().fold(mix(seed ^ STEP), fold) }
    }

    pub(crate) fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(STEP);
        mix(self.state)
    }

    /// A number from `low` to `high`, both included.
    pub(crate) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.bits() % (high - low + 1)
    }

    /// True so many times in a hundred.
    pub(crate) fn percent(&mut self, rate: u64) -> bool {
        self.bits() % 100 < rate
    }

    pub(crate) fn bytes(&mut self) -> [u8; 10] {
        let (one, other) = (self.bits().to_le_bytes(), self.bits().to_le_bytes());
        let mut bytes = [0; 10];
        bytes[..8].copy_from_slice(&one);
        bytes[8..].copy_from_slice(&other[..2]);
        bytes
    }
}

/// The finalizer of SplitMix64: every input bit reaches every output bit.
fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}
