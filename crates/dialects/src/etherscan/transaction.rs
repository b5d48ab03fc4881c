//! `module=transaction`.

use serde_json::json;

use super::{
    answer::{Answer, Failure},
    params::Params,
};
use crate::app::App;

pub(super) async fn dispatch(app: &App, action: &str, params: &Params) -> Result<Answer, Failure> {
    if !["getstatus", "gettxreceiptstatus"].contains(&action) {
        return Err(Failure::unknown_action());
    }
    let transaction = app.services.chain.find_transaction(params.hash("txhash")?).await?;
    Ok(Answer::Result(match (action, transaction.map(|transaction| transaction.succeeded)) {
        ("getstatus", Some(false)) => json!({ "isError": "1", "errDescription": "execution failed" }),
        // Etherscan's answer for an unknown transaction, too.
        ("getstatus", _) => json!({ "isError": "0", "errDescription": "" }),
        (_, Some(succeeded)) => json!({ "status": if succeeded { "1" } else { "0" } }),
        (_, None) => json!({ "status": "" }),
    }))
}
