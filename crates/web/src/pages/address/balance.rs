//! The balance of an address over time, in the coin of the chain or in a token.

use domain::{Address, Balance, BalanceKey, PageRequest, U256, UtcTime};
use enrichment::{BalanceHistory, BalancePoint, HistoryError, Inexact, coin_history, token_history};

use super::tab_request::TabRequest;
use crate::{
    account::ACCOUNT_CALLS,
    error::PageError,
    view::{Amount, Axes, BlockLink, Chart, Moment, PageNames, sanitize_name, short},
};

/// Held tokens to choose from.
const MAX_CHOICES: u32 = 100;
/// Bars of the chart, each for the same time.
const STEPS: u64 = 60;
/// Charts of a shorter time have hours and minutes at their axes.
const DAYS_WITH_HOURS: u64 = 4 * 86_400;

pub(super) struct BalanceView {
    /// The coin comes first, with an empty value.
    pub(super) choices: Vec<Choice>,
    /// Whether the form for the choice is shown.
    pub(super) history: Result<HistoryView, String>,
    /// The same as JSON.
    pub(super) api: String,
}

pub(super) struct Choice {
    pub(super) value: String,
    pub(super) label: String,
    pub(super) is_chosen: bool,
}

pub(super) struct HistoryView {
    pub(super) chart: Chart,
    /// The newest first.
    pub(super) rows: Vec<PointRow>,
    /// None if the history reaches the first block.
    pub(super) complete_from: Option<BlockLink>,
    pub(super) is_thinned: bool,
    /// Why balances may be wrong.
    pub(super) reasons: Vec<&'static str>,
}

pub(super) struct PointRow {
    pub(super) block: BlockLink,
    pub(super) time: Moment,
    pub(super) balance: Amount,
}

/// How amounts are shown.
struct Unit {
    decimals: u8,
    symbol: String,
}

impl Unit {
    fn amount(&self, balance: Balance) -> Amount {
        Amount::of(balance, self.decimals, &self.symbol)
    }
}

impl TabRequest<'_> {
    pub(super) async fn balance(&self) -> Result<BalanceView, PageError> {
        let (app, address, token) = (self.app, self.address, self.token.clone());
        let chosen = token.as_ref().ok().copied().flatten();
        let held = app.chain.list_address_tokens(address, PageRequest::newest(MAX_CHOICES)).await?.items;
        let mut choices =
            vec![Choice { value: String::new(), label: self.names.coin.clone(), is_chosen: chosen.is_none() }];
        for held in &held {
            choices.push(choice(held.token.address, &held.token.metadata.symbol, chosen));
        }
        let found = match token {
            Ok(Some(token)) => {
                let history = token_history(&*app.chain, BalanceKey { token, holder: address }).await;
                history_or_reason(history, "No transfer of such a token is indexed.")?
            }
            Ok(None) => {
                let may_call_node = || app.budget.allows_node_calls(ACCOUNT_CALLS);
                let history = coin_history(&*app.chain, &app.accounts, address, &may_call_node).await;
                history_or_reason(history, "The chain has nothing about this address.")?
            }
            Err(error) => Err(error),
        };
        if let Some(token) = chosen.filter(|token| !held.iter().any(|held| held.token.address == *token)) {
            let symbol = found.as_ref().ok().and_then(|history| history.token.as_ref());
            choices.push(choice(token, symbol.map_or("", |token| &token.metadata.symbol), chosen));
        }
        let query = chosen.map(|token| format!("?token={token:#x}")).unwrap_or_default();
        Ok(BalanceView {
            choices,
            history: found.map(|history| HistoryView::new(&history, self.names)),
            api: format!("/api/v1/addresses/{address:#x}/balance-history{query}"),
        })
    }
}

/// The history, or why there is none.
fn history_or_reason(
    history: Result<Option<BalanceHistory>, HistoryError>,
    unknown: &str,
) -> Result<Result<BalanceHistory, String>, PageError> {
    match history {
        Ok(history) => Ok(history.ok_or_else(|| unknown.to_owned())),
        Err(HistoryError::NodeUnavailable(cause)) => {
            tracing::debug!(%cause, "no balance from the node");
            Ok(Err("There is no answer from the node, so that the balance is unknown.".to_owned()))
        }
        Err(HistoryError::Reorg) => Ok(Err("Blocks are being reverted. Load the page again.".to_owned())),
        Err(HistoryError::Store(error)) => Err(error.into()),
    }
}

/// Symbols are not unique: the address says which token is meant.
fn choice(token: Address, symbol: &str, chosen: Option<Address>) -> Choice {
    let full = token.to_checksum(None);
    Choice {
        label: format!("{} {}", sanitize_name(symbol), short(&full)).trim_start().to_owned(),
        value: full,
        is_chosen: chosen == Some(token),
    }
}

impl HistoryView {
    fn new(history: &BalanceHistory, names: &PageNames) -> Self {
        let unit = match &history.token {
            Some(token) => {
                let metadata = &token.metadata;
                match metadata.decimals {
                    Some(decimals) => Unit { decimals, symbol: sanitize_name(&metadata.symbol) },
                    None => Unit { decimals: 0, symbol: "units".to_owned() },
                }
            }
            None => Unit { decimals: 18, symbol: names.coin.clone() },
        };
        let row = |point: &BalancePoint| PointRow {
            block: BlockLink::new(point.block),
            time: Moment::of(point.timestamp),
            balance: unit.amount(point.balance),
        };
        Self {
            chart: chart(&history.points, &unit),
            rows: history.points.iter().rev().map(row).collect(),
            complete_from: (!history.is_complete).then(|| BlockLink::new(history.complete_from)),
            is_thinned: history.is_thinned,
            reasons: history.inexact.iter().copied().map(reason).collect(),
        }
    }
}

