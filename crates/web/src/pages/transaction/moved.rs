//! What a transaction moved: who paid what to whom.

use domain::{InternalTransaction, Outcome, Transaction, Transfer};

use super::events::Events;
use crate::view::{AddressLink, Amount, ListLocation, ListPager, NftLink, PageNames, TokenLink, TransferRow};

pub(super) struct MovedView {
    pub(super) rows: Vec<MovedRow>,
    pub(super) pager: ListPager,
}

pub(super) struct MovedRow {
    pub(super) from: AddressLink,
    pub(super) to: AddressLink,
    /// None for an NFT.
    pub(super) amount: Option<Amount>,
    pub(super) id: Option<NftLink>,
    /// None for the chain's coin.
    pub(super) token: Option<TokenLink>,
    pub(super) kind: &'static str,
}

impl MovedView {
    pub(super) fn new(
        tx: &Transaction,
        events: &Events,
        internal: &[InternalTransaction],
        path: &str,
        names: &PageNames,
    ) -> Self {
        // The payments come first, so they are on the first page.
        let payments = if events.page.is_first() { payments(tx, internal, names) } else { Vec::new() };
        let location = ListLocation { what: "Token transfers", path, name: "moved" };
        Self {
            rows: payments.into_iter().chain(transfers(&events.listed, names)).collect(),
            pager: ListPager::new(events.page, events.transfers.total, location),
        }
    }
}

/// The value of the transaction, and what was paid in its calls. Nothing of a failed one moved, and of one with an unknown outcome
/// nothing is certain.
fn payments(tx: &Transaction, internal: &[InternalTransaction], names: &PageNames) -> Vec<MovedRow> {
    if tx.outcome() != Outcome::Succeeded {
        return Vec::new();
    }
    let row = |from, to, value, kind| MovedRow {
        from: names.address(from),
        to: names.address(to),
        amount: Some(names.coin(value)),
        id: None,
        token: None,
        kind,
    };
    let receiver = tx.to.or(tx.created).filter(|_| !tx.value.is_zero());
    let value = receiver.map(|to| row(tx.from, to, tx.value, "value of the transaction"));
    let paid = internal.iter().map(|found| &found.event);
    let paid = paid.filter(|event| !event.value.is_zero() && event.error.is_none());
    let inside = paid.filter_map(|event| Some(row(event.from, event.to?, event.value, "paid in a call")));
    value.into_iter().chain(inside).collect()
}

fn transfers(listed: &[Transfer], names: &PageNames) -> Vec<MovedRow> {
    let row = |transfer: &Transfer| {
        let TransferRow { from, to, amount, id, token, kind, .. } = TransferRow::new(transfer, names);
        MovedRow { from, to, amount, id, token: Some(token), kind }
    };
    listed.iter().map(row).collect()
}
