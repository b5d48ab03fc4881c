//! Values of rows. Unsigned numbers are stored with the same bits as signed ones.

use domain::{Address, B256, BlockRef, Bytes, ChainIdentity, U256};
use store::{ChainTotals, RowNumber, StoreError};
use tokio_postgres::{Row, types::FromSql};

use crate::{error::store_error, numeric::Numeric};

/// A number that is sent as int8.
pub(crate) fn int8(number: u64) -> i64 {
    number.cast_signed()
}

/// A count or position for a comparison in the database, which has no larger numbers.
pub(crate) fn clamped(number: u64) -> i64 {
    // Less than the maximum, so that one can be added.
    i64::try_from(number).unwrap_or(i64::MAX).min(i64::MAX - 1)
}

pub(crate) fn limit(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// The number of a kind, as it is sent.
pub(crate) fn int2(kind: impl RowNumber) -> i16 {
    i16::from(kind.to_number())
}

/// Reads columns by position.
pub(crate) trait RowExt {
    fn value<'a, T: FromSql<'a>>(&'a self, column: usize) -> Result<T, StoreError>;

    fn kind<K: RowNumber>(&self, column: usize) -> Result<K, StoreError> {
        K::from_number(self.value::<i16>(column)?)
    }

    fn option_kind<K: RowNumber>(&self, column: usize) -> Result<Option<K>, StoreError> {
        self.value::<Option<i16>>(column)?.map(K::from_number).transpose()
    }

    fn u64(&self, column: usize) -> Result<u64, StoreError> {
        Ok(self.value::<i64>(column)?.cast_unsigned())
    }

    fn u32(&self, column: usize) -> Result<u32, StoreError> {
        Ok(self.value::<i32>(column)?.cast_unsigned())
    }

    fn option_u64(&self, column: usize) -> Result<Option<u64>, StoreError> {
        Ok(self.value::<Option<i64>>(column)?.map(i64::cast_unsigned))
    }

    fn amount(&self, column: usize) -> Result<U256, StoreError> {
        to_u256(self.value(column)?)
    }

    /// The totals of a block or of the chain, whose first column is at a position.
    fn totals(&self, first: usize) -> Result<ChainTotals, StoreError> {
        Ok(ChainTotals {
            transactions: self.u64(first)?,
            transfers: self.u64(first + 1)?,
            trades: self.u64(first + 2)?,
            addresses: self.u64(first + 3)?,
            tokens: self.u64(first + 4)?,
            filled_blocks: self.u64(first + 5)?,
            untraced_blocks: self.u64(first + 6)?,
            gas_prices: self.amount(first + 7)?,
            logs: self.u64(first + 8)?,
            log_topics: self.u64(first + 9)?,
            log_sources: self.u64(first + 10)?,
            nfts: self.u64(first + 11)?,
            approvals: self.u64(first + 12)?,
            gas_used: self.u64(first + 13)?,
            fees: self.amount(first + 14)?,
            burnt_fees: self.amount(first + 15)?,
            contracts: self.u64(first + 16)?,
            active_addresses: self.u64(first + 17)?,
            unpriced_transactions: self.u64(first + 18)?,
            credits: self.u64(first + 19)?,
        })
    }

    fn u128(&self, column: usize) -> Result<u128, StoreError> {
        to_u128(self.value(column)?)
    }

    fn address(&self, column: usize) -> Result<Address, StoreError> {
        to_address(self.value(column)?)
    }

    fn option_address(&self, column: usize) -> Result<Option<Address>, StoreError> {
        self.value::<Option<&[u8]>>(column)?.map(to_address).transpose()
    }

    fn hash(&self, column: usize) -> Result<B256, StoreError> {
        to_hash(self.value(column)?)
    }

    fn option_hash(&self, column: usize) -> Result<Option<B256>, StoreError> {
        self.value::<Option<&[u8]>>(column)?.map(to_hash).transpose()
    }

    fn bytes(&self, column: usize) -> Result<Bytes, StoreError> {
        Ok(Bytes::copy_from_slice(self.value(column)?))
    }

    fn text(&self, column: usize) -> Result<String, StoreError> {
        to_text(self.value(column)?)
    }

    fn option_text(&self, column: usize) -> Result<Option<String>, StoreError> {
        self.value::<Option<&[u8]>>(column)?.map(to_text).transpose()
    }

    /// A block by its number and, in the next column, its hash.
    fn option_block(&self, column: usize) -> Result<Option<BlockRef>, StoreError> {
        let found = both(self.option_u64(column)?, self.option_hash(column + 1)?)?;
        Ok(found.map(|(number, hash)| BlockRef { number, hash }))
    }

    /// A chain by its id and, in the next column, the hash of its genesis block.
    fn option_chain(&self, column: usize) -> Result<Option<ChainIdentity>, StoreError> {
        let found = both(self.option_u64(column)?, self.option_hash(column + 1)?)?;
        Ok(found.map(|(chain_id, genesis_hash)| ChainIdentity { chain_id, genesis_hash }))
    }
}

impl RowExt for Row {
    fn value<'a, T: FromSql<'a>>(&'a self, column: usize) -> Result<T, StoreError> {
        self.try_get(column).map_err(store_error)
    }
}

/// Two columns of which none or both have a value.
pub(crate) fn both<A, B>(one: Option<A>, other: Option<B>) -> Result<Option<(A, B)>, StoreError> {
    match (one, other) {
        (Some(one), Some(other)) => Ok(Some((one, other))),
        (None, None) => Ok(None),
        (Some(_), None) | (None, Some(_)) => Err(StoreError::Corrupt("half of a value of two columns")),
    }
}

/// Columns with an element each of the same things.
pub(crate) fn pairs<A, B>(ones: Vec<A>, others: Vec<B>) -> Result<impl Iterator<Item = (A, B)>, StoreError> {
    if ones.len() == others.len() {
        Ok(ones.into_iter().zip(others))
    } else {
        Err(StoreError::Corrupt("columns with different numbers of elements"))
    }
}

pub(crate) fn to_u256(number: Numeric) -> Result<U256, StoreError> {
    U256::checked_from_limbs_slice(number.0.as_limbs()).ok_or(StoreError::Corrupt("an amount above 256 bits"))
}

pub(crate) fn to_u128(number: Numeric) -> Result<u128, StoreError> {
    u128::try_from(number.0).map_err(|_| StoreError::Corrupt("a number above 128 bits"))
}

pub(crate) fn to_address(bytes: &[u8]) -> Result<Address, StoreError> {
    Address::try_from(bytes).map_err(|_| StoreError::Corrupt("an address without 20 bytes"))
}

pub(crate) fn to_hash(bytes: &[u8]) -> Result<B256, StoreError> {
    B256::try_from(bytes).map_err(|_| StoreError::Corrupt("a hash without 32 bytes"))
}

pub(crate) fn to_text(bytes: &[u8]) -> Result<String, StoreError> {
    String::from_utf8(bytes.to_vec()).map_err(|_| StoreError::Corrupt("a text that is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_a_value_is_not_none() {
        assert_eq!(both(Some(1), Some(2)).unwrap(), Some((1, 2)));
        assert_eq!(both(None::<u8>, None::<u8>).unwrap(), None);
        for half in [both(Some(1), None), both(None, Some(2))] {
            assert!(matches!(half, Err(StoreError::Corrupt(_))), "{half:?}");
        }
    }

    #[test]
    fn no_element_without_a_partner_is_left_out() {
        assert_eq!(pairs(vec![1, 2], vec!["a", "b"]).unwrap().collect::<Vec<_>>(), [(1, "a"), (2, "b")]);
        assert!(matches!(pairs(vec![1, 2], vec!["a"]).map(|_| ()), Err(StoreError::Corrupt(_))));
        assert!(matches!(pairs(vec![1], vec!["a", "b"]).map(|_| ()), Err(StoreError::Corrupt(_))));
    }
}
