//! See `stepwell_readers::envelope`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| stepwell_readers::envelope(bytes));
