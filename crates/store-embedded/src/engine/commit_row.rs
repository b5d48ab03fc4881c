//! The row with the commit number. Every atomic write puts it into each keyspace, so that after a restart each keyspace
//! shows up to which commit it is complete, and the journals show that no commit is missing.

/// No table has this tag.
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
    fn the_key_belongs_to_no_table() {
        assert_eq!(Table::from_tag(KEY[0]), None);
        let (key, value) = row(7);
        assert_eq!(number(key, &value), Some(7));
    }
}
