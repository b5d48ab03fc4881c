//! `module=stats`.

use super::{
    account::call_number,
    answer::{Answer, Failure},
    params::Params,
};
use crate::app::App;

/// `totalSupply()`.
const TOTAL_SUPPLY: [u8; 4] = [0x18, 0x16, 0x0d, 0xdd];

pub(super) async fn dispatch(app: &App, action: &str, params: &Params) -> Result<Answer, Failure> {
    match action {
        "tokensupply" => {
            let supply = call_number(app, params.address("contractaddress")?, TOTAL_SUPPLY.to_vec().into()).await?;
            let supply = supply.ok_or_else(|| Failure::text("Error! The contract does not return a supply"))?;
            Ok(Answer::text(supply.to_string()))
        }
        "ethsupply" | "ethsupply2" => Err(Failure::text(
            "Error! The supply of the native coin is not part of the chain's blocks, so it is unknown here",
        )),
        "ethprice" => Err(Failure::text("Error! Prices are not part of the chain, so they are unknown here")),
        _ => Err(Failure::unknown_action()),
    }
}
