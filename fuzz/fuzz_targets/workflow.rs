//! Any bytes are a workflow document or a list of problems with their places; never a panic, never slow.
#![no_main]

use libfuzzer_sys::fuzz_target;
use stepwell_dialects::workflow::{self, Checks};

fuzz_target!(|bytes: &[u8]| {
    match workflow::read(bytes) {
        Ok(workflow) => {
            assert!(!workflow.steps.is_empty(), "a sound workflow has steps");
            for (position, step) in workflow.steps.iter().enumerate() {
                assert!(step.after.iter().all(|before| before.position() < workflow.steps.len()));
                assert!(step.after.iter().all(|before| before.position() != position));
            }
            // A document that was read can be compiled, or says why not.
            let _ = Checks::compile(&workflow);
        }
        Err(problems) => assert!(!problems.to_string().is_empty(), "a refusal says why"),
    }
});
