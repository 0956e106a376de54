//! See `stepwell_readers::history`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| stepwell_readers::history(bytes));
