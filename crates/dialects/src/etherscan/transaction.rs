//! `module=transaction`.

use domain::Outcome;
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
    Ok(Answer::Result(match (action, transaction.map(|transaction| transaction.outcome())) {
        ("getstatus", Some(Outcome::Failed)) => json!({ "isError": "1", "errDescription": "execution failed" }),
        ("getstatus", Some(Outcome::Succeeded)) => json!({ "isError": "0", "errDescription": "" }),
        ("getstatus", Some(Outcome::Unknown) | None) => json!({ "isError": "", "errDescription": "" }),
        (_, Some(Outcome::Succeeded)) => json!({ "status": "1" }),
        (_, Some(Outcome::Failed)) => json!({ "status": "0" }),
        // Etherscan's answer for an unknown transaction, too.
        (_, Some(Outcome::Unknown) | None) => json!({ "status": "" }),
    }))
}
