//! How a token stands: where its balances come from, and how many hold it. Transfers, audits and asked balances each
//! know a part of that.

use domain::{AuditResult, Balance, BalanceSource};
use store::StoreError;

use crate::keys::{AddressId, Key, Pair, Table};
use crate::rows::{AuditRow, CallHolders, TokenRow, balance_from_row};

/// Looks rows up: on disk, or on disk and in a batch that is being made.
pub(crate) trait Rows {
    fn row(&mut self, table: Table, key: &Key) -> Result<Option<Vec<u8>>, StoreError>;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Standing {
    pub(crate) row: TokenRow,
    pub(crate) balance_source: BalanceSource,
    pub(crate) holder_count: u64,
    pub(crate) audit: Option<AuditRow>,
}

/// None where no token stands at the address.
pub(crate) fn find_standing(rows: &mut dyn Rows, token: AddressId) -> Result<Option<Standing>, StoreError> {
    let key = Key::id(token);
    let Some(row) = rows.row(Table::Token, &key)? else { return Ok(None) };
    let row = TokenRow::from_row(&row)?;
    let audit = rows.row(Table::Audit, &key)?.map(|row| AuditRow::from_row(&row)).transpose()?;
    let fails = audit.is_some_and(|audit| audit.verdict == AuditResult::DoesNotAddUp);
    let balance_source = if fails { BalanceSource::Calls } else { row.balance_source };
    // As long as the contract was not asked, what the events say is the best there is.
    let asked = match balance_source {
        BalanceSource::Events => None,
        BalanceSource::Calls => {
            rows.row(Table::CallHolders, &key)?.map(|row| CallHolders::from_row(&row)).transpose()?
        }
    };
    Ok(Some(Standing {
        row,
        balance_source,
        holder_count: asked.map_or(row.holder_count, |asked| asked.holding),
        audit,
    }))
}

/// What someone holds, by the source that counts for the token.
pub(crate) fn find_balance(rows: &mut dyn Rows, pair: Pair) -> Result<Balance, StoreError> {
    let table = match find_standing(rows, pair.token)?.map(|standing| standing.balance_source) {
        None => return Ok(Balance::ZERO),
        Some(BalanceSource::Events) => Table::Balance,
        Some(BalanceSource::Calls) => Table::CallBalance,
    };
    rows.row(table, &Key::balance(pair))?.map_or(Ok(Balance::ZERO), |row| balance_from_row(&row))
}