fn reason(inexact: Inexact) -> &'static str {
    match inexact {
        Inexact::BalancesFromContract => {
            "Transfers do not tell the balances of this token: it takes fees or changes balances without a transfer."
        }
        Inexact::PartialIndex => "The index does not begin with the first block: transfers before it are missing.",
        Inexact::MinedBlocks => {
            "This address produced blocks with too many transactions to add up the fees that it earned."
        }
        Inexact::BlockRewards => "This address produced blocks by work, and the rewards of this chain are not known.",
        Inexact::DoesNotAddUp => {
            "What is indexed does not add up to what the node says: payments of a kind that is not indexed are missing."
        }
        Inexact::Unconfirmed => "The node does not have the state of the first block, so that the sum is not compared.",
        Inexact::UnknownOutcome => {
            "It is not known whether some transactions succeeded: their receipts have no status."
        }
        Inexact::NoInternalTransactions => "Internal transactions are not indexed for these blocks.",
        Inexact::SelfDestruct => "The contract destroyed itself, and coins may have been lost with it.",
        Inexact::BalanceOfOtherBlock => "The node did not return the newest balance: that of another block is used.",
        Inexact::BelowZero => "What moved does not add up to the balance, so that older balances are left out.",
        Inexact::ZeroAddress => "Tokens that are sent to this address are burned, and not counted as held.",
    }
}

fn chart(points: &[BalancePoint], unit: &Unit) -> Chart {
    let (Some(first), Some(last)) = (points.first(), points.last()) else {
        return Chart::new("Balance", "", Vec::new());
    };
    let with_hours = last.timestamp.saturating_sub(first.timestamp) < DAYS_WITH_HOURS;
    let time = |timestamp| {
        let text = format!("{:.0}", UtcTime::from_unix_seconds(timestamp)).replace('T', " ");
        text.chars().take(if with_hours { 16 } else { 10 }).collect::<String>()
    };
    let bar = |step: &BalancePoint| {
        (f64::from(step.balance), format!("{}: {}", time(step.timestamp), unit.amount(step.balance).shown()))
    };
    let highest = points.iter().map(|point| point.balance).max().unwrap_or_default();
    let axes = Axes {
        highest: unit.amount(highest).shown().to_owned(),
        first: time(first.timestamp),
        last: time(last.timestamp),
    };
    Chart::new("Balance", "at the end of each step", steps(points).iter().map(bar).collect())
        .without_gaps()
        .with_axes(axes)
}

/// The balance at times of the same distance, from the first point to the last.
fn steps(points: &[BalancePoint]) -> Vec<BalancePoint> {
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return Vec::new() };
    let seconds = last.timestamp.saturating_sub(first.timestamp);
    let count = STEPS.min(seconds.saturating_add(1));
    let at = |step: u64| match count {
        1 => last.timestamp,
        _ => first.timestamp + part(seconds, step, count - 1),
    };
    let newest = |timestamp: u64| {
        let newest = points.partition_point(|point| point.timestamp <= timestamp).checked_sub(1);
        let point = newest.and_then(|newest| points.get(newest)).unwrap_or(first);
        BalancePoint { timestamp, ..*point }
    };
    (0..count).map(|step| newest(at(step))).collect()
}

fn part(seconds: u64, step: u64, steps: u64) -> u64 {
    let part = U256::from(seconds) * U256::from(step) / U256::from(steps.max(1));
    part.saturating_to()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(timestamp: u64, balance: u64) -> BalancePoint {
        BalancePoint { block: timestamp, timestamp, balance: Balance::from(balance), until: timestamp }
    }

    #[test]
    fn a_step_has_the_newest_balance_at_its_time() {
        let steps = steps(&[point(100, 1), point(110, 7), point(159, 3)]);
        let balance = |at: usize| (steps[at].timestamp, u64::try_from(steps[at].balance).unwrap());
        assert_eq!(steps.len(), 60);
        assert_eq!([0, 9, 10, 58, 59].map(balance), [(100, 1), (109, 1), (110, 7), (158, 7), (159, 3)]);
    }

    #[test]
    fn a_long_history_has_as_many_steps_as_a_short_one() {
        let steps = steps(&[point(0, 1), point(u64::MAX, 2)]);
        assert_eq!(steps.len(), 60);
        assert_eq!((steps[0].timestamp, steps[59].timestamp), (0, u64::MAX));
        assert_eq!(steps[58].balance, Balance::from(1));
    }

    #[test]
    fn a_history_of_one_moment_has_one_step() {
        assert_eq!(steps(&[point(5, 1), point(5, 2)]), [point(5, 2)]);
        assert_eq!(steps(&[point(5, 1)]), [point(5, 1)]);
        assert!(steps(&[]).is_empty());
    }

    #[test]
    fn a_chart_of_the_largest_balances_is_drawn() {
        let unit = Unit { decimals: 18, symbol: "ETH".to_owned() };
        let largest = [BalancePoint { balance: Balance::MAX, ..point(1, 0) }, point(100, 0)];
        let drawn = format!("{}", chart(&largest, &unit));
        assert!(drawn.contains("aria-label=\"1970-01-01 00:01: 2.13e78 ETH\""), "{drawn}");
        assert!(!drawn.contains("NaN") && !drawn.contains("inf"), "{drawn}");
    }
}
