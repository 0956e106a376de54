//! The program: roles, commands, demo, bench.

fn main() {}
