#![no_main]
//! `cargo fuzz run --features libfuzzer selector`

libfuzzer_sys::fuzz_target!(|input: &[u8]| listwatch_fuzz::selector(input));
