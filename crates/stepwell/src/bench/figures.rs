//! Percentiles and memory.

use std::time::Duration;

/// Times that were measured, to be asked for percentiles.
#[derive(Default)]
pub(super) struct Latencies {
    micros: Vec<u64>,
}

impl Latencies {
    pub(super) fn add(&mut self, time: Duration) {
        self.micros.push(u64::try_from(time.as_micros()).unwrap_or(u64::MAX));
    }

    pub(super) fn count(&self) -> usize {
        self.micros.len()
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.micros.extend(other.micros);
    }

    /// The time that this share of all measured times did not exceed, in milliseconds.
    pub(super) fn percentile_ms(&mut self, percent: usize) -> f64 {
        if self.micros.is_empty() {
            return 0.0;
        }
        self.micros.sort_unstable();
        let place = (self.micros.len() * percent).div_ceil(100).max(1) - 1;
        self.micros[place] as f64 / 1000.0
    }
}

/// A line of a process's status, in megabytes; `None` where the system does not tell.
pub(super) fn memory_mb(process: &str, line: &str) -> Option<f64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let found = status.lines().find_map(|text| text.strip_prefix(line))?;
    let kilobytes: f64 = found.trim().trim_end_matches("kB").trim().parse().ok()?;
    Some(kilobytes / 1024.0)
}

/// Processor time a process has used so far, in milliseconds; `None` where the system does not tell.
pub(super) fn processor_ms(process: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name in parentheses may hold spaces; the numbers follow it.
    let numbers = stat.rsplit_once(')')?.1;
    let mut fields = numbers.split_whitespace().skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    // The kernel counts in hundredths of a second on every platform that has this file.
    Some((user + system) * 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_one_to_a_hundred_is_fifty() {
        let mut latencies = Latencies::default();
        (1..=100).for_each(|millis| latencies.add(Duration::from_millis(millis)));
        assert!((latencies.percentile_ms(50) - 50.0).abs() < f64::EPSILON);
        assert!((latencies.percentile_ms(99) - 99.0).abs() < f64::EPSILON);
    }
}
