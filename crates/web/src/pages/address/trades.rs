use domain::{Page, Trade, TradeFilter};

use super::tab_request::TabRequest;
use crate::{error::PageError, view::TradeRow};

impl TabRequest<'_> {
    pub(super) async fn trades(&self) -> Result<Page<Trade>, PageError> {
        let chain = &self.app.chain;
        let filter = TradeFilter::of(self.address, chain.find_pool(self.address).await?.is_some());
        Ok(chain.list_trades(&filter, self.page).await?)
    }

    pub(super) async fn trade_rows(&self) -> Result<Page<TradeRow>, PageError> {
        let Page { items, total } = self.trades().await?;
        Ok(Page { items: items.iter().map(|trade| TradeRow::new(trade, self.names)).collect(), total })
    }
}
