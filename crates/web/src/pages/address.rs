mod filter;
mod methods;

use askama::Template;
use axum::{
    extract::{Path, Query, State},
    http::HeaderMap,
    response::Response,
};
use domain::{Account, Address, Code, InternalPage, LogFilter, LogPage, Page, TradeFilter, U256};
use filter::{FilterFields, FilterView, ListFields, ListFilter};
use serde::Deserialize;

use super::{
    approvals::{Allowed, ApprovalsView},
    balance_tab::BalanceView,
    contract_tab::ContractView,
};
use crate::{
    error::PageError,
    frame::{Frame, Section},
    state::{App, WebState},
    view::{
        AddressLink, Amount, BlockLink, FieldValue, InternalRow, ListFile, ListedLog, Moment, NftLink, PageNames,
        Pager, Paging, ReachView, TokenLink, TradeRow, TransactionLink, TransactionRow, TransferRow, counted, grouped,
        sanitize_name, short,
    },
};

#[derive(Debug, Default, Deserialize)]
pub(super) struct Params {
    #[serde(default)]
    tab: Option<String>,
    #[serde(flatten)]
    filter: FilterFields,
    #[serde(flatten)]
    paging: Paging,
}

#[derive(Template)]
#[template(path = "address.html")]
struct AddressPage {
    frame: Frame,
    address: String,
    label: Option<String>,
    kind: &'static str,
    /// None if the node is unavailable and no account is stored.
    account: Option<AccountView>,
    tx_count: String,
    /// None if no indexed block contains the address.
    seen: Option<Seen>,
    transfer_count: String,
    trade_count: String,
    internal_count: String,
    log_count: String,
    token: Option<TokenLink>,
    creator: Option<AddressLink>,
    creation: Option<TransactionLink>,
    is_contract: bool,
    tab: Tab,
    /// None for tabs without filters.
    filter: Option<FilterView>,
    /// None for tabs without a list.
    pager: Option<Pager>,
}

struct Seen {
    first: Moment,
    last: Moment,
}

struct AccountView {
    balance: Amount,
    block: BlockLink,
    nonce: String,
    delegate: Option<AddressLink>,
}

enum Tab {
    Transactions(Vec<TransactionRow>),
    Transfers(Vec<TransferRow>),
    Holdings(Vec<HoldingRow>),
    Nfts(Vec<NftRow>),
    Approvals(ApprovalsView),
    Trades(Vec<TradeRow>),
    Internal(Vec<InternalRow>, Option<ReachView>),
    /// With the first block from which they are complete.
    Logs(Vec<ListedLog>, Option<BlockLink>),
    Balance(Box<BalanceView>),
    Contract(Box<ContractView>),
}

impl Tab {
    fn is(&self, name: &str) -> bool {
        self.name() == name
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Transactions(_) => "transactions",
            Self::Transfers(_) => "transfers",
            Self::Holdings(_) => "tokens",
            Self::Nfts(_) => "nfts",
            Self::Approvals(_) => "approvals",
            Self::Trades(_) => "trades",
            Self::Internal(..) => "internal",
            Self::Logs(..) => "logs",
            Self::Balance(_) => "balance",
            Self::Contract(_) => "contract",
        }
    }

    /// Whether it is a list, which new blocks change.
    fn is_list(&self) -> bool {
        !matches!(self, Self::Balance(_) | Self::Contract(_))
    }
}

struct HoldingRow {
    key: Address,
    token: TokenLink,
    name: String,
    contract: AddressLink,
    kind: &'static str,
    balance: Amount,
}

struct NftRow {
    key: String,
    token: TokenLink,
    kind: &'static str,
    id: NftLink,
    amount: Amount,
}

