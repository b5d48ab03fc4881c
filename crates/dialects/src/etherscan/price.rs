//! What a request costs, before anything is done for it: lists by the rows that there are, which the index knows.

use admission::{Area, Price, Work, prices};
use domain::{BlockRange, CreditClass, CreditFilter, InternalFilter, PageRequest};

use super::{
    answer::Failure,
    logs::LogQuery,
    params::{MAX_ROWS, PageParams, Params},
    proxy, transactions,
    transactions::up_to,
    transfers,
};
use crate::app::App;

/// Lists up to this length cost 1, and need not be counted.
const SHORT_LIST: u32 = 1_000;
/// Transactions of a block, whose fees are added for its reward.
const TRANSACTIONS_OF_BLOCK: u32 = 200;
/// Calls to the node for one balance, in one batch.
const CALLS_OF_BALANCE: u32 = 3;

/// The line of the table; None for an action that there is not.
fn find_price(module: &str, action: &str) -> Option<&'static Price> {
    let name = match module {
        "proxy" if proxy::executes(action) => "proxy.execution".to_owned(),
        "proxy" => "proxy".to_owned(),
        _ => format!("{module}.{action}"),
    };
    let is_etherscan = |price: &&Price| price.area == Area::Etherscan;
    prices().iter().filter(is_etherscan).find(|price| price.route == name)
}

/// Whether a request only polls a job: tools send one every few seconds.
pub(super) fn is_free(params: &Params) -> bool {
    let name = format!("{}.{}", params.find("module").unwrap_or_default(), params.find("action").unwrap_or_default());
    let mut free = prices().iter().filter(|price| price.area == Area::Free);
    free.any(|price| price.route.eq_ignore_ascii_case(&name))
}

/// The cost of a long form: for its bytes, and for the verification that it is for.
pub(super) fn form_cost(bytes: usize) -> u32 {
    let kilobytes = u32::try_from(bytes.div_ceil(1 << 10)).unwrap_or(u32::MAX);
    let verification = find_price("contract", "verifysourcecode").map_or(1, Price::cost);
    Work { kilobytes, ..Work::default() }.cost().max(verification)
}

/// The cost of a request. One that will be refused costs as much as a plain one.
pub(super) async fn cost(app: &App, params: &Params) -> u32 {
    let module = params.find("module").unwrap_or_default().to_ascii_lowercase();
    let action = params.find("action").unwrap_or_default().to_ascii_lowercase();
    let Some(price) = find_price(&module, &action) else { return 1 };
    match work(app, price, &module, &action, params).await {
        Ok(work) => work.cost(),
        Err(_) => 1,
    }
}

async fn work(app: &App, price: &Price, module: &str, action: &str, params: &Params) -> Result<Work, Failure> {
    let plain = Work::default();
    match (module, action) {
        ("account", "balancemulti") => {
            let addresses = params.addresses("address", super::account::MAX_BALANCES)?.len();
            let addresses = u32::try_from(addresses).unwrap_or(u32::MAX);
            Ok(Work { node_calls: addresses.saturating_mul(CALLS_OF_BALANCE), ..plain })
        }
        ("account", "txlist" | "tokentx" | "tokennfttx" | "token1155tx" | "txlistinternal" | "txsbeaconwithdrawal")
        | ("token", "tokenholderlist") => {
            let page = params.page(MAX_ROWS)?;
            let is_scanned =
                ["tokentx", "tokennfttx", "token1155tx"].contains(&action) && params.find("contractaddress").is_none();
            if page.rows <= SHORT_LIST && !is_scanned {
                return Ok(Work { rows: page.rows, ..plain });
            }
            let total = count(app, action, params).await?;
            let scanned = if is_scanned { total.min(transfers::MAX_SCANNED.into()) } else { 0 };
            let scanned = u32::try_from(scanned).unwrap_or(u32::MAX);
            Ok(Work { rows: rows_of(page, total), scanned, ..plain })
        }
        ("account", "getminedblocks") => {
            let page = params.page(MAX_ROWS)?;
            let tip = app.tip().await?.number;
            let blocks = up_to(BlockRange::ALL, tip);
            let miner = params.address("address")?;
            if params.find("blocktype") == Some("uncles") {
                let filter = CreditFilter::of(miner, CreditClass::UncleRewards);
                let total = app.services.chain.list_credits(&filter, PageRequest::newest(1)).await?.total;
                return Ok(Work { rows: rows_of(page, total), ..plain });
            }
            let total = app.services.chain.list_mined_blocks(miner, blocks, PageRequest::newest(1)).await?.total;
            let rows = rows_of(page, total);
            Ok(Work { rows, scanned: rows.saturating_mul(TRANSACTIONS_OF_BLOCK), ..plain })
        }
        ("logs", "getlogs") => {
            let query = LogQuery::read(params)?;
            Ok(Work { scanned: query.scanned(), node_calls: query.node_calls(app).await?, ..plain })
        }
        _ => Ok(price.work),
    }
}

