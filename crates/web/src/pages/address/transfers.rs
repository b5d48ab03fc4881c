use domain::{Page, Transfer};

use super::tab_request::TabRequest;
use crate::{error::PageError, view::TransferRow};

impl TabRequest<'_> {
    pub(super) async fn transfers(&self) -> Result<Page<Transfer>, PageError> {
        Ok(match &self.filter {
            Some(filter) => self.app.chain.list_transfers(&filter.transfers(), self.page).await?,
            None => Page::empty(0),
        })
    }

    pub(super) async fn transfer_rows(&self) -> Result<Page<TransferRow>, PageError> {
        let Page { items, total } = self.transfers().await?;
        Ok(Page { items: items.iter().map(|transfer| TransferRow::new(transfer, self.names)).collect(), total })
    }
}
