//! Transactions of an address that call one function. The index has no list of them, so recent ones are searched.

use domain::{Page, PageRequest, Transaction};

use super::filter::ListFilter;
use crate::{error::PageError, state::WebState};

/// The newest transactions that are searched, so that a page costs the same however many an address has.
pub(super) const SEARCHED: u32 = 500;
const PART: u32 = 100;

impl WebState {
    /// The transactions that match a filter. Those that call a function are searched among the newest ones that match the rest.
    pub(super) async fn filtered_transactions(
        &self,
        filter: &ListFilter,
        request: PageRequest,
    ) -> Result<Page<Transaction>, PageError> {
        let Some(wanted) = &filter.method else {
            return Ok(self.chain.list_transactions(&filter.transactions(), request).await?);
        };
        let mut found = Vec::new();
        for offset in (0..SEARCHED).step_by(PART as usize) {
            let part = PageRequest { offset: offset.into(), ..PageRequest::newest(PART) };
            let items = self.chain.list_transactions(&filter.transactions(), part).await?.items;
            let is_last = items.len() < PART as usize;
            let methods = self.methods_of(&items).await?;
            found.extend(
                items.into_iter().filter(|tx| methods.name(tx).to_lowercase() == *wanted || has_selector(tx, wanted)),
            );
            if is_last {
                break;
            }
        }
        let total = found.len() as u64;
        let skipped = usize::try_from(request.offset).unwrap_or(usize::MAX);
        Ok(Page { items: found.into_iter().skip(skipped).take(request.limit as usize).collect(), total })
    }
}

fn has_selector(tx: &Transaction, wanted: &str) -> bool {
    tx.method.is_some_and(|selector| format!("{:#x}", alloy_primitives::FixedBytes(selector)) == wanted)
}
