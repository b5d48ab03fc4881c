use domain::{AuditResult, Balance, BalanceSource, BlockNumber, TokenKind, TokenMetadata};
use store::StoreError;

use crate::codec::{RowReader, RowWriter};

/// A token as derived from its transfers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TokenRow {
    pub(crate) kind: TokenKind,
    pub(crate) balance_source: BalanceSource,
    pub(crate) holder_count: u64,
}

impl TokenRow {
    pub(crate) fn new(kind: TokenKind) -> Self {
        Self { kind, balance_source: BalanceSource::Events, holder_count: 0 }
    }

    pub(crate) fn to_row(self) -> Vec<u8> {
        let mut row = RowWriter::with_capacity(8);
        row.byte(kind_to_byte(self.kind) | u8::from(self.balance_source == BalanceSource::Calls) << 4);
        row.varint(self.holder_count);
        row.finish()
    }

    pub(crate) fn from_row(row: &[u8]) -> Result<Self, StoreError> {
        let mut row = RowReader::new(row);
        let head = row.byte()?;
        let balance_source = if head >> 4 == 0 { BalanceSource::Events } else { BalanceSource::Calls };
        Ok(Self { kind: kind_from_byte(head & 0x0f)?, balance_source, holder_count: row.varint()? })
    }
}

pub(super) fn kind_to_byte(kind: TokenKind) -> u8 {
    match kind {
        TokenKind::Bep20 => 0,
        TokenKind::Bep721 => 1,
        TokenKind::Bep1155 => 2,
    }
}

pub(super) fn kind_from_byte(byte: u8) -> Result<TokenKind, StoreError> {
    match byte {
        0 => Ok(TokenKind::Bep20),
        1 => Ok(TokenKind::Bep721),
        2 => Ok(TokenKind::Bep1155),
        _ => Err(StoreError::Corrupt("a token of an unknown kind")),
    }
}

pub(crate) fn metadata_to_row(metadata: &TokenMetadata) -> Vec<u8> {
    let mut row = RowWriter::with_capacity(64);
    row.text(&metadata.name);
    row.text(&metadata.symbol);
    row.byte(metadata.decimals);
    row.amount(&metadata.total_supply);
    // 0 if never fetched, else the block plus one.
    row.varint(metadata.requested_at.map_or(0, |block| block.saturating_add(1)));
    row.finish()
}

pub(crate) fn metadata_from_row(row: &[u8]) -> Result<TokenMetadata, StoreError> {
    let mut row = RowReader::new(row);
    Ok(TokenMetadata {
        name: row.text()?,
        symbol: row.text()?,
        decimals: row.byte()?,
        total_supply: row.amount()?,
        requested_at: row.varint::<u64>()?.checked_sub(1),
    })
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
        row.byte(u8::from(self.verdict == AuditResult::DoesNotAddUp));
        row.varint(self.block);
        row.varint(self.transfers);
        row.finish()
    }

    pub(crate) fn from_row(row: &[u8]) -> Result<Self, StoreError> {
        let mut row = RowReader::new(row);
        let verdict = if row.byte()? == 0 { AuditResult::AddsUp } else { AuditResult::DoesNotAddUp };
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
