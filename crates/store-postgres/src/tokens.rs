//! Tokens: what their transfers, audits and contracts say about them.

use std::collections::BTreeMap;

use domain::{Address, AuditResult, Balance, BalanceSource, BlockNumber, Token, TokenKind, TokenMetadata};
use store::{StoreError, fetch_policy, rules::TokenState};
use tokio_postgres::Row;

use crate::{
    database::{Connection, execute, query},
    lists::AddressId,
    numeric::Numeric,
    rows::{RowExt, int2, int8, to_u256},
};

/// The result of the last audit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Audit {
    pub(crate) result: AuditResult,
    pub(crate) block: BlockNumber,
    /// Transfers of the token at that time.
    pub(crate) transfers: u64,
}

/// A row of the table of tokens, without the metadata.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TokenRow {
    pub(crate) id: AddressId,
    pub(crate) address: Address,
    pub(crate) kind: TokenKind,
    pub(crate) transfers: u64,
    pub(crate) holders: u64,
    pub(crate) overdrafts: u64,
    /// What all holders have together: see [`Token::held`].
    pub(crate) held: Balance,
    pub(crate) is_fetched: bool,
    pub(crate) requested_at: Option<BlockNumber>,
    pub(crate) new_since: Option<BlockNumber>,
    pub(crate) pending_since: Option<BlockNumber>,
    pub(crate) audit: Option<Audit>,
    pub(crate) is_audit_due: bool,
    pub(crate) call_fetched: u64,
    pub(crate) call_holding: u64,
    pub(crate) sweep_from: Option<AddressId>,
}

/// The columns of [`TokenRow`], of a token `t` with the address `a`.
pub(crate) const COLUMNS: &str = "t.id, a.address, t.kind, t.transfers, t.holders, t.overdrafts, t.is_fetched, t.requested_at,
    t.new_since, t.pending_since, t.audit, t.audit_block, t.audit_transfers, t.is_audit_due, t.call_fetched, t.call_holding,
    t.sweep_from, t.held";
/// The columns of [`Token`]: those of [`TokenRow`] and the metadata.
pub(crate) const TOKEN: &str = "t.id, a.address, t.kind, t.transfers, t.holders, t.overdrafts, t.is_fetched, t.requested_at,
    t.new_since, t.pending_since, t.audit, t.audit_block, t.audit_transfers, t.is_audit_due, t.call_fetched, t.call_holding,
    t.sweep_from, t.held, t.name, t.symbol, t.decimals, t.total_supply";

impl TokenRow {
    pub(crate) fn new(id: AddressId, address: Address, kind: TokenKind) -> Self {
        Self {
            id,
            address,
            kind,
            transfers: 0,
            holders: 0,
            overdrafts: 0,
            held: Balance::ZERO,
            is_fetched: false,
            requested_at: None,
            new_since: None,
            pending_since: None,
            audit: None,
            is_audit_due: false,
            call_fetched: 0,
            call_holding: 0,
            sweep_from: None,
        }
    }

    pub(crate) fn from_row(row: &Row, first: usize) -> Result<Self, StoreError> {
        let audit = match row.option_kind(first + 10)? {
            None => None,
            Some(result) => Some(Audit { result, block: row.u64(first + 11)?, transfers: row.u64(first + 12)? }),
        };
        Ok(Self {
            id: row.u64(first)?,
            address: row.address(first + 1)?,
            kind: row.kind(first + 2)?,
            transfers: row.u64(first + 3)?,
            holders: row.u64(first + 4)?,
            overdrafts: row.u64(first + 5)?,
            is_fetched: row.value(first + 6)?,
            requested_at: row.option_u64(first + 7)?,
            new_since: row.option_u64(first + 8)?,
            pending_since: row.option_u64(first + 9)?,
            audit,
            is_audit_due: row.value(first + 13)?,
            call_fetched: row.u64(first + 14)?,
            call_holding: row.u64(first + 15)?,
            sweep_from: row.option_u64(first + 16)?,
            held: row.value::<Numeric>(first + 17)?.0,
        })
    }

    /// The source that its transfers require.
    pub(crate) fn source_by_events(&self) -> BalanceSource {
        if self.overdrafts == 0 {
            BalanceSource::Events
        } else {
            fetch_policy::source_after_overdraft(self.kind, BalanceSource::Events)
        }
    }

    pub(crate) fn balance_source(&self) -> BalanceSource {
        fetch_policy::balance_source(self.source_by_events(), self.audit.map(|audit| audit.result))
    }

    pub(crate) fn holder_count(&self) -> u64 {
        match self.balance_source() {
            BalanceSource::Calls if self.call_fetched > 0 => self.call_holding,
            // Until balances are fetched from the contract, the count derived from events is the best available.
            BalanceSource::Calls | BalanceSource::Events => self.holders,
        }
    }

    /// Its metadata has to be fetched, at a block or later.
    pub(crate) fn mark_pending(&mut self, since: BlockNumber) {
        self.pending_since = Some(since);
    }

    /// All its holders have to be fetched and ranked again.
    pub(crate) fn begin_sweep(&mut self) {
        self.sweep_from = Some(0);
    }
}

