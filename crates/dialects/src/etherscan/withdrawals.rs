//! `account.txsBeaconWithdrawal`.

use std::sync::Arc;

use domain::{Credit, CreditClass, CreditFilter, CreditSource, U256};
use serde_json::{Value, json};

use super::{
    answer::{Answer, Failure},
    coverage::Asked,
    params::{MAX_ROWS, PageParams, Params},
    rows::{Rows, send},
    transactions::up_to,
};
use crate::{app::App, error::DialectError};

/// Withdrawals that are read at a time.
const PART: u32 = 100;
const WEI_OF_GWEI: u64 = 1_000_000_000;

struct WithdrawalRows {
    app: Arc<App>,
    filter: CreditFilter,
    page: PageParams,
}

pub(super) async fn list(app: &Arc<App>, params: &Params) -> Result<Answer, Failure> {
    let address = params.address("address")?;
    let page = params.page(MAX_ROWS)?;
    let tip = app.tip().await?.number;
    let blocks = up_to(params.block_range("startblock", "endblock")?, tip);
    let filter = CreditFilter { blocks, ..CreditFilter::of(address, CreditClass::Withdrawals) };
    let asked = Asked { from: blocks.from, skip: page.skip };
    send(app, WithdrawalRows { app: Arc::clone(app), filter, page }, "No transactions found", asked).await
}

impl Rows for WithdrawalRows {
    async fn next(&mut self) -> Result<Vec<Value>, DialectError> {
        let Some(part) = self.page.next_part(PART) else { return Ok(Vec::new()) };
        let found = self.app.services.chain.list_credits(&self.filter, part).await?.items;
        Ok(found.iter().filter_map(row).collect())
    }
}

/// None for other credits, which the list does not have.
fn row(credit: &Credit) -> Option<Value> {
    let CreditSource::Withdrawal { index, validator } = credit.event.source else { return None };
    Some(json!({
        "withdrawalIndex": index.to_string(),
        "validatorIndex": validator.to_string(),
        "address": format!("{:#x}", credit.event.to),
        // In gwei, as blocks have it.
        "amount": (credit.event.amount / U256::from(WEI_OF_GWEI)).to_string(),
        "blockNumber": credit.block_number.to_string(),
        "timestamp": credit.timestamp.to_string(),
    }))
}
