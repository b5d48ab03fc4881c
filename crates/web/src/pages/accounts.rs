use askama::Template;
use axum::{
    extract::{Query, State},
    response::Response,
};
use domain::Address;
use enrichment::{AccountListing, RankedAccount, UnknownAccounts};

use crate::{
    error::PageError,
    frame::{Frame, Section},
    state::App,
    view::{AddressLink, Amount, BlockLink, PageNames, Pager, Paging, grouped},
};

#[derive(Template)]
#[template(path = "accounts.html")]
struct Accounts {
    frame: Frame,
    accounts: Vec<AccountRow>,
    block: Option<BlockLink>,
    is_complete: bool,
    addresses_read: String,
    percent: u8,
    unknown: Vec<&'static str>,
    pager: Pager,
}

struct AccountRow {
    key: Address,
    rank: String,
    address: AddressLink,
    balance: Amount,
    transactions: String,
}

impl AccountRow {
    fn new(account: RankedAccount, tx_count: u64, names: &PageNames) -> Self {
        Self {
            key: account.address,
            rank: grouped(account.rank),
            address: names.address(account.address),
            balance: names.coin(account.balance),
            transactions: grouped(tx_count),
        }
    }
}

pub(super) async fn show(State(app): State<App>, Query(paging): Query<Paging>) -> Result<Response, PageError> {
    let Some(top_accounts) = &app.top_accounts else {
        let advice = "This explorer does not list top accounts. Its operator can turn that on with --top-accounts on.";
        return app.not_found("No top accounts", advice).await;
    };
    let names = &app.page_names();
    let listing = top_accounts.listing();
    let AccountListing { block, is_complete, addresses_read, percent, .. } = *listing;
    let unknown = listing.unknown.iter().copied().map(describe_unknown).collect();
    let listed = listing.page(paging.request());
    let addresses: Vec<Address> = listed.items.iter().map(|account| account.address).collect();
    let counts = app.chain.count_transactions(&addresses).await?;
    let rows = listed.items.into_iter().zip(counts);
    let pager = paging.pager("/accounts", listed.total);
    let description = format!("Accounts with the largest balances on {}.", names.chain);
    app.page(
        names,
        &Accounts {
            frame: app.frame("Top accounts", Section::Accounts).await.described(description).at_page(&pager),
            accounts: rows.map(|(account, count)| AccountRow::new(account, count, names)).collect(),
            block: block.map(|block| BlockLink::new(block.number)),
            is_complete,
            addresses_read: match addresses_read {
                1 => "1 address".to_owned(),
                count => format!("{} addresses", grouped(count)),
            },
            percent,
            unknown,
            pager,
        },
    )
    .await
}

/// The only income of accounts that the list may miss.
fn describe_unknown(unknown: UnknownAccounts) -> &'static str {
    match unknown {
        UnknownAccounts::EarlierBlocks => "payments before the first indexed block",
        UnknownAccounts::Genesis => "coins since the genesis block",
        UnknownAccounts::InternalTransactions => "payments by contracts in blocks that are not traced",
        UnknownAccounts::ProtocolPayments => "rewards or fees by rules of the chain that are not known",
    }
}
