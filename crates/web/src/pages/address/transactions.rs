use domain::{Page, PageRequest, Transaction};

use super::{filter::ListFilter, tab_request::TabRequest};
use crate::{error::PageError, methods::methods_of, view::TransactionRow};

/// The newest transactions that are searched for a function, so that a page costs the same however many an address has.
pub(super) const SEARCHED: u32 = 500;
const PART: u32 = 100;

impl TabRequest<'_> {
    pub(super) async fn transactions(&self) -> Result<Page<Transaction>, PageError> {
        let Some(filter) = &self.filter else { return Ok(Page::empty(0)) };
        match &filter.method {
            Some(method) => self.search_method(filter, method).await,
            None => Ok(self.app.chain.list_transactions(&filter.transactions(), self.page).await?),
        }
    }

    pub(super) async fn transaction_rows(&self) -> Result<Page<TransactionRow>, PageError> {
        let Page { items, total } = self.transactions().await?;
        let methods = methods_of(self.app, &items).await?;
        Ok(Page { items: items.iter().map(|tx| TransactionRow::new(tx, &methods, self.names)).collect(), total })
    }

    /// Transactions that call a function. The index has no list of them, so the newest ones that match the rest are searched.
    async fn search_method(&self, filter: &ListFilter, wanted: &str) -> Result<Page<Transaction>, PageError> {
        let mut found = Vec::new();
        for offset in (0..SEARCHED).step_by(PART as usize) {
            let part = PageRequest { offset: offset.into(), ..PageRequest::newest(PART) };
            let items = self.app.chain.list_transactions(&filter.transactions(), part).await?.items;
            let is_last = items.len() < PART as usize;
            let methods = methods_of(self.app, &items).await?;
            found.extend(
                items.into_iter().filter(|tx| methods.name(tx).to_lowercase() == *wanted || has_selector(tx, wanted)),
            );
            if is_last {
                break;
            }
        }
        let total = found.len() as u64;
        let skipped = usize::try_from(self.page.offset).unwrap_or(usize::MAX);
        Ok(Page { items: found.into_iter().skip(skipped).take(self.page.limit as usize).collect(), total })
    }
}

fn has_selector(tx: &Transaction, wanted: &str) -> bool {
    tx.method.is_some_and(|selector| format!("{:#x}", alloy_primitives::FixedBytes(selector)) == wanted)
}
