//! See `stepwell_readers::runbook`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| stepwell_readers::runbook(bytes));
