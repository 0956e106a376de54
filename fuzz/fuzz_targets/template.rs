//! See `stepwell_readers::template`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| stepwell_readers::template(bytes));
