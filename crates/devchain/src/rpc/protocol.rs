//! JSON-RPC 2.0: single requests, batches and notifications.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use super::{error::RpcError, params::Params};

/// More requests than this in one batch are refused.
const MOST_IN_BATCH: usize = 1_000;

/// The `result` of an answer, already as JSON.
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
struct Answer<'a> {
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

impl<'a> Answer<'a> {
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

    fn refusal(error: RpcError) -> Self {
        Self::new(None, Err(error))
    }
}

/// Answers a body that holds a request or a batch; `None` where it holds only notifications.
pub(super) fn answer(body: &[u8], mut run: impl FnMut(&str, Params) -> Result<Reply, RpcError>) -> Option<Vec<u8>> {
    let Ok(body) = serde_json::from_slice::<&RawValue>(body) else {
        return written(&Answer::refusal(RpcError::parse()));
    };
    if !body.get().starts_with('[') {
        return answer_one(body, &mut run).and_then(|answer| written(&answer));
    }
    let Ok(batch) = serde_json::from_str::<Vec<&RawValue>>(body.get()) else {
        return written(&Answer::refusal(RpcError::parse()));
    };
    if batch.is_empty() || batch.len() > MOST_IN_BATCH {
        let message = format!("a batch holds 1 to {MOST_IN_BATCH} requests");
        return written(&Answer::refusal(RpcError::invalid_request(message)));
    }
    let answers: Vec<Answer<'_>> = batch.into_iter().filter_map(|request| answer_one(request, &mut run)).collect();
    if answers.is_empty() {
        return None;
    }
    written(&answers)
}

fn answer_one<'a>(
    request: &'a RawValue,
    run: &mut impl FnMut(&str, Params) -> Result<Reply, RpcError>,
) -> Option<Answer<'a>> {
    let request: Request<'a> = match serde_json::from_str(request.get()) {
        Ok(request) => request,
        Err(error) => {
            let message = format!("invalid request: {error}");
            return Some(Answer::refusal(RpcError::invalid_request(message)));
        }
    };
    let outcome = Params::parse(request.params).and_then(|params| run(&request.method, params));
    request.id.map(|id| Answer::new(Some(id), outcome))
}

fn written<T: Serialize>(answer: &T) -> Option<Vec<u8>> {
    match serde_json::to_vec(answer) {
        Ok(json) => Some(json),
        Err(error) => {
            tracing::error!(%error, "an answer cannot be written as JSON");
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn ask(body: &str) -> Option<Value> {
        let answer = answer(body.as_bytes(), |method, _| reply(method))?;
        Some(serde_json::from_slice(&answer).unwrap())
    }

    #[test]
    fn an_id_of_any_kind_comes_back_as_it_was() {
        for id in [json!(1), json!("a"), json!(null), json!(1.5)] {
            let answer = ask(&json!({"id": id, "method": "m"}).to_string());
            assert_eq!(answer, Some(json!({"jsonrpc": "2.0", "id": id, "result": "m"})));
        }
    }

    #[test]
    fn a_batch_is_answered_in_order_without_its_notifications() {
        let answer = ask(r#"[{"id":1,"method":"a"},{"method":"b"},{"id":2,"method":"c"}]"#).unwrap();
        assert_eq!(answer[0]["result"], "a");
        assert_eq!(answer[1]["result"], "c");
        assert_eq!(answer.as_array().unwrap().len(), 2);
    }

    #[test]
    fn what_is_not_a_request_gets_the_code_for_it() {
        assert_eq!(ask("{").unwrap()["error"]["code"], -32700);
        assert_eq!(ask("\u{7f}").unwrap()["error"]["code"], -32700);
        assert_eq!(ask("[]").unwrap()["error"]["code"], -32600);
        assert_eq!(ask("7").unwrap()["error"]["code"], -32600);
        assert_eq!(ask(r#"{"id":1}"#).unwrap()["error"]["code"], -32600);
        assert_eq!(ask("[7]").unwrap()[0]["error"]["code"], -32600);
        let answer = ask(r#"{"id":1,"method":"m","params":5}"#).unwrap();
        assert_eq!(answer["error"]["code"], -32602);
    }
}
