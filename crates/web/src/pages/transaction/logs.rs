//! The logs of a transaction: some at a time, each collapsed to a line, and each with a link of its own.

use contracts::KnownInterface;
use domain::{Address, Log};
use serde::Deserialize;

use crate::view::{ListLocation, ListPage, ListPager, LogRow, PageNames, grouped};

const LOGS_OF_PAGE: u32 = 25;
/// So few are shown open.
const SHOWN_OPEN: usize = 5;

/// Which logs are wanted. Users type numbers.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LogChoice {
    /// The number of a page.
    #[serde(default)]
    logs: Option<String>,
    /// One log by its number in the transaction, from 1 on.
    #[serde(default)]
    log: Option<String>,
    /// One log by its index in the block.
    #[serde(default)]
    log_index: Option<String>,
}

/// The logs of a page.
pub(super) struct ChosenLogs<'a> {
    logs: &'a [Log],
    page: ListPage,
    first: usize,
    shown: &'a [Log],
    /// The position of the one log that was requested.
    wanted: Option<usize>,
    is_missing: bool,
}

pub(super) struct LogsView {
    pub(super) rows: Vec<LogItem>,
    pub(super) total: String,
    pub(super) is_long: bool,
    /// Whether the requested log does not exist.
    pub(super) is_missing: bool,
    pub(super) pager: ListPager,
}

pub(super) struct LogItem {
    /// From 1 on.
    pub(super) number: usize,
    pub(super) is_open: bool,
    /// Whether it was requested.
    pub(super) is_wanted: bool,
    pub(super) log: LogRow,
}

impl LogChoice {
    pub(super) fn is_set(&self) -> bool {
        self.logs.is_some() || self.log.is_some() || self.log_index.is_some()
    }

    pub(super) fn choose<'a>(&self, logs: &'a [Log]) -> ChosenLogs<'a> {
        let number = |text: &Option<String>| text.as_deref().map(|text| text.replace([',', ' '], "").parse::<usize>());
        let by_number = number(&self.log).map(|number| number.ok()?.checked_sub(1).filter(|place| *place < logs.len()));
        let by_index = || {
            let index = number(&self.log_index)?.ok();
            Some(logs.iter().position(|log| Some(log.log_index as usize) == index))
        };
        let asked = by_number.or_else(by_index);
        let wanted = asked.flatten();
        let page = match wanted {
            Some(position) => ListPage::with_position(position as u64, LOGS_OF_PAGE),
            None => ListPage::new(self.logs.as_deref(), LOGS_OF_PAGE),
        };
        let first = usize::try_from(page.offset()).unwrap_or(usize::MAX).min(logs.len());
        let last = first.saturating_add(LOGS_OF_PAGE as usize).min(logs.len());
        let shown = logs.get(first..last).unwrap_or_default();
        ChosenLogs { logs, page, first, shown, wanted, is_missing: asked == Some(None) }
    }
}

impl ChosenLogs<'_> {
    /// The contracts that emitted the logs of the page.
    pub(super) fn emitters(&self) -> impl Iterator<Item = Address> {
        self.shown.iter().map(|log| log.address)
    }

    /// `interfaces` are those of an emitter.
    pub(super) fn view<'i>(
        &self,
        path: &str,
        interfaces: impl Fn(Address) -> &'i [KnownInterface],
        names: &PageNames,
    ) -> LogsView {
        let row = |(position, log): (usize, &Log)| LogItem {
            number: position + 1,
            is_open: self.logs.len() <= SHOWN_OPEN || self.wanted == Some(position),
            is_wanted: self.wanted == Some(position),
            log: LogRow::new(log, interfaces(log.address), names),
        };
        LogsView {
            rows: (self.first..).zip(self.shown).map(row).collect(),
            total: grouped(self.logs.len()),
            is_long: self.logs.len() > SHOWN_OPEN,
            is_missing: self.is_missing,
            pager: ListPager::new(self.page, self.logs.len() as u64, ListLocation { what: "Logs", path, name: "logs" }),
        }
    }
}

#[cfg(test)]
mod tests {
    use domain::Bytes;

    use super::*;

    fn logs(count: u32) -> Vec<Log> {
        let log = |index| Log {
            tx_index: 0,
            log_index: index + 7,
            address: Address::ZERO,
            topics: Vec::new(),
            data: Bytes::new(),
        };
        (0..count).map(log).collect()
    }

    fn choice(logs: &str, log: &str, log_index: &str) -> LogChoice {
        let text = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        LogChoice { logs: text(logs), log: text(log), log_index: text(log_index) }
    }

    #[test]
    fn a_log_is_found_by_its_number_and_by_its_index_in_the_block() {
        let logs = logs(600);
        for choice in [choice("", "420", ""), choice("", "", "426"), choice("1", "420", "")] {
            let chosen = choice.choose(&logs);
            assert_eq!((chosen.first, chosen.shown.len(), chosen.wanted), (400, 25, Some(419)));
            assert!(!chosen.is_missing);
        }
        for choice in [choice("", "601", ""), choice("", "0", ""), choice("", "x", ""), choice("", "", "3")] {
            let chosen = choice.choose(&logs);
            assert_eq!((chosen.first, chosen.wanted, chosen.is_missing), (0, None, true));
        }
    }

    #[test]
    fn a_page_past_the_end_is_empty() {
        let logs = logs(30);
        assert_eq!(choice("2", "", "").choose(&logs).shown.len(), 5);
        assert!(choice("3", "", "").choose(&logs).shown.is_empty());
    }
}