pub(super) async fn show(
    State(app): State<App>,
    Path(address): Path<String>,
    Query(params): Query<Params>,
    headers: HeaderMap,
) -> Result<Response, PageError> {
    let Ok(address) = address.parse::<Address>() else {
        return app.not_found("Not an address", "An address is 0x and 40 hexadecimal digits.").await;
    };
    if let Some(file) = params.paging.file() {
        return app.export(file, address, &params).await;
    }
    let names = &app.page_names().about(address);
    let overview = app.chain.find_address_overview(address, 0).await?;
    let account = match overview {
        Some(_) => app.account(address).await,
        None => app.unindexed_account(address).await,
    };
    let (transfer_count, trade_count) =
        overview.as_ref().map(|overview| (overview.transfer_count, overview.trade_count)).unwrap_or_default();
    let log_count = overview.as_ref().map_or(0, |overview| overview.log_count);
    let internal_count = overview.as_ref().map_or(0, |overview| overview.internal_tx_count);
    let (summary, token) = overview.map(|overview| (overview.summary, overview.token)).unzip();
    let (creation, token) = (summary.as_ref().and_then(|summary| summary.creation), token.flatten());
    let full = address.to_checksum(None);
    let filter = params.filter_view(address);
    let (tab, pager) = app.tab(address, &full, &params, &app.server_address(&headers), names).await?;
    let is_contract = match &account {
        Some(account) => account.code.is_contract(),
        // What the index knows: where it has read code, or seen a creation.
        None => creation.is_some() || app.chain.find_code_hash(address).await?.is_some(),
    };
    let verified = match account.as_ref().and_then(|account| account.code.hash()) {
        Some(hash) => app.verified.find_verified_summary(address, hash).await?,
        None => None,
    };
    let label = app.names.label(&address).as_deref().map(sanitize_name);
    let label = label
        .or_else(|| token.as_ref().map(|token| sanitize_name(&token.metadata.name)).filter(|name| !name.is_empty()))
        .or_else(|| verified.map(|summary| sanitize_name(&summary.name)));
    let kind = if is_contract { "Contract" } else { "Address" };
    let title = match &label {
        Some(label) => format!("{kind} {label} {}", short(&full)),
        None => format!("{kind} {}", short(&full)),
    };
    let is_live = params.paging.is_first() && tab.is_list();
    let tx_count = summary.as_ref().map_or(0, |summary| summary.tx_count);
    let mut description = format!("{kind} {full} on {}", names.chain);
    if let Some(label) = &label {
        description = format!("{description}, {label}");
    }
    description = format!(
        "{description}: {} and {}",
        counted(tx_count, "transaction"),
        counted(transfer_count, "token transfer")
    );
    let account = account.map(|account| AccountView::new(&account, names));
    if let Some(account) = &account {
        description = format!("{description}, balance {}", account.balance.shown());
    }
    let frame = app.frame(title, Section::None).await.described(format!("{description}.")).live_if(is_live);
    let frame = match &pager {
        Some(pager) => frame.at_page(pager),
        None => frame.at(format!("/address/{full}?tab={}", tab.name())),
    };
    // Every address has a page, also one that nobody uses.
    let frame = frame.unlisted_if(params.filter.is_set() || (summary.is_none() && !is_contract));
    app.page(
        names,
        &AddressPage {
            frame,
            label,
            kind,
            is_contract,
            account,
            tx_count: grouped(tx_count),
            seen: summary
                .map(|summary| Seen { first: Moment::of(summary.first_seen), last: Moment::of(summary.last_seen) }),
            transfer_count: grouped(transfer_count),
            trade_count: grouped(trade_count),
            internal_count: grouped(internal_count),
            log_count: grouped(log_count),
            token: token.map(|token| names.token(address, &token.metadata.symbol, &token.metadata.name)),
            creator: creation.map(|creation| names.address(creation.creator)),
            creation: creation.map(|creation| TransactionLink::new(creation.tx_hash)),
            address: full,
            tab,
            filter,
            pager,
        },
    )
    .await
}

/// Node calls to fetch an account: balance, nonce and code.
pub(super) const ACCOUNT_CALLS: u32 = 3;

