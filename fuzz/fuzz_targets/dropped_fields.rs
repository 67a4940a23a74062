#![no_main]
//! `cargo fuzz run --features libfuzzer dropped_fields`

libfuzzer_sys::fuzz_target!(|input: &[u8]| listwatch_fuzz::dropped_fields(input));
