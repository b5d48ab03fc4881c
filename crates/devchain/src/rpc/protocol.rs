//! JSON-RPC 2.0: single requests, batches and notifications.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use super::{error::RpcError, params::Params};

/// Requests per batch.
const MAX_BATCH: usize = 1_000;

/// The serialized `result` of a response.
pub(super) type Reply = Arc<RawValue>;

pub(super) fn reply<T: Serialize + ?Sized>(result: &T) -> Result<Reply, RpcError> {
    Ok(serde_json::value::to_raw_value(result)?.into())
}

#[derive(Deserialize)]
struct Request<'a> {
    /// Absent in a notification, which is not the same as null.
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: std::borrow::Cow<'a, str>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
}

fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    Deserialize::deserialize(deserializer).map(Some)
}

#[derive(Serialize)]
struct RpcResponse<'a> {
    jsonrpc: &'static str,
    id: Option<&'a RawValue>,
    #[serde(flatten)]
    outcome: Outcome,
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Outcome {
    Result(Reply),
    Error(RpcError),
}

impl<'a> RpcResponse<'a> {
    fn new(id: Option<&'a RawValue>, outcome: Result<Reply, RpcError>) -> Self {
        Self {
            jsonrpc: "2.0",
            id,
            outcome: match outcome {
                Ok(reply) => Outcome::Result(reply),
                Err(error) => Outcome::Error(error),
            },
        }
    }

    fn error(error: RpcError) -> Self {
        Self::new(None, Err(error))
    }
}

/// Handles a body with a request or a batch; `None` if it contains only notifications.
pub(super) fn answer(body: &[u8], mut run: impl FnMut(&str, Params) -> Result<Reply, RpcError>) -> Option<Vec<u8>> {
    let Ok(body) = serde_json::from_slice::<&RawValue>(body) else {
        return serialized(&RpcResponse::error(RpcError::parse()));
    };
    if !body.get().starts_with('[') {
        return handle_one(body, &mut run).and_then(|response| serialized(&response));
    }
    let Ok(batch) = serde_json::from_str::<Vec<&RawValue>>(body.get()) else {
        return serialized(&RpcResponse::error(RpcError::parse()));
    };
    if batch.is_empty() || batch.len() > MAX_BATCH {
        let message = format!("a batch must have 1 to {MAX_BATCH} requests");
        return serialized(&RpcResponse::error(RpcError::invalid_request(message)));
    }
    let responses: Vec<RpcResponse<'_>> =
        batch.into_iter().filter_map(|request| handle_one(request, &mut run)).collect();
    if responses.is_empty() {
        return None;
    }
    serialized(&responses)
}

fn handle_one<'a>(
    request: &'a RawValue,
    run: &mut impl FnMut(&str, Params) -> Result<Reply, RpcError>,
) -> Option<RpcResponse<'a>> {
    let request: Request<'a> = match serde_json::from_str(request.get()) {
        Ok(request) => request,
        Err(error) => {
            let message = format!("invalid request: {error}");
            return Some(RpcResponse::error(RpcError::invalid_request(message)));
        }
    };
    let outcome = Params::parse(request.params).and_then(|params| run(&request.method, params));
    request.id.map(|id| RpcResponse::new(Some(id), outcome))
}

fn serialized<T: Serialize>(response: &T) -> Option<Vec<u8>> {
    match serde_json::to_vec(response) {
        Ok(json) => Some(json),
        Err(error) => {
            tracing::error!(%error, "cannot serialize a JSON-RPC response");
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn respond(body: &str) -> Option<Value> {
        let answer = answer(body.as_bytes(), |method, _| reply(method))?;
        Some(serde_json::from_slice(&answer).unwrap())
    }

    #[test]
    fn an_id_of_any_type_is_returned_unchanged() {
        for id in [json!(1), json!("a"), json!(null), json!(1.5)] {
            let answer = respond(&json!({"id": id, "method": "m"}).to_string());
            assert_eq!(answer, Some(json!({"jsonrpc": "2.0", "id": id, "result": "m"})));
        }
    }

    #[test]
    fn a_batch_is_answered_in_order_without_its_notifications() {
        let answer = respond(r#"[{"id":1,"method":"a"},{"method":"b"},{"id":2,"method":"c"}]"#).unwrap();
        assert_eq!(answer[0]["result"], "a");
        assert_eq!(answer[1]["result"], "c");
        assert_eq!(answer.as_array().unwrap().len(), 2);
    }

    #[test]
    fn invalid_requests_get_the_right_error_code() {
        assert_eq!(respond("{").unwrap()["error"]["code"], -32700);
        assert_eq!(respond("\u{7f}").unwrap()["error"]["code"], -32700);
        assert_eq!(respond("[]").unwrap()["error"]["code"], -32600);
        assert_eq!(respond("7").unwrap()["error"]["code"], -32600);
        assert_eq!(respond(r#"{"id":1}"#).unwrap()["error"]["code"], -32600);
        assert_eq!(respond("[7]").unwrap()[0]["error"]["code"], -32600);
        let answer = respond(r#"{"id":1,"method":"m","params":5}"#).unwrap();
        assert_eq!(answer["error"]["code"], -32602);
    }
}
