//! Logs, by a scan of all of them.

use domain::{IndexedLog, LogFilter, LogPage, PageRequest};

use super::{Model, paginate, transaction};

impl Model {
    /// In chain order.
    pub fn logs(&self) -> impl Iterator<Item = IndexedLog> {
        self.blocks.iter().flat_map(|changes| {
            changes.logs.iter().map(|event| IndexedLog {
                event: event.clone(),
                tx_hash: transaction(changes, event.tx_index).hash,
                block_number: changes.block.number,
                timestamp: changes.block.timestamp,
            })
        })
    }

    #[must_use]
    pub fn list_logs(&self, filter: &LogFilter, page: PageRequest) -> LogPage {
        let complete_from = self.blocks.first().map(|changes| changes.block.number);
        LogPage { page: paginate(self.logs().filter(|log| filter.matches(log)).collect(), page), complete_from }
    }
}
