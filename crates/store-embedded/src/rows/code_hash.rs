use alloy_primitives::B256;
use store::StoreError;

/// The hash of the contract code at an address; None for an empty row: there was no code when it was fetched.
pub(crate) fn code_hash_from_row(row: &[u8]) -> Result<Option<B256>, StoreError> {
    if row.is_empty() {
        return Ok(None);
    }
    B256::try_from(row).map(Some).map_err(|_| StoreError::Corrupt("a code hash without 32 bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_hash_is_damage_and_not_an_address_without_code() {
        assert_eq!(code_hash_from_row(&[]).unwrap(), None);
        assert_eq!(code_hash_from_row(&[7; 32]).unwrap(), Some(B256::repeat_byte(7)));
        for length in [1, 31, 33] {
            let read = code_hash_from_row(&vec![7; length]);
            assert!(matches!(read, Err(StoreError::Corrupt(_))), "{length}: {read:?}");
        }
    }
}
