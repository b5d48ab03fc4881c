mod header;

use askama::Template;
use axum::{
    extract::{Path, Query, State},
    response::Response,
};
use domain::{Block, BlockId, BlockRange, Credit, CreditClass, TransactionFilter};
use serde::Deserialize;
use store::list_block_credits;

use self::header::{HeaderView, block_header};
use crate::{
    error::PageError,
    frame::{Frame, Section},
    methods::methods_of,
    state::App,
    view::{AddressLink, Amount, CreditRow, Moment, PageNames, Pager, Paging, TransactionRow, counted, grouped},
};

#[derive(Template)]
#[template(path = "block.html")]
struct BlockPage {
    frame: Frame,
    number: u64,
    shown_number: String,
    is_newest: bool,
    block: Block,
    time: Moment,
    miner: AddressLink,
    gas_used: String,
    gas_limit: String,
    filled: u64,
    base_fee: Option<Amount>,
    /// None if the node did not tell it.
    size: Option<String>,
    withdrawal_count: String,
    reward_count: String,
    tab: Tab,
    /// None for a tab without a list.
    pager: Option<Pager>,
}

/// What is shown of the block below its facts.
enum Tab {
    Transactions(Vec<TransactionRow>),
    Withdrawals(Vec<CreditRow>),
    Rewards(Vec<CreditRow>),
    Header(HeaderView),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TabName {
    Transactions,
    Withdrawals,
    Rewards,
    /// From the node; the others are in the index.
    Header,
}

impl Tab {
    fn is(&self, name: &str) -> bool {
        name == match self {
            Self::Transactions(_) => "transactions",
            Self::Withdrawals(_) => "withdrawals",
            Self::Rewards(_) => "rewards",
            Self::Header(_) => "header",
        }
    }
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Params {
    #[serde(default)]
    tab: Option<String>,
    #[serde(flatten)]
    paging: Paging,
}

pub(super) async fn show(
    State(app): State<App>,
    Path(id): Path<String>,
    Query(params): Query<Params>,
) -> Result<Response, PageError> {
    let name = match params.tab.as_deref() {
        Some("withdrawals") => TabName::Withdrawals,
        Some("rewards") => TabName::Rewards,
        _ => TabName::Transactions,
    };
    show_tab(&app, &id, name, &params.paging).await
}

pub(super) async fn show_header(State(app): State<App>, Path(id): Path<String>) -> Result<Response, PageError> {
    show_tab(&app, &id, TabName::Header, &Paging::default()).await
}

async fn show_tab(app: &App, id: &str, name: TabName, paging: &Paging) -> Result<Response, PageError> {
    let names = &app.page_names();
    let Some(id) = parse(id) else {
        return app
            .not_found(
                "Not a block",
                "A block is identified by its number, or by its hash: 0x and 64 hexadecimal digits.",
            )
            .await;
    };
    let Some(block) = app.chain.find_block(id).await? else {
        return app.not_found("No such block", "It may not be indexed yet, or it was reverted by a reorg.").await;
    };
    let withdrawals = list_block_credits(&*app.chain, block.number, CreditClass::Withdrawals).await?;
    let rewards = list_block_credits(&*app.chain, block.number, CreditClass::Issuances).await?;
    let path = |tab: &str| format!("/block/{}?tab={tab}", block.number);
    let (tab, pager) = match name {
        TabName::Withdrawals => {
            let pager = paging.pager(path("withdrawals"), withdrawals.len() as u64);
            (Tab::Withdrawals(credit_rows(&withdrawals, paging, names)), Some(pager))
        }
        TabName::Rewards => {
            let pager = paging.pager(path("rewards"), rewards.len() as u64);
            (Tab::Rewards(credit_rows(&rewards, paging, names)), Some(pager))
        }
        TabName::Header => (Tab::Header(block_header(app, block.id()).await), None),
        TabName::Transactions => {
            let filter = TransactionFilter { blocks: BlockRange::only(block.number), ..TransactionFilter::default() };
            let listed = app.chain.list_transactions(&filter, paging.request()).await?;
            let methods = methods_of(app, &listed.items).await?;
            let rows = listed.items.iter().map(|tx| TransactionRow::new(tx, &methods, names)).collect();
            (Tab::Transactions(rows), Some(paging.pager(format!("/block/{}", block.number), listed.total)))
        }
    };
    let tip = app.sync.borrow().tip;
    let time = Moment::of(block.timestamp);
    let filled = block.gas_used.saturating_mul(100).checked_div(block.gas_limit).unwrap_or_default();
    let description = format!(
        "Block {} of {} with {}, at {}: gas used {} ({filled} %), miner {}.",
        grouped(block.number),
        names.chain,
        counted(u64::from(block.tx_count), "transaction"),
        time.exact(),
        grouped(block.gas_used),
        block.miner.to_checksum(None),
    );
    let start = if name == TabName::Header { "Header of block" } else { "Block" };
    let title = format!("{start} {}", grouped(block.number));
    let frame = app.frame(title, Section::Blocks).await.described(description);
    let frame = match &pager {
        Some(pager) => frame.at_page(pager).live_if(!app.is_final(block.number)),
        // A live page would ask the node again with every block, and a header does not change.
        None => frame.at(format!("/block/{}/header", block.number)).unlisted_if(true),
    };
    app.page(
        names,
        &BlockPage {
            frame,
            number: block.number,
            shown_number: grouped(block.number),
            is_newest: tip.is_none_or(|tip| tip.number <= block.number),
            time,
            miner: names.address(block.miner),
            gas_used: grouped(block.gas_used),
            gas_limit: grouped(block.gas_limit),
            filled,
            base_fee: block.base_fee_per_gas.map(Amount::gas_price),
            size: Some(block.size).filter(|size| *size > 0).map(grouped),
            withdrawal_count: grouped(withdrawals.len() as u64),
            reward_count: grouped(rewards.len() as u64),
            tab,
            pager,
            block,
        },
    )
    .await
}

fn credit_rows(all: &[Credit], paging: &Paging, names: &PageNames) -> Vec<CreditRow> {
    let ranks = paging.request().ranks(all.len() as u64);
    let credits = ranks.filter_map(|rank| all.get(usize::try_from(rank).ok()?));
    credits.map(|credit| CreditRow::new(credit, names)).collect()
}

pub(super) fn parse(id: &str) -> Option<BlockId> {
    if id.starts_with("0x") {
        return id.parse().ok().map(BlockId::Hash);
    }
    id.parse().ok().map(BlockId::Number)
}
