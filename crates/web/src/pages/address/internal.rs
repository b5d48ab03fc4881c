use domain::{InternalPage, Page};

use super::tab_request::TabRequest;
use crate::{
    error::PageError,
    view::{InternalRow, ReachView},
};

impl TabRequest<'_> {
    pub(super) async fn internal(&self) -> Result<InternalPage, PageError> {
        Ok(match &self.filter {
            Some(filter) => self.app.chain.list_internal_transactions(&filter.internal(), self.page).await?,
            None => InternalPage { page: Page::empty(0), reach: None },
        })
    }

    pub(super) async fn internal_rows(&self) -> Result<(Page<InternalRow>, Option<ReachView>), PageError> {
        let InternalPage { page: Page { items, total }, reach } = self.internal().await?;
        let items = items.iter().map(|found| InternalRow::new(found, self.names)).collect();
        Ok((Page { items, total }, reach.map(ReachView::from)))
    }
}
