//! Requests and responses with false contents.

use http_body_util::BodyExt;
use hyper::body::Bytes;
use serde_json::{Value, json};

use super::{conditions::Fault, pieces::Pieces};

/// The request with the number of the block before; unchanged if it names none.
pub(super) fn other_block(request: Bytes) -> Bytes {
    let Ok(mut call) = serde_json::from_slice::<Value>(&request) else { return request };
    let number = call["params"][0].as_str().and_then(|text| u64::from_str_radix(text.strip_prefix("0x")?, 16).ok());
    match number.and_then(|number| number.checked_sub(1)) {
        Some(other) if call["method"] == "eth_getBlockByNumber" => {
            call["params"][0] = json!(format!("{other:#x}"));
            call.to_string().into()
        }
        _ => request,
    }
}

/// A response that is cut, or has a false block; one without a block is cut.
pub(super) async fn response(fault: Fault, response: Pieces) -> anyhow::Result<Pieces> {
    let bytes = response.collect().await?.to_bytes();
    let is_block = bytes.windows(PARENT.len()).any(|window| window == PARENT);
    let mut spoiled = Pieces::default();
    spoiled.push(match fault {
        Fault::NoBlock | Fault::WrongParent if is_block => {
            let mut answer: Value = serde_json::from_slice(&bytes)?;
            match fault {
                Fault::NoBlock => answer["result"] = Value::Null,
                _ => answer["result"]["parentHash"] = answer["result"]["hash"].clone(),
            }
            answer.to_string().into()
        }
        _ => bytes.slice(..bytes.len() / 2),
    });
    Ok(spoiled)
}

const PARENT: &[u8] = b"\"parentHash\"";
