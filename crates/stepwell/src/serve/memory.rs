//! How much of the machine's memory runs under way may take.

use std::fs;

/// The part of the memory that they get.
const PART: u64 = 16;

/// At least, and at most: on a small machine they are worth it, and on a large one more does not help.
const LEAST: u64 = 128 << 20;
const MOST: u64 = 768 << 20;

/// What they may take if nobody has said how much, in bytes.
pub(super) fn share() -> usize {
    share_of([of_machine(), of_group()].into_iter().flatten().min())
}

/// The share of so much memory; of an unknown amount, the least.
fn share_of(total: Option<u64>) -> usize {
    let share = total.map_or(LEAST, |total| (total / PART).clamp(LEAST, MOST));
    usize::try_from(share).unwrap_or(usize::MAX)
}

/// The machine's memory, where the system says so.
fn of_machine() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kibibytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    kibibytes.checked_mul(1024)
}

/// What the container that we may be in is allowed.
fn of_group() -> Option<u64> {
    fs::read_to_string("/sys/fs/cgroup/memory.max").ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_get_a_share_of_the_memory_within_bounds() {
        let gibibytes = |count: u64| share_of(Some(count << 30)) >> 20;
        assert_eq!([1, 2, 4, 8, 64].map(gibibytes), [128, 128, 256, 512, 768]);
        assert_eq!(share_of(None) >> 20, 128);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_machine_says_how_much_memory_it_has() {
        assert!(of_machine().is_some_and(|total| total > 1 << 28), "{:?}", of_machine());
    }
}
