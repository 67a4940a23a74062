#![no_main]
//! `cargo fuzz run --features libfuzzer protobuf`

libfuzzer_sys::fuzz_target!(|input: &[u8]| listwatch_fuzz::protobuf(input));
