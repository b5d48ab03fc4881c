use domain::{CreditClass, CreditFilter, Page};

use super::tab_request::TabRequest;
use crate::{error::PageError, view::CreditRow};

impl TabRequest<'_> {
    pub(super) async fn credit_rows(&self, class: CreditClass) -> Result<Page<CreditRow>, PageError> {
        let filter = CreditFilter::of(self.address, class);
        let Page { items, total } = self.app.chain.list_credits(&filter, self.page).await?;
        Ok(Page { items: items.iter().map(|credit| CreditRow::new(credit, self.names)).collect(), total })
    }
}
