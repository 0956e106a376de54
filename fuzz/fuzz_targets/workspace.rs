//! See `stepwell_readers::workspace`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| stepwell_readers::workspace(bytes));
