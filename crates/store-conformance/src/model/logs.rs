//! Logs, by a scan of all of them.

use domain::{BlockChanges, IndexedLog, LogEvent, LogFilter, LogPage, PageRequest};

use super::{Model, paginate, transaction};

impl Model {
    /// In chain order, with their blocks.
    pub fn logs(&self) -> impl Iterator<Item = (&BlockChanges, &LogEvent)> {
        self.blocks.iter().flat_map(|changes| changes.logs.iter().map(move |event| (changes, event)))
    }

    #[must_use]
    pub fn list_logs(&self, filter: &LogFilter, page: PageRequest) -> LogPage {
        let complete_from = self.blocks.first().map(|changes| changes.block.number);
        let found: Vec<_> =
            self.logs().filter(|(changes, event)| filter.matches(event, changes.block.number)).collect();
        let page = paginate(found, page);
        let log = |(changes, event): (&BlockChanges, &LogEvent)| IndexedLog {
            event: event.clone(),
            tx_hash: transaction(changes, event.tx_index).hash,
            block_number: changes.block.number,
            timestamp: changes.block.timestamp,
        };
        let page = domain::Page { items: page.items.into_iter().map(log).collect(), total: page.total };
        LogPage { page, complete_from }
    }
}
