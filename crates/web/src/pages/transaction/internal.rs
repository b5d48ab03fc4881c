use domain::{InternalFilter, InternalPage, InternalTransaction, Page, TracedRange, Transaction};

use crate::{
    error::PageError,
    state::WebState,
    view::{InternalRow, PageNames, Part, PartOf, PartPager, grouped},
};

const INTERNAL_OF_PAGE: u32 = 100;

/// A page of the internal transactions of a transaction.
pub(super) struct Internal {
    pub(super) listed: Page<InternalTransaction>,
    part: Part,
    traced_range: Option<TracedRange>,
}

pub(super) struct InternalView {
    pub(super) rows: Vec<InternalRow>,
    pub(super) total: String,
    pub(super) pager: PartPager,
}

impl Internal {
    /// `page` is what the user typed as its number.
    pub(super) async fn read(app: &WebState, tx: &Transaction, page: Option<&str>) -> Result<Self, PageError> {
        let part = Part::new(page, INTERNAL_OF_PAGE);
        let filter = InternalFilter::of(tx.hash);
        let InternalPage { page: listed, traced_range } =
            app.chain.list_internal_transactions(&filter, part.request()).await?;
        Ok(Self { listed, part, traced_range })
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
            pager: PartPager::new(self.part, total, PartOf { what: "Internal transactions", path, name: "internal" }),
        }
    }
}
