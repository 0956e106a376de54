//! A duration that is read is written so that it reads the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use stepwell_core::duration::Interval;

fuzz_target!(|text: &str| {
    if let Ok(interval) = text.parse::<Interval>() {
        assert!(interval <= Interval::MAX);
        assert_eq!(interval.to_string().parse::<Interval>().ok(), Some(interval));
    }
});
