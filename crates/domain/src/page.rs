/// The order of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    OldestFirst,
    #[default]
    NewestFirst,
}

/// A page of an ordered list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageRequest {
    /// Entries to skip.
    pub offset: u64,
    /// Maximum number of entries.
    pub limit: u32,
    pub order: Order,
}

impl PageRequest {
    /// The latest `limit` entries.
    #[must_use]
    pub fn newest(limit: u32) -> Self {
        Self { offset: 0, limit, order: Order::NewestFirst }
    }

    /// The ranks of the entries on this page, counted from the oldest, in the requested order, for a list of `total`.
    pub fn ranks(&self, total: u64) -> impl Iterator<Item = u64> + use<> {
        let first = self.offset.min(total);
        let end = self.offset.saturating_add(u64::from(self.limit)).min(total);
        let order = self.order;
        (first..end).map(move |position| match order {
            Order::OldestFirst => position,
            Order::NewestFirst => total - 1 - position,
        })
    }
}

/// Entries of a list, and the length of the whole list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T> {
    pub items: Vec<T>,
    pub total: u64,
}

impl<T> Page<T> {
    #[must_use]
    pub fn empty(total: u64) -> Self {
        Self { items: Vec::new(), total }
    }

    /// The same page of entries made from these.
    #[must_use]
    pub fn map<U>(self, make: impl FnMut(T) -> U) -> Page<U> {
        Page { items: self.items.into_iter().map(make).collect(), total: self.total }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranks(offset: u64, limit: u32, order: Order, total: u64) -> Vec<u64> {
        PageRequest { offset, limit, order }.ranks(total).collect()
    }

    #[test]
    fn the_newest_page_counts_down_from_the_end() {
        assert_eq!(ranks(0, 3, Order::NewestFirst, 5), [4, 3, 2]);
        assert_eq!(ranks(3, 3, Order::NewestFirst, 5), [1, 0]);
    }

    #[test]
    fn the_oldest_page_counts_up() {
        assert_eq!(ranks(1, 2, Order::OldestFirst, 5), [1, 2]);
    }

    #[test]
    fn a_page_past_the_end_is_empty() {
        assert!(ranks(5, 3, Order::NewestFirst, 5).is_empty());
        assert!(ranks(u64::MAX, 100, Order::OldestFirst, 5).is_empty());
        assert!(ranks(0, 3, Order::NewestFirst, 0).is_empty());
    }
}