/// Rows of a page of a list of this length.
fn rows_of(page: PageParams, total: u64) -> u32 {
    u32::try_from(total.saturating_sub(page.skip).min(page.rows.into())).unwrap_or(u32::MAX)
}

/// The length of a whole list.
async fn count(app: &App, action: &str, params: &Params) -> Result<u64, Failure> {
    let chain = &app.services.chain;
    let first = PageRequest::newest(1);
    let tip = app.tip().await?.number;
    Ok(match action {
        "txlist" => chain.list_transactions(&transactions::filter(params, tip)?, first).await?.total,
        "txlistinternal" => {
            let blocks = params.block_range("startblock", "endblock")?;
            let filter = match params.find_hash("txhash")? {
                Some(hash) => InternalFilter::of(hash),
                None => {
                    InternalFilter { address: params.find_address("address")?, blocks, ..InternalFilter::default() }
                }
            };
            chain.list_internal_transactions(&filter, first).await?.page.total
        }
        "txsbeaconwithdrawal" => {
            let filter = CreditFilter::of(params.address("address")?, CreditClass::Withdrawals);
            chain.list_credits(&filter, first).await?.total
        }
        "tokenholderlist" => {
            let holders = chain.list_holders(params.address("contractaddress")?, first).await?;
            holders.map_or(0, |holders| holders.total)
        }
        _ => chain.list_transfers(&transfers::filter(params, tip)?, first).await?.total,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_action_has_a_price() {
        // That are refused with a reason.
        const REFUSED: [&str; 2] = ["stats.ethsupply", "stats.ethprice"];
        let dispatchers = [
            ("account", include_str!("account.rs")),
            ("block", include_str!("block.rs")),
            ("contract", include_str!("contract.rs")),
            ("gastracker", include_str!("gas_tracker.rs")),
            ("logs", include_str!("logs.rs")),
            ("stats", include_str!("stats.rs")),
            ("token", include_str!("token.rs")),
        ];
        let mut seen = 0;
        for (module, source) in dispatchers {
            let (_, dispatch) = source.split_once("async fn dispatch(").unwrap();
            let dispatch = dispatch.split_once("\n}\n").unwrap().0;
            let arms = dispatch.lines().filter_map(|line| line.strip_prefix("        \"")?.split_once('"'));
            for (action, _) in arms {
                let name = format!("{module}.{action}");
                let is_priced = prices().iter().any(|price| price.route == name);
                assert!(is_priced || REFUSED.contains(&name.as_str()), "{name}");
                seen += 1;
            }
        }
        assert!(seen > 20, "{seen}");
    }

    #[test]
    fn every_price_is_one_of_an_action() {
        let etherscan = prices().iter().filter(|price| price.area == Area::Etherscan);
        for price in etherscan.filter(|price| price.route.contains('.') && price.route != "proxy.execution") {
            let (module, action) = price.route.split_once('.').unwrap();
            assert_eq!(find_price(module, action), Some(price));
        }
        assert_eq!(find_price("proxy", "eth_call").unwrap().cost(), 2);
        assert_eq!(find_price("proxy", "eth_blocknumber").unwrap().cost(), 1);
        assert_eq!(find_price("account", "nothing"), None);
    }
}
