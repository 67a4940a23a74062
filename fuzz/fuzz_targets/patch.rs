#![no_main]
//! `cargo fuzz run --features libfuzzer patch`

libfuzzer_sys::fuzz_target!(|input: &[u8]| listwatch_fuzz::patch(input));