impl WebState {
    async fn account(&self, address: Address) -> Option<Account> {
        let tip = self.sync.borrow().tip?;
        let may_call_node = || self.budget.allows_node_calls(ACCOUNT_CALLS);
        let account = self.accounts.get_within_budget(tip, address, &may_call_node).await;
        account.inspect_err(|error| tracing::debug!(%error, "account unavailable")).ok()
    }

    /// The account of an address that no indexed block contains. One that the chain has nothing about is empty.
    async fn unindexed_account(&self, address: Address) -> Option<Account> {
        let tip = self.sync.borrow().tip?;
        let may_call_node = || self.budget.allows_node_calls(ACCOUNT_CALLS);
        let account = self.accounts.find_unindexed(tip, address, &may_call_node).await;
        let account = account.inspect_err(|error| tracing::debug!(%error, "account unavailable")).ok()?;
        Some(account.unwrap_or(Account { balance: U256::ZERO, nonce: 0, code: Code::None, block: tip.number }))
    }

    /// None if the filter is invalid, which its form says.
    async fn list_filter(&self, address: Address, params: &Params) -> Result<Option<ListFilter>, PageError> {
        Ok(match params.filter.parse(address) {
            Ok(filter) => Some(filter.resolve(&*self.chain).await?),
            Err(_) => None,
        })
    }

    async fn tab(
        &self,
        address: Address,
        full: &str,
        params: &Params,
        server: &str,
        names: &PageNames,
    ) -> Result<(Tab, Option<Pager>), PageError> {
        let request = params.paging.request();
        let name = params.tab.as_deref().unwrap_or_default();
        let query = params.filter.query();
        let pager = |total| Some(params.paging.pager(format!("/address/{full}?tab={name}"), total));
        let filtered =
            |total| Some(params.paging.pager(format!("/address/{full}?tab={name}{query}"), total).with_files());
        let filter = self.list_filter(address, params).await?;
        Ok(match name {
            "transfers" => {
                let Page { items, total } = match filter {
                    Some(filter) => self.chain.list_transfers(&filter.transfers(), request).await?,
                    None => Page::empty(0),
                };
                let rows = items.iter().map(|transfer| TransferRow::new(transfer, names));
                (Tab::Transfers(rows.collect()), filtered(total))
            }
            "internal" => {
                let InternalPage { page, reach } = match filter {
                    Some(filter) => self.chain.list_internal_transactions(&filter.internal(), request).await?,
                    None => InternalPage { page: Page::empty(0), reach: None },
                };
                let rows = page.items.iter().map(|found| InternalRow::new(found, names)).collect();
                (Tab::Internal(rows, reach.map(ReachView::from)), filtered(page.total))
            }
            "logs" => {
                let LogPage { page, complete_from } = self.chain.list_logs(&LogFilter::of(address), request).await?;
                let interfaces = if page.items.is_empty() {
                    Vec::new()
                } else {
                    self.interfaces.of(address, &self.node_calls).await?
                };
                let rows = page.items.iter().map(|log| ListedLog::new(log, &interfaces, names)).collect();
                // Nothing to say about an index that has all logs of its blocks.
                let complete_from = complete_from.filter(|from| *from > 0).map(BlockLink::new);
                (Tab::Logs(rows, complete_from), pager(page.total))
            }
            "tokens" => {
                let Page { items, total } = self.chain.list_address_tokens(address, request).await?;
                let rows = items.iter().map(|held| HoldingRow {
                    key: held.token.address,
                    token: names.token(held.token.address, &held.token.metadata.symbol, &held.token.metadata.name),
                    name: sanitize_name(&held.token.metadata.name),
                    contract: AddressLink::bare(held.token.address),
                    kind: names.token_kind(held.token.kind),
                    balance: Amount::of_token(held.balance, held.token.metadata.decimals),
                });
                (Tab::Holdings(rows.collect()), pager(total).map(Pager::with_files))
            }
            "nfts" => {
                let Page { items, total } = self.chain.list_held_nfts(address, request).await?;
                let rows = items.iter().map(|held| NftRow {
                    key: format!("{:#x}-{}", held.token, held.id),
                    token: names.token_if_read(held.token, held.token_symbol.as_deref(), held.token_name.as_deref()),
                    kind: names.token_kind(held.kind),
                    id: self.nft_link(held.token, held.id),
                    amount: Amount::of(held.amount, 0, ""),
                });
                (Tab::Nfts(rows.collect()), pager(total))
            }
            "approvals" => {
                let (view, total) = self.approvals(address, request, names).await?;
                (Tab::Approvals(view), pager(total))
            }
            "trades" => {
                let filter = TradeFilter::of(address, self.chain.find_pool(address).await?.is_some());
                let Page { items, total } = self.chain.list_trades(&filter, request).await?;
                let rows = items.iter().map(|trade| TradeRow::new(trade, names)).collect();
                (Tab::Trades(rows), pager(total).map(Pager::with_files))
            }
            "balance" => (Tab::Balance(Box::new(self.balance(address, params.filter.token(), names).await?)), None),
            "contract" => (Tab::Contract(Box::new(Box::pin(self.contract(address, server, names)).await?)), None),
            _ => {
                let Page { items, total } = match filter {
                    Some(filter) => self.filtered_transactions(&filter, request).await?,
                    None => Page::empty(0),
                };
                let methods = self.methods_of(&items).await?;
                let rows = items.iter().map(|tx| TransactionRow::new(tx, &methods, names)).collect();
                // The first tab needs no name in the URL.
                let path = match query.strip_prefix('&') {
                    Some(query) => format!("/address/{full}?{query}"),
                    None => format!("/address/{full}"),
                };
                (Tab::Transactions(rows), Some(params.paging.pager(path, total).with_files()))
            }
        })
    }
}

