//! Chance from a seed: what is drawn under a name does not depend on what is drawn under another.
//!
//! In a simulated world every actor and every kind of fault has a stream of its own, so that taking one
//! away leaves what the others draw as it was. In a rehearsal the same question gets the same answer, in
//! whatever order questions come.

/// The golden ratio in 64 bits: successive states lie far apart.
const STRIDE: u64 = 0x9e37_79b9_7f4a_7c15;

/// A stream of numbers that a seed and a name determine.
#[derive(Clone, Debug)]
pub struct Chance {
    state: u64,
}

impl Chance {
    /// The stream of a name under a seed.
    #[must_use]
    pub fn of(seed: u64, name: &str) -> Self {
        let named = name
            .bytes()
            .fold(seed ^ STRIDE, |state, byte| mix(state ^ u64::from(byte)).wrapping_add(STRIDE));
        Self { state: named }
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(STRIDE);
        mix(self.state)
    }

    /// A number from 0 up to, but not including, 1.
    pub fn share(&mut self) -> f64 {
        /// As many bits as a float can hold exactly.
        const PRECISION: u64 = 1 << 53;
        (self.bits() % PRECISION) as f64 / PRECISION as f64
    }

    /// A number below `bound`; 0 if there is none.
    pub fn below(&mut self, bound: u64) -> u64 {
        if bound == 0 { 0 } else { self.bits() % bound }
    }

    /// A number from `low` to `high`, both included.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high.saturating_sub(low) + 1)
    }

    /// True so many times in a thousand.
    pub fn permille(&mut self, rate: u32) -> bool {
        self.below(1000) < u64::from(rate)
    }

    /// One of them.
    ///
    /// # Panics
    /// When there is nothing to choose from.
    pub fn one_of<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        assert!(!choices.is_empty(), "there is something to choose from");
        &choices[self.index(choices.len())]
    }

    /// A position in something of this length.
    pub fn index(&mut self, length: usize) -> usize {
        usize::try_from(self.below(length as u64)).unwrap_or(0)
    }
}

/// The finalizer of SplitMix64: every input bit reaches every output bit.
fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}
