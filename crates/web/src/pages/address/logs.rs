use domain::{LogFilter, LogPage, Page};

use super::tab_request::TabRequest;
use crate::{
    error::PageError,
    view::{BlockLink, ListedLog},
};

impl TabRequest<'_> {
    /// With the first block from which they are complete.
    pub(super) async fn log_rows(&self) -> Result<(Page<ListedLog>, Option<BlockLink>), PageError> {
        let (app, filter) = (self.app, LogFilter::of(self.address));
        let LogPage { page: Page { items, total }, complete_from } = app.chain.list_logs(&filter, self.page).await?;
        let interfaces =
            if items.is_empty() { Vec::new() } else { app.interfaces.of(self.address, &app.node_calls).await? };
        let items = items.iter().map(|log| ListedLog::new(log, &interfaces, self.names)).collect();
        // Nothing to say about an index that has all logs of its blocks.
        let complete_from = complete_from.filter(|from| *from > 0).map(BlockLink::new);
        Ok((Page { items, total }, complete_from))
    }
}
