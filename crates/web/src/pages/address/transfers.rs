use std::collections::HashMap;

use domain::{Page, PageRequest, Transaction, TransactionFilter, Transfer, TransferFilter, U256};

use super::tab_request::TabRequest;
use crate::{
    error::PageError,
    lookalikes::{Counterparties, HistoryEntry, Lookalike},
    view::{TransferRow, short},
};

/// Counterparties are searched among so many transfers, which begin so many before the page, and among the newest transactions.
const SEARCHED_BEFORE: u64 = 50;
const SEARCHED_TRANSFERS: u32 = 200;
const SEARCHED_TRANSACTIONS: u32 = 100;

/// The transfers of a page.
pub(super) struct ListedTransfers {
    pub(super) rows: Vec<TransferRow>,
    /// Rows of the page that are not shown.
    pub(super) hidden: usize,
    /// Whether such rows are on the page and shown, as requested.
    pub(super) shows_imitations: bool,
}

/// Nothing, or less than a tenth of a token: only then is it looked up whether the other address imitates one.
fn is_small(transfer: &Transfer) -> bool {
    let tenth =
        transfer.token_decimals.and_then(|decimals| U256::from(10).checked_pow(U256::from(decimals.checked_sub(1)?)));
    transfer.event.value.is_zero() || tenth.is_some_and(|tenth| transfer.event.value < tenth)
}

impl TabRequest<'_> {
    pub(super) async fn transfers(&self) -> Result<Page<Transfer>, PageError> {
        Ok(match &self.filter {
            Some(filter) => self.app.chain.list_transfers(&filter.transfers(), self.page).await?,
            None => Page::empty(0),
        })
    }

    pub(super) async fn transfer_rows(&self) -> Result<(ListedTransfers, u64), PageError> {
        let Page { items, total } = self.transfers().await?;
        let suspicious = self.lookalikes(&items).await?;
        let is_hidden = |place: &usize| suspicious.get(place).is_some_and(|found| found.is_dust);
        let count = (0..items.len()).filter(is_hidden).count();
        let row = |(place, transfer): (usize, &Transfer)| {
            let row = TransferRow::new(transfer, self.names);
            let doubt = suspicious.get(&place).map(|found| short(&found.of.to_checksum(None)));
            (self.shows_lookalikes || !is_hidden(&place)).then_some(TransferRow { doubt, ..row })
        };
        let rows = items.iter().enumerate().filter_map(row).collect();
        let hidden = if self.shows_lookalikes { 0 } else { count };
        Ok((ListedTransfers { rows, hidden, shows_imitations: self.shows_lookalikes && count > 0 }, total))
    }

    /// The transfers of a page with addresses that imitate counterparties, by position. The history is read only if one of the
    /// transfers is suspicious.
    async fn lookalikes(&self, page: &[Transfer]) -> Result<HashMap<usize, Lookalike>, PageError> {
        let mut fakes = Vec::with_capacity(page.len());
        for transfer in page {
            let (symbol, name) = (transfer.token_symbol.as_deref(), transfer.token_name.as_deref());
            let (symbol, name) = (symbol.unwrap_or_default(), name.unwrap_or_default());
            fakes.push(self.app.imitations.find(transfer.event.token, symbol, name).await?.is_some());
        }
        let account = self.address;
        let is_cheap = |(transfer, is_fake): (&Transfer, &bool)| *is_fake || is_small(transfer);
        let near = Counterparties::of(page.iter().filter_map(|transfer| HistoryEntry::of(transfer, account)));
        let is_alike = |transfer: &Transfer| {
            HistoryEntry::of(transfer, account).is_some_and(|entry| near.find(&entry, false).is_some())
        };
        let entries = page.iter().zip(&fakes);
        if !entries.clone().any(|(transfer, is_fake)| is_cheap((transfer, is_fake)) || is_alike(transfer)) {
            return Ok(HashMap::new());
        }
        let known = Counterparties::of(self.history().await?);
        let found = entries.enumerate().filter_map(|(place, (transfer, is_fake))| {
            let entry = HistoryEntry::of(transfer, account)?;
            Some((place, known.find(&entry, *is_fake)?))
        });
        Ok(found.collect())
    }

    /// The transfers around the page, and the newest transactions.
    async fn history(&self) -> Result<Vec<HistoryEntry>, PageError> {
        let (chain, account) = (&self.app.chain, self.address);
        let around = PageRequest {
            offset: self.page.offset.saturating_sub(SEARCHED_BEFORE),
            limit: SEARCHED_TRANSFERS,
            ..self.page
        };
        let transfers = chain.list_transfers(&TransferFilter::touching(account), around).await?.items;
        let newest = PageRequest::newest(SEARCHED_TRANSACTIONS);
        let transactions = chain.list_transactions(&TransactionFilter::touching(account), newest).await?.items;
        let paid = |tx: &Transaction| {
            let counterparty = if tx.from == account { tx.to? } else { tx.from };
            Some(HistoryEntry { counterparty, token: None, value: tx.value, time: tx.timestamp })
                .filter(|entry| entry.counterparty != account)
        };
        let transfers = transfers.iter().filter_map(|transfer| HistoryEntry::of(transfer, account));
        Ok(transfers.chain(transactions.iter().filter_map(paid)).collect())
    }
}
