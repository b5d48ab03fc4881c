//! The row with the commit number. Every atomic write puts it into each keyspace, so that after a restart each keyspace
//! shows up to which commit it is complete, and the journals show that no commit is missing.

use store::StoreError;

/// No table has this tag.
const KEY: &[u8] = &[0x01];

pub(super) fn key() -> &'static [u8] {
    KEY
}

pub(super) fn row(commit: u64) -> (&'static [u8], [u8; 8]) {
    (KEY, commit.to_be_bytes())
}

/// The number in the row of a keyspace.
pub(super) fn read(value: &[u8]) -> Result<u64, StoreError> {
    number(KEY, value)
        .ok_or_else(|| StoreError::Damaged { found: "the row with the commit number is invalid".to_owned() })
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

    #[test]
    fn a_part_of_a_number_is_damage_and_not_that_before_the_first_commit() {
        let (_, value) = row(7);
        assert_eq!(read(&value).unwrap(), 7);
        for part in [&value[..0], &value[..7]] {
            let read = read(part);
            assert!(matches!(read, Err(StoreError::Damaged { .. })), "{read:?}");
        }
    }
}
