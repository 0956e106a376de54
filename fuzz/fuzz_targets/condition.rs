//! See `stepwell_readers::condition`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| stepwell_readers::condition(bytes));
