//! The committed drawing of the state machine is the one that the tables give.

#[path = "../../examples/diagram.rs"]
mod diagram;

#[test]
fn the_drawing_of_the_state_machine_is_current() {
    let committed = include_str!("../../../../docs/state-machine.md");
    assert!(
        committed == diagram::drawing(),
        "docs/state-machine.md is stale; run `cargo xtask diagram` and commit the result"
    );
}
