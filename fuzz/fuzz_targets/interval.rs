//! See `stepwell_readers::interval`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| stepwell_readers::interval(bytes));
