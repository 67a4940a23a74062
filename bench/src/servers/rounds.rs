//! Several rounds of the same, of which the one in the middle counts: a noisy one says nothing.

/// The round whose number is the median; the lower one of two in the middle.
pub(crate) fn middle<T>(mut rounds: Vec<T>, number: impl Fn(&T) -> f64) -> Option<T> {
    rounds.sort_by(|one, other| number(one).total_cmp(&number(other)));
    let middle = rounds.len().checked_sub(1)? / 2;
    Some(rounds.swap_remove(middle))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_noisy_round_does_not_count() {
        assert_eq!(middle(vec![3.0, 900.0, 2.0], |it| *it), Some(3.0));
        assert_eq!(middle(vec![4.0, 1.0], |it| *it), Some(1.0));
        assert_eq!(middle(Vec::<f64>::new(), |it| *it), None);
    }
}
