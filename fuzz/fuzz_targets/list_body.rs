#![no_main]
//! `cargo fuzz run --features libfuzzer list_body`

libfuzzer_sys::fuzz_target!(|input: &[u8]| listwatch_fuzz::list_body(input));
