use domain::{InternalPage, Page};

use super::tab_request::TabRequest;
use crate::{
    error::PageError,
    view::{InternalRow, TracedRangeView},
};

impl TabRequest<'_> {
    pub(super) async fn internal(&self) -> Result<InternalPage, PageError> {
        Ok(match &self.filter {
            Some(filter) => self.app.chain.list_internal_transactions(&filter.internal(), self.page).await?,
            None => InternalPage { page: Page::empty(0), traced_range: None },
        })
    }

    pub(super) async fn internal_rows(&self) -> Result<(Page<InternalRow>, Option<TracedRangeView>), PageError> {
        let InternalPage { page: Page { items, total }, traced_range } = self.internal().await?;
        let items = items.iter().map(|found| InternalRow::new(found, self.names)).collect();
        Ok((Page { items, total }, traced_range.map(TracedRangeView::from)))
    }
}
