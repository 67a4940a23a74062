#![no_main]
//! `cargo fuzz run --features libfuzzer cbor`

libfuzzer_sys::fuzz_target!(|input: &[u8]| listwatch_fuzz::cbor(input));
