#![no_main]
//! `cargo fuzz run --features libfuzzer log_recovery`

libfuzzer_sys::fuzz_target!(|input: &[u8]| listwatch_fuzz::log_recovery(input));
