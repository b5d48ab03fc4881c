//! The status of a token: the source of its balances, and the number of its holders. Transfers, audits and balances
//! fetched from the contract each contribute to it.

use domain::{Balance, BalanceSource};
use store::{StoreError, fetch_policy};

use crate::{
    keys::{AddressId, Key, Pair, Table},
    rows::{AuditRow, CallHolders, TokenRow, balance_from_row},
};

/// Looks up rows: on disk, or on disk and in an unfinished batch.
pub(crate) trait RowSource {
    fn row(&mut self, table: Table, key: &Key) -> Result<Option<Vec<u8>>, StoreError>;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TokenStatus {
    pub(crate) row: TokenRow,
    pub(crate) balance_source: BalanceSource,
    pub(crate) holder_count: u64,
    pub(crate) audit: Option<AuditRow>,
}

/// None if the address is not a token.
pub(crate) fn find_token_status(rows: &mut dyn RowSource, token: AddressId) -> Result<Option<TokenStatus>, StoreError> {
    let key = Key::id(token);
    let Some(row) = rows.row(Table::Token, &key)? else { return Ok(None) };
    let row = TokenRow::from_row(&row)?;
    let audit = rows.row(Table::Audit, &key)?.map(|row| AuditRow::from_row(&row)).transpose()?;
    let balance_source = fetch_policy::balance_source(row.balance_source, audit.map(|audit| audit.verdict));
    // Until balances are fetched from the contract, the count derived from events is the best available.
    let fetched = match balance_source {
        BalanceSource::Events => None,
        BalanceSource::Calls => {
            rows.row(Table::CallHolders, &key)?.map(|row| CallHolders::from_row(&row)).transpose()?
        }
    };
    Ok(Some(TokenStatus {
        row,
        balance_source,
        holder_count: fetched.map_or(row.holder_count, |fetched| fetched.holding),
        audit,
    }))
}

/// The balance of a holder, from the token's balance source.
pub(crate) fn find_balance(rows: &mut dyn RowSource, pair: Pair) -> Result<Balance, StoreError> {
    let source = find_token_status(rows, pair.token)?.map(|status| status.balance_source);
    find_balance_by(rows, source, pair)
}

/// The same for a known source; None if the address is not a token.
pub(crate) fn find_balance_by(
    rows: &mut dyn RowSource,
    source: Option<BalanceSource>,
    pair: Pair,
) -> Result<Balance, StoreError> {
    let table = match source {
        None => return Ok(Balance::ZERO),
        Some(BalanceSource::Events) => Table::Balance,
        Some(BalanceSource::Calls) => Table::CallBalance,
    };
    rows.row(table, &Key::balance(pair))?.map_or(Ok(Balance::ZERO), |row| balance_from_row(&row))
}
