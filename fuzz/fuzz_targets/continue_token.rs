#![no_main]
//! `cargo fuzz run --features libfuzzer continue_token`

libfuzzer_sys::fuzz_target!(|input: &[u8]| listwatch_fuzz::continue_token(input));
