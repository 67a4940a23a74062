#![no_main]
//! `cargo fuzz run --features libfuzzer decode_object`

libfuzzer_sys::fuzz_target!(|input: &[u8]| listwatch_fuzz::decode_object(input));