impl Params {
    /// The form of a tab whose list can be filtered.
    fn filter_view(&self, address: Address) -> Option<FilterView> {
        let fields = match self.tab.as_deref().unwrap_or_default() {
            "" | "transactions" => Some(ListFields::Method),
            "internal" => Some(ListFields::None),
            "transfers" => Some(ListFields::Token),
            _ => None,
        };
        fields.map(|fields| self.filter.view(fields, self.filter.parse(address).err()))
    }
}

impl WebState {
    /// The page of a list as a file.
    async fn export(&self, file: ListFile, address: Address, params: &Params) -> Result<Response, PageError> {
        let filter = match params.filter.parse(address) {
            Ok(filter) => filter.resolve(&*self.chain).await?,
            Err(error) => return self.not_found("No such list", error).await,
        };
        let (request, name) = (params.paging.request(), params.tab.as_deref().unwrap_or_default());
        let named = |kind: &str| format!("{kind}-{address:#x}");
        Ok(match name {
            "transfers" => {
                file.of(&named("transfers"), &self.chain.list_transfers(&filter.transfers(), request).await?.items)
            }
            "internal" => {
                let found = self.chain.list_internal_transactions(&filter.internal(), request).await?;
                file.of(&named("internal-transactions"), &found.page.items)
            }
            "" | "transactions" => {
                let found = self.filtered_transactions(&filter, request).await?;
                file.of(&named("transactions"), &found.items)
            }
            "tokens" => file.of(&named("tokens"), &self.chain.list_address_tokens(address, request).await?.items),
            "trades" => {
                let filter = TradeFilter::of(address, self.chain.find_pool(address).await?.is_some());
                file.of(&named("trades"), &self.chain.list_trades(&filter, request).await?.items)
            }
            _ => return self.not_found("No such file", "This list is not offered as a file.").await,
        })
    }
}

impl AccountView {
    fn new(account: &Account, names: &PageNames) -> Self {
        Self {
            balance: names.coin(account.balance),
            block: BlockLink::new(account.block),
            nonce: grouped(account.nonce),
            delegate: match account.code {
                Code::Delegation { target } => Some(names.address(target)),
                Code::None | Code::Contract { .. } => None,
            },
        }
    }
}