impl TokenState for TokenRow {
    fn kind(&self) -> TokenKind {
        self.kind
    }

    fn holders_mut(&mut self) -> &mut u64 {
        &mut self.holders
    }

    fn held_mut(&mut self) -> &mut Balance {
        &mut self.held
    }

    fn note_overdraft(&mut self) {
        self.overdrafts += 1;
    }
}

pub(crate) fn token_from_row(row: &Row, first: usize) -> Result<Token, StoreError> {
    let token = TokenRow::from_row(row, first)?;
    let metadata = TokenMetadata {
        // Without text, it was not fetched, and there is no block of that either.
        name: row.option_text(first + 18)?.unwrap_or_default(),
        symbol: row.option_text(first + 19)?.unwrap_or_default(),
        decimals: option_decimals(row, first + 20)?,
        total_supply: row.value::<Option<Numeric>>(first + 21)?.map(to_u256).transpose()?,
        requested_at: token.requested_at,
    };
    Ok(Token {
        address: token.address,
        kind: token.kind,
        metadata,
        holder_count: token.holder_count(),
        transfer_count: token.transfers,
        held: token.held,
        balance_source: token.balance_source(),
        audited_block: token.audit.map(|audit| audit.block),
    })
}

pub(crate) fn option_decimals(row: &Row, column: usize) -> Result<Option<u8>, StoreError> {
    let decimals = row.value::<Option<i16>>(column)?.map(u8::try_from).transpose();
    decimals.map_err(|_| StoreError::Corrupt("a token with an invalid number of decimals"))
}

/// The tokens with these ids, without those that are not tokens.
pub(crate) async fn load(
    client: &dyn Connection,
    ids: impl IntoIterator<Item = AddressId>,
) -> Result<BTreeMap<AddressId, TokenRow>, StoreError> {
    let ids: Vec<i64> = ids.into_iter().map(int8).collect();
    if ids.is_empty() {
        return Ok(BTreeMap::new());
    }
    let sql = format!("select {COLUMNS} from token t join address a on a.id = t.id where t.id = any($1)");
    let rows = query(client, &sql, &[&ids]).await?;
    rows.iter().map(|row| TokenRow::from_row(row, 0).map(|token| (token.id, token))).collect()
}

/// Inserts or updates tokens, except their metadata.
pub(crate) async fn save(
    client: &dyn Connection,
    tokens: impl IntoIterator<Item = &TokenRow> + Clone,
) -> Result<(), StoreError> {
    let numbers = |number: fn(&TokenRow) -> u64| -> Vec<i64> {
        tokens.clone().into_iter().map(|token| int8(number(token))).collect()
    };
    let options = |number: fn(&TokenRow) -> Option<u64>| -> Vec<Option<i64>> {
        tokens.clone().into_iter().map(|token| number(token).map(int8)).collect()
    };
    let ids = numbers(|token| token.id);
    if ids.is_empty() {
        return Ok(());
    }
    let kinds: Vec<i16> = tokens.clone().into_iter().map(|token| int2(token.kind)).collect();
    let audits: Vec<Option<i16>> =
        tokens.clone().into_iter().map(|token| token.audit.map(|audit| int2(audit.result))).collect();
    let held: Vec<Numeric> = tokens.clone().into_iter().map(|token| Numeric(token.held)).collect();
    let due: Vec<bool> = tokens.clone().into_iter().map(|token| token.is_audit_due).collect();
    let sql = "insert into token (id, kind, transfers, holders, overdrafts, new_since, pending_since, audit, audit_block,
            audit_transfers, is_audit_due, call_fetched, call_holding, sweep_from, held)
        select * from unnest($1::int8[], $2::int2[], $3::int8[], $4::int8[], $5::int8[], $6::int8[], $7::int8[], $8::int2[],
            $9::int8[], $10::int8[], $11::boolean[], $12::int8[], $13::int8[], $14::int8[], $15::numeric[])
        on conflict (id) do update set transfers = excluded.transfers, holders = excluded.holders,
            overdrafts = excluded.overdrafts, new_since = excluded.new_since, pending_since = excluded.pending_since,
            audit = excluded.audit, audit_block = excluded.audit_block, audit_transfers = excluded.audit_transfers,
            is_audit_due = excluded.is_audit_due, call_fetched = excluded.call_fetched,
            call_holding = excluded.call_holding, sweep_from = excluded.sweep_from, held = excluded.held";
    execute(
        client,
        sql,
        &[
            &ids,
            &kinds,
            &numbers(|token| token.transfers),
            &numbers(|token| token.holders),
            &numbers(|token| token.overdrafts),
            &options(|token| token.new_since),
            &options(|token| token.pending_since),
            &audits,
            &options(|token| token.audit.map(|audit| audit.block)),
            &options(|token| token.audit.map(|audit| audit.transfers)),
            &due,
            &numbers(|token| token.call_fetched),
            &numbers(|token| token.call_holding),
            &options(|token| token.sweep_from),
            &held,
        ],
    )
    .await?;
    Ok(())
}
