//! Any bytes are a command, a callback or a rejection that says why; never a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use stepwell_dialects::commands::{self, outcome};

fuzz_target!(|bytes: &[u8]| {
    if let Err(rejection) = commands::envelope(bytes) {
        assert!(!rejection.problems.to_string().is_empty(), "a rejection says why");
    }
    if let Ok(value) = stepwell_dialects::fields::parse_json(bytes) {
        let _ = outcome::ack(&value);
        let _ = outcome::result(&value);
    }
});
