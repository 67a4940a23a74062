//! Markdown tables.

/// Prints a table: its head, then its rows.
#[expect(clippy::print_stdout, reason = "the table is what this program is for")]
pub(crate) fn print(title: &str, head: &[&str], rows: &[Vec<String>]) {
    println!("\n### {title}\n\n| {} |", head.join(" | "));
    println!("|{}", "---|".repeat(head.len()));
    for row in rows {
        println!("| {} |", row.join(" | "));
    }
}

/// A number of bytes for people.
pub(crate) fn megabytes(bytes: u64) -> String {
    format!("{:.0} MB", bytes as f64 / 1e6)
}
