//! See `stepwell_readers::workflow`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| stepwell_readers::workflow(bytes));
