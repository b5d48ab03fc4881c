//! `module=token`.

use std::sync::Arc;

use domain::{Address, TokenKind};
use serde_json::{Value, json};

use super::{
    answer::{Answer, Failure},
    coverage::Asked,
    params::{MAX_ROWS, PageParams, Params},
    rows::{Rows, send},
};
use crate::{app::App, error::DialectError};

const PART: u32 = 100;

pub(super) async fn dispatch(app: &Arc<App>, action: &str, params: &Params) -> Result<Answer, Failure> {
    match action {
        "tokeninfo" => get_token(app, params).await,
        "tokenholderlist" => list_holders(app, params).await,
        _ => Err(Failure::unknown_action()),
    }
}

async fn get_token(app: &App, params: &Params) -> Result<Answer, Failure> {
    let address = params.address("contractaddress")?;
    let token = app.services.chain.find_token(address).await?.ok_or_else(|| Failure::nothing("No data found"))?;
    let coverage = app.services.chain.coverage().await?;
    Ok(Answer::Result(json!([{
        "contractAddress": format!("{address:#x}"),
        "tokenName": token.metadata.name,
        "symbol": token.metadata.symbol,
        // As in all of its lists, an empty text is what is not known.
        "divisor": token.metadata.decimals.map(|decimals| decimals.to_string()).unwrap_or_default(),
        "tokenType": match token.kind {
            TokenKind::Bep20 => "ERC20",
            TokenKind::Bep721 => "ERC721",
            TokenKind::Bep1155 => "ERC1155",
        },
        "totalSupply": token.total_supply(coverage).map(|supply| supply.to_string()).unwrap_or_default(),
    }])))
}

struct HolderRows {
    app: Arc<App>,
    token: Address,
    page: PageParams,
}

async fn list_holders(app: &Arc<App>, params: &Params) -> Result<Answer, Failure> {
    let token = params.address("contractaddress")?;
    let mut page = params.page(MAX_ROWS)?;
    // The largest balance first.
    if params.find("sort").is_none() {
        page.order = domain::Order::NewestFirst;
    }
    let asked = Asked { from: None, skip: page.skip };
    send(app, HolderRows { app: Arc::clone(app), token, page }, "No token holder found", asked).await
}

impl Rows for HolderRows {
    async fn next(&mut self) -> Result<Vec<Value>, DialectError> {
        let Some(part) = self.page.next_part(PART) else { return Ok(Vec::new()) };
        let holders = self.app.services.chain.list_holders(self.token, part).await?;
        let row = |holder: domain::Holder| {
            json!({
                "TokenHolderAddress": format!("{:#x}", holder.address),
                "TokenHolderQuantity": holder.balance.to_string(),
            })
        };
        Ok(holders.into_iter().flat_map(|page| page.items).map(row).collect())
    }
}
