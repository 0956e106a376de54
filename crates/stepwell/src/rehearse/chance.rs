//! Chance from a seed: the same question gets the same answer, in whatever order questions come.

/// Numbers that a seed and a name determine.
#[derive(Clone, Debug)]
pub(super) struct Chance {
    state: u64,
}

/// The golden ratio in 64 bits: successive states lie far apart.
const STRIDE: u64 = 0x9e37_79b9_7f4a_7c15;

impl Chance {
    /// The numbers of a name under a seed.
    pub(super) fn of(seed: u64, name: &str) -> Self {
        let state = name.bytes().fold(mix(seed ^ STRIDE), |state, byte| {
            mix(state ^ u64::from(byte)).wrapping_add(STRIDE)
        });
        Self { state }
    }

    /// The next 64 bits.
    pub(super) fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(STRIDE);
        mix(self.state)
    }

    /// A number from 0 up to, but not including, 1.
    pub(super) fn share(&mut self) -> f64 {
        /// As many bits as a float can hold exactly.
        const PRECISION: u64 = 1 << 53;
        (self.bits() % PRECISION) as f64 / PRECISION as f64
    }
}

/// The finalizer of SplitMix64: every input bit reaches every output bit.
fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}
