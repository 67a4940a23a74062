#![no_main]
//! `cargo fuzz run --features libfuzzer watch_frames`

libfuzzer_sys::fuzz_target!(|input: &[u8]| listwatch_fuzz::watch_frames(input));
