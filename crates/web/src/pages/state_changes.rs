//! What a transaction changed in the state of the chain, from the trace of the node.

use askama::Template;
use axum::{
    extract::{Path, State},
    response::Response,
};
use domain::U256;
use node::{AccountChange, Change, SlotChange};

use super::trace::{Traced, parse_traceable_hash};
use crate::{
    error::PageError,
    frame::{Frame, Section},
    state::App,
    view::{AddressLink, Amount, PageNames, TransactionLink, counted, grouped, short},
};

#[derive(Template)]
#[template(path = "state_changes.html")]
struct StateChangesPage {
    frame: Frame,
    transaction: TransactionLink,
    hash: String,
    accounts: Vec<AccountRow>,
    left_out: usize,
    /// Why there are no changes; empty if there are.
    missing: &'static str,
}

struct AccountRow {
    address: AddressLink,
    balance: Option<BalanceChange>,
    nonce: Option<Change<String>>,
    /// What happened to the code; empty if it is the same.
    code: String,
    /// How many slots changed, such as "2 slots".
    slot_count: String,
    slots: Vec<SlotChange>,
    more_slots: usize,
}

struct BalanceChange {
    before: Amount,
    after: Amount,
    is_more: bool,
    difference: Amount,
}

pub(super) async fn show(State(app): State<App>, Path(hash): Path<String>) -> Result<Response, PageError> {
    let hash = match parse_traceable_hash(&app, &hash).await? {
        Ok(hash) => hash,
        Err(not_found) => return Ok(not_found),
    };
    let Traced { trace: changes, missing } =
        Traced::new(app.node_calls.run_long(app.node.find_state_changes(hash)).await);
    let names = &app.page_names();
    let full = format!("{hash:#x}");
    let title = format!("State changes of transaction {}", short(&full));
    let accounts = counted(changes.accounts.len() as u64, "account");
    let description = format!("{title} on {}: {accounts} before and after it.", names.chain);
    let page = StateChangesPage {
        frame: app
            .frame(title, Section::Transactions)
            .await
            .described(description)
            .at(format!("/tx/{full}/state"))
            .unlisted_if(!missing.is_empty()),
        transaction: TransactionLink::new(hash),
        hash: full,
        accounts: changes.accounts.iter().map(|account| AccountRow::new(account, names)).collect(),
        left_out: changes.left_out,
        missing,
    };
    app.page(names, &page).await
}

impl AccountRow {
    fn new(account: &AccountChange, names: &PageNames) -> Self {
        Self {
            address: names.address(account.address),
            balance: account.balance.map(|balance| BalanceChange::new(balance, names)),
            nonce: account.nonce.map(|nonce| Change { before: grouped(nonce.before), after: grouped(nonce.after) }),
            code: code_text(account),
            slot_count: counted((account.slots.len() + account.slots_left_out) as u64, "slot"),
            slots: account.slots.clone(),
            more_slots: account.slots_left_out,
        }
    }
}

impl BalanceChange {
    fn new(balance: Change<U256>, names: &PageNames) -> Self {
        let Change { before, after } = balance;
        Self {
            before: names.coin(before),
            after: names.coin(after),
            is_more: after > before,
            difference: names.coin(after.abs_diff(before)),
        }
    }
}

fn code_text(account: &AccountChange) -> String {
    match account.code {
        _ if account.is_destroyed => "destroyed".to_owned(),
        Some(Change { before: 0, after }) => format!("created, {} bytes", grouped(after)),
        Some(Change { before, after }) => format!("changed from {} to {} bytes", grouped(before), grouped(after)),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_created_changed_or_destroyed() {
        let text = |code, is_destroyed| code_text(&AccountChange { code, is_destroyed, ..AccountChange::default() });
        assert_eq!(text(Some(Change { before: 0, after: 1_200 }), false), "created, 1,200 bytes");
        assert_eq!(text(Some(Change { before: 23, after: 0 }), false), "changed from 23 to 0 bytes");
        assert_eq!(text(Some(Change { before: 23, after: 0 }), true), "destroyed");
        assert_eq!(text(None, false), "");
    }
}
