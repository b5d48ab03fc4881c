//! `module=proxy`: calls that are passed on to the node, with its answer as it is. Only methods that read, and
//! `eth_sendRawTransaction`. What is executed has limits on gas, size and time.

use client_address::Client;
use node::{NodeError, RpcMethod};
use serde_json::{Map, Value, json};

use super::{
    answer::{Answer, Failure},
    params::Params,
};
use crate::{app::App, error::DialectError};

/// Call data and raw transactions, in characters: as long as the longest transaction that nodes take.
const MAX_DATA: usize = 2 + (256 << 10);
/// Gas of a call.
const MAX_GAS: u64 = 50_000_000;
const TAGS: [&str; 5] = ["latest", "earliest", "pending", "safe", "finalized"];

pub(super) async fn dispatch(app: &App, client: Client, action: &str, params: &Params) -> Result<Answer, Failure> {
    let (method, arguments) = read_call(action, params)?;
    let _permit = app.node_call(client).await?;
    match app.services.node.forward_raw(method, &Value::from(arguments).to_string()).await {
        Ok(result) => Ok(Answer::Body(format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#))),
        Err(NodeError::Rpc { code, message, data, .. }) => {
            let error = match data {
                Some(data) => json!({ "code": code, "message": message, "data": data.to_string() }),
                None => json!({ "code": code, "message": message }),
            };
            Ok(Answer::Body(json!({ "jsonrpc": "2.0", "id": 1, "error": error }).to_string()))
        }
        Err(error) => Err(DialectError::from(error).into()),
    }
}

fn read_call(action: &str, params: &Params) -> Result<(RpcMethod, Vec<Value>), Failure> {
    let tag = || tag(params);
    let address = || params.address("address").map(|address| format!("{address:#x}").into());
    let hash = || params.hash("txhash").map(|hash| format!("{hash:#x}").into());
    Ok(match action {
        "eth_blocknumber" => (RpcMethod::BlockNumber, vec![]),
        "eth_gasprice" => (RpcMethod::GasPrice, vec![]),
        "eth_chainid" => (RpcMethod::ChainId, vec![]),
        "eth_getblockbynumber" => {
            let full = params.find("boolean").unwrap_or("false").eq_ignore_ascii_case("true");
            (RpcMethod::GetBlockByNumber, vec![tag()?, full.into()])
        }
        "eth_getblocktransactioncountbynumber" => (RpcMethod::GetBlockTransactionCountByNumber, vec![tag()?]),
        "eth_getunclebyblocknumberandindex" => {
            (RpcMethod::GetUncleByBlockNumberAndIndex, vec![tag()?, quantity(params, "index")?])
        }
        "eth_gettransactionbyblocknumberandindex" => {
            (RpcMethod::GetTransactionByBlockNumberAndIndex, vec![tag()?, quantity(params, "index")?])
        }
        "eth_gettransactionbyhash" => (RpcMethod::GetTransactionByHash, vec![hash()?]),
        "eth_gettransactionreceipt" => (RpcMethod::GetTransactionReceipt, vec![hash()?]),
        "eth_gettransactioncount" => (RpcMethod::GetTransactionCount, vec![address()?, tag()?]),
        "eth_getcode" => (RpcMethod::GetCode, vec![address()?, tag()?]),
        "eth_getstorageat" => (RpcMethod::GetStorageAt, vec![address()?, quantity(params, "position")?, tag()?]),
        "eth_call" => (RpcMethod::Call, vec![call(params, Some(MAX_GAS))?, tag()?]),
        // Without a limit, nodes use that of a block.
        "eth_estimategas" => (RpcMethod::EstimateGas, vec![call(params, None)?]),
        "eth_sendrawtransaction" => {
            let raw = find_data(params, "hex")?.ok_or_else(|| Failure::text("Error! Missing hex"))?;
            (RpcMethod::SendRawTransaction, vec![raw])
        }
        _ => return Err(Failure::unknown_action()),
    })
}

/// A block number or tag; the latest block by default.
fn tag(params: &Params) -> Result<Value, Failure> {
    let Some(text) = params.find("tag") else { return Ok("latest".into()) };
    let lower = text.to_ascii_lowercase();
    if TAGS.contains(&lower.as_str()) {
        return Ok(lower.into());
    }
    let number = params.find_number("tag")?.unwrap_or_default();
    Ok(format!("{number:#x}").into())
}

/// A number of at most 256 bits, in hexadecimal digits.
fn quantity(params: &Params, name: &str) -> Result<Value, Failure> {
    let text = params.get(name)?;
    let digits = text.strip_prefix("0x").unwrap_or(text);
    let is_number = (1..=64).contains(&digits.len()) && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    if !is_number {
        return Err(Failure::invalid(name, "must be 0x and hexadecimal digits"));
    }
    Ok(format!("0x{digits}").into())
}

fn find_data(params: &Params, name: &str) -> Result<Option<Value>, Failure> {
    if params.find(name).is_some_and(|text| text.len() > MAX_DATA) {
        return Err(Failure::invalid(name, &format!("must not be longer than {MAX_DATA} characters")));
    }
    Ok(params.find_bytes(name)?.map(|bytes| bytes.to_string().into()))
}

/// Whether an action executes code.
pub(super) fn executes(action: &str) -> bool {
    ["eth_call", "eth_estimategas"].contains(&action)
}

/// The parameters of a call, with at most [`MAX_GAS`]; `default_gas` if none is given.
fn call(params: &Params, default_gas: Option<u64>) -> Result<Value, Failure> {
    let mut call = Map::new();
    for name in ["to", "from"] {
        if let Some(party) = params.find_address(name)? {
            call.insert(name.to_owned(), format!("{party:#x}").into());
        }
    }
    if let Some(data) = find_data(params, "data")? {
        call.insert("data".to_owned(), data);
    }
    for (name, parameter) in [("value", "value"), ("gasPrice", "gasprice")] {
        if params.find(parameter).is_some() {
            call.insert(name.to_owned(), quantity(params, parameter)?);
        }
    }
    let gas = match params.find("gas") {
        Some(_) => {
            let given = quantity(params, "gas")?;
            // More than 64 bits is more than the limit, too.
            let digits = given.as_str().and_then(|text| text.strip_prefix("0x")).unwrap_or_default();
            Some(u64::from_str_radix(digits, 16).unwrap_or(MAX_GAS).min(MAX_GAS))
        }
        None => default_gas,
    };
    if let Some(gas) = gas {
        call.insert("gas".to_owned(), format!("{gas:#x}").into());
    }
    Ok(call.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gas(action: &str, query: &str) -> Value {
        let params = Params::parse(query.as_bytes(), "", None).unwrap();
        read_call(action, &params).unwrap().1[0]["gas"].clone()
    }

    #[test]
    fn calls_have_at_most_50_million_gas() {
        for action in ["eth_call", "eth_estimategas"] {
            assert_eq!(gas(action, "gas=0x5208"), "0x5208");
            assert_eq!(gas(action, "gas=0xffffffffffff"), "0x2faf080");
            assert_eq!(gas(action, &format!("gas=0x{}", "f".repeat(64))), "0x2faf080");
        }
        assert_eq!((gas("eth_call", ""), gas("eth_estimategas", "")), ("0x2faf080".into(), Value::Null));
    }
}
