//! Finds where a JSON array or object ends, 64 bytes at a time and without a branch per byte.

/// How many bytes are looked at together: one bit of a word each.
const BLOCK: usize = 64;

/// Where a scan stands inside an array or object. It can go on with the next bytes at any place.
///
/// It counts brackets outside of strings, and leaves it to the decoder whether they match.
#[derive(Clone, Debug, Default)]
pub(super) struct Nesting {
    /// Arrays and objects that are open.
    depth: u64,
    /// All bits set inside a string, none outside.
    string: u64,
    /// Bit 0 is set if the next byte is escaped.
    escaped: u64,
}

impl Nesting {
    /// Takes the next bytes of a value that begins with a bracket. Behind which of them it ends;
    /// `None` if it goes on.
    pub(super) fn advance(&mut self, bytes: &[u8]) -> Option<usize> {
        let (blocks, tail) = bytes.as_chunks::<BLOCK>();
        for (number, block) in blocks.iter().enumerate() {
            if let Some(end) = self.block(block, BLOCK) {
                return Some(number * BLOCK + end);
            }
        }
        if tail.is_empty() {
            return None;
        }
        let mut padded = [0; BLOCK];
        padded[..tail.len()].copy_from_slice(tail);
        let end = self.block(&padded, tail.len())?;
        Some(blocks.len() * BLOCK + end)
    }

    /// One block, of which the first `len` bytes count and the others are zero.
    #[inline(always)]
    fn block(&mut self, block: &[u8; BLOCK], len: usize) -> Option<usize> {
        let backslashes = columns(block, |byte| byte == b'\\');
        let escaped = self.escapes(backslashes, len);
        let quotes = turned(columns(block, |byte| byte == b'"')) & !escaped;
        let string = parity_so_far(quotes) ^ self.string;
        self.string = if string >> (BLOCK - 1) == 0 {
            0
        } else {
            u64::MAX
        };
        // Setting this bit makes one of the two kinds of brackets, opening or closing.
        const SQUARE_TO_CURLY: u8 = 0x20;
        let outside = !turned(string);
        let opening = columns(block, |byte| byte | SQUARE_TO_CURLY == b'{') & outside;
        let closing = columns(block, |byte| byte | SQUARE_TO_CURLY == b'}') & outside;
        if u64::from(closing.count_ones()) < self.depth {
            self.depth += u64::from(opening.count_ones());
            self.depth -= u64::from(closing.count_ones());
            return None;
        }
        self.count(turned(opening), turned(closing))
    }

    /// The bytes that a backslash makes ordinary.
    #[inline(always)]
    fn escapes(&mut self, backslashes: Columns, len: usize) -> u64 {
        let mut escaped = std::mem::take(&mut self.escaped);
        if backslashes == 0 {
            return escaped;
        }
        let mut left = turned(backslashes) & !escaped;
        while left != 0 {
            let at = left.trailing_zeros();
            if at as usize + 1 == len {
                self.escaped = 1;
                break;
            }
            escaped |= 2 << at;
            left &= !(3 << at);
        }
        escaped
    }

    /// Counts bracket by bracket in a block in which the value may end.
    fn count(&mut self, opening: u64, closing: u64) -> Option<usize> {
        let mut left = opening | closing;
        while left != 0 {
            let at = left.trailing_zeros();
            if opening >> at & 1 == 1 {
                self.depth += 1;
            } else {
                self.depth = self.depth.saturating_sub(1);
            }
            if self.depth == 0 {
                return Some(at as usize + 1);
            }
            left &= left - 1;
        }
        None
    }
}

/// One bit for each byte of a block, if its rows are eight bytes: the byte in row 2 and column 5 is
/// bit 2 of byte 5. Vector instructions can gather bits in this order, and counting needs no other.
type Columns = u64;

/// The bytes that are sought.
#[inline(always)]
fn columns(block: &[u8; BLOCK], sought: impl Fn(u8) -> bool) -> Columns {
    let mut found = [0; BLOCK];
    for (at, byte) in block.iter().enumerate() {
        found[at] = if sought(*byte) { BIT_OF_ROW[at] } else { 0 };
    }
    let rows = found.as_chunks::<8>().0.iter();
    rows.fold(0, |columns, row| columns | u64::from_le_bytes(*row))
}

/// For each byte the bit that stands for it.
const BIT_OF_ROW: [u8; BLOCK] = {
    let mut bits = [0; BLOCK];
    let mut at = 0;
    while at < BLOCK {
        bits[at] = 1 << (at / 8);
        at += 1;
    }
    bits
};

/// Rows become columns and columns rows: between [`Columns`] and bits in the order of the bytes.
#[inline(always)]
fn turned(bits: u64) -> u64 {
    let swap = |bits: u64, distance: u32, which: u64| {
        let differing = (bits ^ bits >> distance) & which;
        bits ^ differing ^ differing << distance
    };
    let bits = swap(bits, 7, 0x00aa_00aa_00aa_00aa);
    let bits = swap(bits, 14, 0x0000_cccc_0000_cccc);
    swap(bits, 28, 0x0000_0000_f0f0_f0f0)
}

/// Each bit says whether the number of bits set up to and with it is odd.
fn parity_so_far(bits: u64) -> u64 {
    let mut parity = bits;
    for distance in [1, 2, 4, 8, 16, 32] {
        parity ^= parity << distance;
    }
    parity
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The same, byte by byte.
    fn end_of(bytes: &[u8]) -> Option<usize> {
        let (mut depth, mut string, mut escaped) = (0, false, false);
        for (at, byte) in bytes.iter().enumerate() {
            let was_escaped = std::mem::take(&mut escaped);
            match byte {
                b'\\' => escaped = !was_escaped,
                b'"' if !was_escaped => string = !string,
                b'{' | b'[' if !string => depth += 1,
                b'}' | b']' if !string => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return Some(at + 1);
            }
        }
        None
    }

    fn advance(pieces: &[&[u8]]) -> Option<usize> {
        let mut nesting = Nesting::default();
        let mut before = 0;
        for piece in pieces {
            if let Some(end) = nesting.advance(piece) {
                return Some(before + end);
            }
            before += piece.len();
        }
        None
    }

    #[test]
    fn the_end_is_found_wherever_the_bytes_are_cut() {
        let text = format!(
            r#"{{"a":"}}\\\"]","b":[{{}},"{}"],"c\\":{{"d":"\\\\"}}}}, {{}}"#,
            r#"\"x\\"#.repeat(40)
        );
        let end = end_of(text.as_bytes());
        assert_eq!(end, Some(text.len() - 4));
        for cut in 0..=text.len() {
            let (first, second) = text.as_bytes().split_at(cut);
            assert_eq!(advance(&[first, second]), end, "cut at {cut}");
        }
    }

    #[test]
    fn depth_costs_nothing() {
        let depth = 1_000_000;
        let text = "[".repeat(depth) + &"]".repeat(depth);
        assert_eq!(advance(&[text.as_bytes()]), Some(text.len()));
    }

    proptest! {
        #[test]
        fn blocks_and_bytes_agree(
            text in r#"[{\[]([{}\[\]"\\]|[a-z]{0,9}){0,120}"#,
            cut in 0_usize..400,
        ) {
            let (first, second) = text.as_bytes().split_at(cut.min(text.len()));
            prop_assert_eq!(advance(&[first, second]), end_of(text.as_bytes()));
        }
    }
}
