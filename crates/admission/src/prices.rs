//! The one table of what requests cost.
//!
//! A price is for the work of the dearest request of a route; lists that say how many rows they have cost what these are worth.
//! A plain request of the API costs 1: at most a thousand rows, and a few calls to the node.

use std::sync::LazyLock;

mod table;

pub use table::{AUTHORIZATION_OUTCOMES, prices};

/// Rows that one unit pays for.
const ROWS: u32 = 1_000;
/// Rows that are read but not sent: those that a list skips.
const SCANNED_ROWS: u32 = 10_000;
/// Calls to the node.
const NODE_CALLS: u32 = 10;
/// Bytes of a response.
const KILOBYTES: u32 = 1_024;
/// What a trace of a transaction costs the node, in calls.
const TRACE_CALLS: u32 = 30;
/// What a compilation costs, in units.
const COMPILATION: u32 = 2;

/// What a request makes others do, at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Work {
    /// That are sent.
    pub rows: u32,
    /// That are read and not sent.
    pub scanned: u32,
    pub node_calls: u32,
    /// Of transactions, by the node.
    pub traces: u32,
    /// Verifications of a contract.
    pub compilations: u32,
    pub kilobytes: u32,
}

impl Work {
    /// What it is for the node, in calls.
    #[must_use]
    pub const fn calls(self) -> u32 {
        self.node_calls + self.traces * TRACE_CALLS
    }

    /// Units of the limit, at least 1.
    #[must_use]
    pub const fn cost(self) -> u32 {
        let calls = self.calls();
        let parts = larger(self.rows.div_ceil(ROWS), self.scanned.div_ceil(SCANNED_ROWS));
        let others = larger(calls.div_ceil(NODE_CALLS), self.kilobytes.div_ceil(KILOBYTES));
        larger(larger(parts, others), larger(self.compilations * COMPILATION, 1))
    }
}

const fn larger(one: u32, other: u32) -> u32 {
    if one > other { one } else { other }
}

/// What a request counts against.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Area {
    /// The limit of its key, or of its client without a key.
    Api,
    /// The same; named by module and action.
    Etherscan,
    /// The same.
    Sourcify,
    /// The pages of its client in a minute.
    Pages,
    /// Nothing of the limits: it is in memory, such as an asset, or counts as a page of its client.
    Free,
}

/// What one route costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Price {
    pub area: Area,
    /// A pattern such as `/api/v1/blocks/{numberOrHash}`, or a module and an action such as `account.txlist`.
    pub route: &'static str,
    pub work: Work,
    /// What is special about it; empty for most.
    pub note: &'static str,
}

impl Price {
    /// Units, for the dearest request.
    #[must_use]
    pub const fn cost(&self) -> u32 {
        match self.area {
            Area::Free => 0,
            _ => self.work.cost(),
        }
    }
}

impl Area {
    /// What a request of this area costs; None if it is free.
    #[must_use]
    pub fn cost(self, path: &str) -> Option<u32> {
        static UNUSUAL: LazyLock<Vec<&'static Price>> =
            LazyLock::new(|| prices().iter().filter(|price| price.cost() != 1).collect());
        // Few are not 1, so that a request is compared with few patterns.
        let mut unusual = UNUSUAL.iter().filter(|price| price.area == self || price.area == Self::Free);
        match unusual.find(|price| matches(price.route, path)) {
            Some(price) if price.area == Self::Free => None,
            Some(price) => Some(price.cost()),
            None => Some(1),
        }
    }
}

/// Whether a path has the form of a pattern, with or without a slash at its end.
fn matches(pattern: &str, path: &str) -> bool {
    let path = path.strip_suffix('/').filter(|rest| !rest.is_empty()).unwrap_or(path);
    let (mut pattern, mut path) = (pattern.split('/'), path.split('/'));
    loop {
        match (pattern.next(), path.next()) {
            (None, None) => return true,
            (Some(expected), Some(found)) if expected == found || expected.starts_with('{') => {}
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_request_costs_one_and_ten_thousand_rows_cost_ten() {
        assert_eq!(Work::default().cost(), 1);
        assert_eq!(Work { rows: 100, node_calls: 4, ..Work::default() }.cost(), 1);
        assert_eq!(Work { rows: 1_001, ..Work::default() }.cost(), 2);
        assert_eq!(Work { rows: 10_000, node_calls: 100, ..Work::default() }.cost(), 10);
        assert_eq!(Work { traces: 1, ..Work::default() }.cost(), 3);
        assert_eq!((AUTHORIZATION_OUTCOMES.cost(), AUTHORIZATION_OUTCOMES.calls()), (6, 60));
    }

    #[test]
    fn every_request_that_the_contract_shows_costs_one() {
        let address = "0x0000000000000000000000000000000000000001";
        for path in [
            "/api/v1/stats".to_owned(),
            "/api/v1/blocks".to_owned(),
            "/api/v1/transactions".to_owned(),
            "/api/v1/tokens".to_owned(),
            format!("/api/v1/addresses/{address}"),
            format!("/api/v1/contracts/{address}/call"),
            "/api/v1/webhooks".to_owned(),
            "/api/v1/webhooks/7".to_owned(),
            "/api/v1/keys".to_owned(),
            "/api/v1/query".to_owned(),
            "/api/v1/nowhere".to_owned(),
        ] {
            assert_eq!(Area::Api.cost(&path), Some(1), "{path}");
        }
        assert_eq!(Area::Pages.cost("/assets/style-0123.css"), None);
        assert_eq!(Area::Pages.cost("/docs"), Some(1));
        assert_eq!(Area::Api.cost("/api/v1/openapi.json"), None);
        assert_eq!(Area::Api.cost("/api/v1/verify/jobs/17"), None);
        assert_eq!(Area::Api.cost("/api/v1/verify"), Some(2));
        assert_eq!(Area::Api.cost(&format!("/api/v1/transactions/{address}/calls")), Some(3));
        assert_eq!(Area::Api.cost(&format!("/api/v1/transactions/{address}/calls/")), Some(3));
    }

    #[test]
    fn every_route_has_one_price() {
        for (index, price) in prices().iter().enumerate() {
            let same = |other: &Price| other.area == price.area && other.route == price.route;
            assert!(!prices().iter().take(index).any(same), "{}", price.route);
        }
    }
}
