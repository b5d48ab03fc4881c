use domain::{Page, PageRequest, Trade, Transaction, Transfer};

use crate::{error::PageError, state::WebState, view::ListPage};

const SHOWN_TRADES: u32 = 100;
/// Of the list of what moved.
const TRANSFERS_OF_PAGE: u32 = 25;

/// The transfers and trades of a transaction.
pub(super) struct Events {
    /// The first ones, by which the transaction is summarized.
    pub(super) transfers: Page<Transfer>,
    /// The first ones.
    pub(super) trades: Page<Trade>,
    /// Which page of the transfers is listed.
    pub(super) page: ListPage,
    pub(super) listed: Vec<Transfer>,
}

impl Events {
    /// `number` is what the user typed as the page of transfers.
    pub(super) async fn read(app: &WebState, tx: &Transaction, number: Option<&str>) -> Result<Self, PageError> {
        let page = ListPage::new(number, TRANSFERS_OF_PAGE);
        let Some(first) = app.chain.find_transaction_events(tx.hash, 0, SHOWN_TRADES).await? else {
            return Ok(Self { transfers: Page::empty(0), trades: Page::empty(0), page, listed: Vec::new() });
        };
        let listed = if page.is_first() {
            first.transfers.items.iter().take(TRANSFERS_OF_PAGE as usize).cloned().collect()
        } else {
            let PageRequest { offset, limit, .. } = page.request();
            let found = app.chain.find_transaction_events(tx.hash, offset, limit).await?;
            found.map(|events| events.transfers.items).unwrap_or_default()
        };
        Ok(Self { transfers: first.transfers, trades: first.trades, page, listed })
    }
}
