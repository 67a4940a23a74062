//! The files are as docs/store-format.md says.

use std::sync::atomic::AtomicU64;

use super::*;
use crate::contract::script;

const FORMAT: &str = include_str!("../../../../../docs/store-format.md");

/// The bytes of the example in the document.
fn documented_bytes() -> Vec<u8> {
    let (_, section) = FORMAT.split_once("\n## Log segment\n").unwrap();
    let (_, block) = section.split_once("```text\n").unwrap();
    let (block, _) = block.split_once("```").unwrap();
    let digits: Vec<u8> = block.bytes().filter(u8::is_ascii_hexdigit).collect();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16);
    digits.chunks(2).map(|pair| byte(pair).unwrap()).collect()
}

#[tokio::test(start_paused = true)]
async fn the_example_in_the_document_is_what_is_written() {
    let disk = SimulatedDisk::new(1);
    let nanoseconds = AtomicU64::new(7);
    let clock = WallClock::new(move || {
        let now = nanoseconds.swap(1_000_000_000, Ordering::Relaxed);
        UNIX_EPOCH + Duration::from_nanos(now)
    });
    let store = EmbeddedStore::open(Arc::new(disk.clone()), clock, small_options()).await;
    script::put(&store.unwrap(), "a", "hi").await;
    let segment = disk.contents("log-0000000001").unwrap();
    let expected = documented_bytes();
    assert_eq!(segment[..8], *b"LWLOG001");
    assert_eq!(
        segment[64..64 + expected.len()],
        expected,
        "{:02x?}",
        &segment[64..]
    );
}
