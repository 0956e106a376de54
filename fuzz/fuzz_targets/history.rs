//! A record of a history that can be read is written so that it reads the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use stepwell_core::entry::Record;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(record) = serde_json::from_slice::<Record>(bytes) {
        let text = serde_json::to_string(&record).expect("a record can be written");
        let again: Record = serde_json::from_str(&text).expect("what was written can be read");
        assert_eq!(serde_json::to_string(&again).ok(), Some(text));
    }
});
