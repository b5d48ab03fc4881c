use domain::{AuditResult, Balance, BalanceSource, BlockNumber, TokenKind, TokenMetadata};
use store::{RowNumber, StoreError, fetch_policy, rules::TokenState};

use crate::codec::{RowReader, RowWriter};

/// Increased by every change of these rows that other versions cannot read.
pub(super) const LAYOUT: u32 = 0;

/// A token as derived from its transfers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TokenRow {
    pub(crate) kind: TokenKind,
    pub(crate) balance_source: BalanceSource,
    pub(crate) holder_count: u64,
    /// What all holders have together: see [`domain::Token::held`].
    pub(crate) held: Balance,
}

impl TokenRow {
    pub(crate) fn new(kind: TokenKind) -> Self {
        Self { kind, balance_source: BalanceSource::Events, holder_count: 0, held: Balance::ZERO }
    }

    pub(crate) fn to_row(self) -> Vec<u8> {
        let mut row = RowWriter::with_capacity(16);
        let source = match self.balance_source {
            BalanceSource::Events => 0,
            BalanceSource::Calls => 1,
        };
        row.byte(self.kind.to_number() | source << 4);
        row.varint(self.holder_count);
        row.amount(&self.held);
        row.finish()
    }

    pub(crate) fn from_row(row: &[u8]) -> Result<Self, StoreError> {
        let mut row = RowReader::new(row);
        let head = row.byte()?;
        let balance_source = match head >> 4 {
            0 => BalanceSource::Events,
            1 => BalanceSource::Calls,
            _ => return Err(StoreError::Corrupt("a token with an unknown source of balances")),
        };
        let kind = TokenKind::from_number(head & 0x0f)?;
        Ok(Self { kind, balance_source, holder_count: row.varint()?, held: row.amount()? })
    }
}

impl TokenState for TokenRow {
    fn kind(&self) -> TokenKind {
        self.kind
    }

    fn holders_mut(&mut self) -> &mut u64 {
        &mut self.holder_count
    }

    fn held_mut(&mut self) -> &mut Balance {
        &mut self.held
    }

    fn note_overdraft(&mut self) {
        self.balance_source = fetch_policy::source_after_overdraft(self.kind, self.balance_source);
    }
}

pub(crate) fn metadata_to_row(metadata: &TokenMetadata) -> Vec<u8> {
    let mut row = RowWriter::with_capacity(64);
    row.text(&metadata.name);
    row.text(&metadata.symbol);
    row.byte(u8::from(metadata.decimals.is_some()) | u8::from(metadata.total_supply.is_some()) << 1);
    if let Some(decimals) = metadata.decimals {
        row.byte(decimals);
    }
    if let Some(total_supply) = &metadata.total_supply {
        row.amount(total_supply);
    }
    // 0 if never fetched, else the block plus one, which is below 2^64 + 1.
    row.varint(metadata.requested_at.map_or(0, |block| u128::from(block) + 1));
    row.finish()
}

pub(crate) fn metadata_from_row(row: &[u8]) -> Result<TokenMetadata, StoreError> {
    let mut row = RowReader::new(row);
    let (name, symbol) = (row.text()?, row.text()?);
    let (has_decimals, has_supply) = match row.byte()? {
        present @ 0..=3 => (present & 1 != 0, present & 2 != 0),
        _ => return Err(StoreError::Corrupt("a token with unknown metadata")),
    };
    let decimals = if has_decimals { Some(row.byte()?) } else { None };
    let total_supply = if has_supply { Some(row.amount()?) } else { None };
    let requested_at = match row.wide_varint()?.checked_sub(1) {
        Some(block) => Some(block.try_into().map_err(|_| StoreError::Corrupt("a token that was read at no block"))?),
        None => None,
    };
    Ok(TokenMetadata { name, symbol, decimals, total_supply, requested_at })
}

/// The result of the last audit of a token's balances against its contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AuditRow {
    pub(crate) verdict: AuditResult,
    pub(crate) block: BlockNumber,
    /// Transfers of the token at that time.
    pub(crate) transfers: u64,
}

impl AuditRow {
    pub(crate) fn to_row(self) -> Vec<u8> {
        let mut row = RowWriter::with_capacity(12);
        row.byte(self.verdict.to_number());
        row.varint(self.block);
        row.varint(self.transfers);
        row.finish()
    }

    pub(crate) fn from_row(row: &[u8]) -> Result<Self, StoreError> {
        let mut row = RowReader::new(row);
        let verdict = AuditResult::from_number(row.byte()?)?;
        Ok(Self { verdict, block: row.varint()?, transfers: row.varint()? })
    }
}

/// The number of balances of a token fetched from its contract, and how many of them are above zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct CallHolders {
    pub(crate) fetched: u64,
    pub(crate) holding: u64,
}

impl CallHolders {
    /// Replaces one balance in the counts by another.
    pub(crate) fn replace(&mut self, old: Option<Balance>, new: Option<Balance>) -> Result<(), StoreError> {
        let holds = |balance: Option<Balance>| u64::from(balance.is_some_and(|balance| !balance.is_zero()));
        let change = |count: u64, old: u64, new: u64| {
            (count + new).checked_sub(old).ok_or(StoreError::Corrupt("a negative count of fetched balances"))
        };
        self.fetched = change(self.fetched, u64::from(old.is_some()), u64::from(new.is_some()))?;
        self.holding = change(self.holding, holds(old), holds(new))?;
        Ok(())
    }

    /// None if nothing was fetched: then there is no row.
    pub(crate) fn to_row(self) -> Option<Vec<u8>> {
        (self.fetched > 0).then(|| {
            let mut row = RowWriter::with_capacity(8);
            row.varint(self.fetched);
            row.varint(self.holding);
            row.finish()
        })
    }

    pub(crate) fn from_row(row: &[u8]) -> Result<Self, StoreError> {
        let mut row = RowReader::new(row);
        Ok(Self { fetched: row.varint()?, holding: row.varint()? })
    }
}

pub(crate) fn balance_to_row(balance: &Balance) -> Vec<u8> {
    let mut row = RowWriter::with_capacity(12);
    row.amount(balance);
    row.finish()
}

pub(crate) fn balance_from_row(row: &[u8]) -> Result<Balance, StoreError> {
    RowReader::new(row).amount()
}
