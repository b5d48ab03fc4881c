//! Which addresses a transaction makes active on its day.

use domain::DAY;

/// The day (UTC) of the newest block, and where it begins in the order of transactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CurrentDay {
    number: u64,
    first_transaction: u64,
}

impl CurrentDay {
    /// The day of a block whose day begins with a transaction.
    #[must_use]
    pub fn new(timestamp: u64, first_transaction: u64) -> Self {
        Self { number: timestamp / DAY, first_transaction }
    }

    /// The day of the next block, which begins with a transaction. Where times decrease, which no consensus rule allows, the
    /// block counts for the day of the one before.
    #[must_use]
    pub(crate) fn of_next_block(current: Option<Self>, timestamp: u64, first_transaction: u64) -> Self {
        let next = Self::new(timestamp, first_transaction);
        current.filter(|current| current.number >= next.number).unwrap_or(next)
    }

    /// Whether the next transaction of an address is its first of the day, given the last one before.
    #[must_use]
    pub fn is_first(&self, last_transaction: Option<u64>) -> bool {
        last_transaction.is_none_or(|last| last < self.first_transaction)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_begins_with_its_first_block() {
        let day = CurrentDay::of_next_block(None, 10 * DAY + 5, 100);
        assert_eq!(day, CurrentDay::new(10 * DAY, 100));
        let same = CurrentDay::of_next_block(Some(day), 11 * DAY - 1, 170);
        assert_eq!(same, day);
        assert_eq!(CurrentDay::of_next_block(Some(day), 11 * DAY, 170), CurrentDay::new(11 * DAY, 170));
        assert_eq!(CurrentDay::of_next_block(Some(day), 9 * DAY, 170), day, "times do not go back");
    }

    #[test]
    fn an_address_is_counted_once_a_day() {
        let day = CurrentDay::new(10 * DAY, 100);
        assert!(day.is_first(None) && day.is_first(Some(99)));
        assert!(!day.is_first(Some(100)) && !day.is_first(Some(130)));
    }
}
