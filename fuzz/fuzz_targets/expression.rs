#![no_main]
//! `cargo fuzz run --features libfuzzer expression`

libfuzzer_sys::fuzz_target!(|input: &[u8]| listwatch_fuzz::expression(input));
