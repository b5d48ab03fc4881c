use domain::{InternalFilter, InternalPage, InternalTransaction, Page, TracedRange, Transaction};

use crate::{
    error::PageError,
    state::WebState,
    view::{InternalRow, ListLocation, ListPage, ListPager, PageNames, grouped},
};

const INTERNAL_OF_PAGE: u32 = 100;

/// A page of the internal transactions of a transaction.
pub(super) struct Internal {
    pub(super) listed: Page<InternalTransaction>,
    page: ListPage,
    traced_range: Option<TracedRange>,
}

pub(super) struct InternalView {
    pub(super) rows: Vec<InternalRow>,
    pub(super) total: String,
    pub(super) pager: ListPager,
}

impl Internal {
    /// `number` is what the user typed.
    pub(super) async fn read(app: &WebState, tx: &Transaction, number: Option<&str>) -> Result<Self, PageError> {
        let page = ListPage::new(number, INTERNAL_OF_PAGE);
        let filter = InternalFilter::of(tx.hash);
        let InternalPage { page: listed, traced_range } =
            app.chain.list_internal_transactions(&filter, page.request()).await?;
        Ok(Self { listed, page, traced_range })
    }

    /// Whether the calls of the transaction are known, and so what was paid in them.
    pub(super) fn is_traced(&self, tx: &Transaction) -> bool {
        self.traced_range.is_some_and(|range| (range.from..=range.to).contains(&tx.block_number))
    }

    pub(super) fn view(&self, path: &str, names: &PageNames) -> InternalView {
        let total = self.listed.total;
        InternalView {
            rows: self.listed.items.iter().map(|found| InternalRow::new(found, names)).collect(),
            total: grouped(total),
            pager: ListPager::new(
                self.page,
                total,
                ListLocation { what: "Internal transactions", path, name: "internal" },
            ),
        }
    }
}
