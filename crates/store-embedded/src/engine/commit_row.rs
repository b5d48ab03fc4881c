//! The row that numbers a commit. Every atomic write puts it into each keyspace, so that after a restart each of them
//! says up to which commit it is complete, and the journals show that none is missing.

/// No table has this mark.
const KEY: &[u8] = &[0x01];

pub(super) fn key() -> &'static [u8] {
    KEY
}

pub(super) fn row(commit: u64) -> (&'static [u8], [u8; 8]) {
    (KEY, commit.to_be_bytes())
}

pub(super) fn number(key: &[u8], value: &[u8]) -> Option<u64> {
    if key != KEY {
        return None;
    }
    value.try_into().ok().map(u64::from_be_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::Table;

    #[test]
    fn no_table_holds_the_row() {
        assert_eq!(Table::from_mark(KEY[0]), None);
        let (key, value) = row(7);
        assert_eq!(number(key, &value), Some(7));
    }
}
