//! What a request costs, before anything is done for it: lists by the rows that there are, which the index knows.

use admission::{Area, Price, Work, prices};
use domain::{BlockRange, InternalFilter, PageRequest};

use super::{
    answer::Failure,
    logs::LogQuery,
    params::{MAX_ROWS, Params},
    proxy, transactions,
    transactions::up_to,
    transfers,
};
use crate::app::App;

/// Lists up to this length cost 1, and need not be counted.
const SHORT_LIST: u32 = 1_000;
/// Transactions of a block, whose fees are added for its reward.
const TRANSACTIONS_OF_BLOCK: u32 = 200;
/// Calls to the node for one balance.
const CALLS_OF_BALANCE: u32 = 2;

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
        ("account", "txlist" | "tokentx" | "tokennfttx" | "token1155tx" | "txlistinternal")
        | ("token", "tokenholderlist") => {
            let page = params.page(MAX_ROWS)?;
            let is_scanned =
                ["tokentx", "tokennfttx", "token1155tx"].contains(&action) && params.find("contractaddress").is_none();
            if page.rows <= SHORT_LIST && !is_scanned {
                return Ok(Work { rows: page.rows, ..plain });
            }
            let total = count(app, action, params).await?;
            let rows = total.saturating_sub(page.skip).min(page.rows.into());
            let scanned = if is_scanned { total.min(transfers::MAX_SCANNED.into()) } else { 0 };
            let number = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
            Ok(Work { rows: number(rows), scanned: number(scanned), ..plain })
        }
        ("account", "getminedblocks") => {
            let page = params.page(MAX_ROWS)?;
            let tip = app.tip().await?.number;
            let blocks = up_to(BlockRange::ALL, tip);
            let miner = params.address("address")?;
            let total = app.services.chain.list_mined_blocks(miner, blocks, PageRequest::newest(1)).await?.total;
            let rows = total.saturating_sub(page.skip).min(page.rows.into());
            let rows = u32::try_from(rows).unwrap_or(u32::MAX);
            Ok(Work { rows, scanned: rows.saturating_mul(TRANSACTIONS_OF_BLOCK), ..plain })
        }
        ("logs", "getlogs") => {
            let query = LogQuery::read(params)?;
            Ok(Work { scanned: query.scanned(), node_calls: query.node_calls(app).await?, ..plain })
        }
        _ => Ok(price.work),
    }
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
