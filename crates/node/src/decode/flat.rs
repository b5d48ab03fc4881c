use std::collections::HashMap;

use alloy_primitives::Address;
use domain::InternalKind;
use serde::{Deserialize, Deserializer, de::Error};

use super::{
    internal::{TracedCall, cut_error},
    quantity::{Account20, Hash, Quantity, Wide},
};
use crate::traced::TracedTransaction;

/// The EVM allows no deeper calls. Without a limit, the time for the calls around one would grow with the square of its depth.
pub(crate) const MAX_DEPTH: usize = 1_024;

/// The internal calls of every transaction of a block, from `trace_block`: a flat list in which each trace has its path.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RawFlatCalls(pub(crate) Vec<TracedTransaction>);

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FlatTrace {
    #[serde(rename = "type")]
    kind: String,
    action: FlatAction,
    result: Option<FlatResult>,
    error: Option<String>,
    trace_address: Vec<u32>,
    /// None for a reward of the block.
    transaction_hash: Option<Hash>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct FlatAction {
    call_type: Option<String>,
    #[serde(alias = "createMethod")]
    creation_method: Option<String>,
    from: Option<Account20>,
    to: Option<Account20>,
    value: Option<Wide>,
    gas: Option<Quantity>,
    /// Of a self-destruct: the contract, the receiver and the amount.
    address: Option<Account20>,
    refund_address: Option<Account20>,
    balance: Option<Wide>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct FlatResult {
    address: Option<Account20>,
    gas_used: Option<Quantity>,
}

impl<'de> Deserialize<'de> for RawFlatCalls {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let traces = Vec::<FlatTrace>::deserialize(deserializer)?;
        let mut transactions: Vec<TracedTransaction> = Vec::new();
        // Errors of the calls around the current one: those inside a failed call are not marked.
        let mut failed: HashMap<Vec<u32>, String> = HashMap::new();
        for trace in traces {
            let Some(Hash(hash)) = trace.transaction_hash else { continue };
            if transactions.last().is_none_or(|last| last.hash != Some(hash)) {
                transactions.push(TracedTransaction { hash: Some(hash), ..TracedTransaction::default() });
                failed.clear();
            }
            if trace.trace_address.len() > MAX_DEPTH {
                return Err(D::Error::custom("a call that is deeper than the EVM allows"));
            }
            let path = trace.trace_address.clone();
            // A call whose parties or coins are missing would be one of the zero address, or none at all.
            let mut call = read(trace).ok_or_else(|| D::Error::custom("a trace without its parties, value or kind"))?;
            let around = (0..path.len()).rev().find_map(|length| failed.get(path.get(..length)?));
            if let Some(error) = &call.error {
                failed.insert(path.clone(), error.clone());
            } else {
                call.error = around.cloned();
            }
            let Some(transaction) = transactions.last_mut() else { continue };
            if path.is_empty() {
                transaction.has_failed = call.error.is_some();
            } else {
                transaction.calls.extend(call.finish(path));
            }
        }
        Ok(Self(transactions))
    }
}

/// None if a call lacks its type, or if what moves coins lacks its parties or the amount.
fn read(trace: FlatTrace) -> Option<TracedCall> {
    let FlatTrace { kind, action, result, error, .. } = trace;
    let result = result.unwrap_or_default();
    let (kind, from, to, value) = match kind.as_str() {
        "call" if action.call_type.as_deref()? == "call" => {
            (Some(InternalKind::Call), action.from?, action.to, action.value?)
        }
        "create" => {
            let is_salted = action.creation_method.as_deref() == Some("create2");
            let kind = if is_salted { InternalKind::Create2 } else { InternalKind::Create };
            (Some(kind), action.from?, result.address, action.value?)
        }
        "suicide" | "selfdestruct" => {
            (Some(InternalKind::SelfDestruct), action.address?, action.refund_address, action.balance?)
        }
        // Whatever else there is moves no coins.
        _ => (None, action.from.unwrap_or(Account20(Address::ZERO)), action.to, Wide::default()),
    };
    Some(TracedCall {
        kind,
        from: from.0,
        to: to.map(|to| to.0),
        value: value.0,
        gas: action.gas.map_or(0, |gas| gas.0),
        // Failed calls have no result: see `InternalEvent::known_gas_used`.
        gas_used: result.gas_used.map_or(0, |gas| gas.0),
        error: error.map(|error| cut_error(&normalize_error(error))),
    })
}

/// An error as `callTracer` words it: "Reverted" has another name there, and no error is capitalised.
fn normalize_error(mut error: String) -> String {
    if error == "Reverted" {
        return "execution reverted".to_owned();
    }
    if let Some(first) = error.get_mut(..1) {
        first.make_ascii_lowercase();
    }
    error
}

#[cfg(test)]
mod tests {
    use alloy_primitives::{B256, U256};

    use super::*;
    use crate::decode::decode;

    #[test]
    fn a_trace_that_lacks_what_it_moved_is_unreadable() {
        let [a, b] = ["01", "02"].map(|byte| format!("0x{}", byte.repeat(20)));
        let call = format!(r#""callType":"call","from":"{a}","to":"{b}","value":"0x5","gas":"0x9""#);
        let create = format!(r#""from":"{a}","value":"0x5","gas":"0x9","init":"0x""#);
        let destroyed = format!(r#""address":"{a}","refundAddress":"{b}","balance":"0x5""#);
        let read = |kind: &str, action: &str| {
            let hash = B256::repeat_byte(7);
            let trace = format!(
                r#"{{"type":"{kind}","transactionHash":"{hash}","traceAddress":[0],"action":{{{action}}},"result":null}}"#
            );
            decode::<RawFlatCalls>(format!(r#"{{"id":1,"result":[{trace}]}}"#).as_bytes()).is_ok()
        };
        for (kind, action, fields) in [
            ("call", &call, &["callType", "from", "value"][..]),
            ("create", &create, &["from", "value"]),
            ("suicide", &destroyed, &["address", "balance"]),
        ] {
            assert!(read(kind, action), "{kind}");
            for field in fields {
                let without = action.replace(&format!("\"{field}\""), "\"other\"");
                assert!(!read(kind, &without), "{kind} without {field}");
            }
        }
        assert!(read("call", r#""callType":"staticcall""#), "moves nothing");
    }

    #[test]
    fn a_flat_trace_gives_calls_creations_and_self_destructs_with_inherited_errors() {
        let [a, b] = ["01", "02"].map(|byte| format!("0x{}", byte.repeat(20)));
        let hash = B256::repeat_byte(7);
        let trace = |path: &str, body: &str| {
            format!(r#"{{"transactionHash":"{hash}","traceAddress":{path},"subtraces":0,{body}}}"#)
        };
        let call = |value: &str, kind: &str, more: &str| {
            format!(
                r#""type":"call","action":{{"callType":"{kind}","from":"{a}","to":"{b}","value":"{value}","gas":"0x9","input":"0x"}},
                    "result":{{"gasUsed":"0x3","output":"0x"}}{more}"#
            )
        };
        let traces = [
            trace("[]", &call("0x1", "call", "")),
            trace("[0]", &call("0x5", "call", r#","error":"Reverted""#)),
            trace("[0,0]", &call("0x6", "call", "")),
            trace("[1]", &call("0x7", "delegatecall", "")),
            trace(
                "[2]",
                &format!(
                    r#""type":"create","action":{{"from":"{a}","init":"0x","value":"0x0","gas":"0x1"}},
                "result":{{"address":"{b}","code":"0x","gasUsed":"0x1"}}"#
                ),
            ),
            trace(
                "[3]",
                &format!(
                    r#""type":"suicide","action":{{"address":"{a}","refundAddress":"{b}","balance":"0x0"}},
                "result":null"#
                ),
            ),
        ];
        let reward = format!(
            r#"{{"type":"reward","action":{{"author":"{a}","value":"0x1","rewardType":"block"}},
            "result":null,"traceAddress":[],"transactionHash":null}}"#
        );
        let json = format!(r#"{{"jsonrpc":"2.0","id":1,"result":[{},{reward}]}}"#, traces.join(","));
        let RawFlatCalls(found) = decode(json.as_bytes()).unwrap().unwrap();
        assert_eq!(found.len(), 1);
        let seen: Vec<_> =
            found[0].calls.iter().map(|call| (call.kind, call.path.as_slice(), call.error.as_deref())).collect();
        assert_eq!(
            seen,
            [
                (InternalKind::Call, &[0][..], Some("execution reverted")),
                (InternalKind::Call, &[0, 0], Some("execution reverted")),
                (InternalKind::Create, &[2], None),
                (InternalKind::SelfDestruct, &[3], None),
            ]
        );
        let first = &found[0].calls[0];
        assert_eq!((first.gas, first.gas_used, first.value, found[0].has_failed), (9, 3, U256::from(5), false));
        let failed = trace("[]", &call("0x1", "call", r#","error":"Out of gas""#));
        let json = format!(r#"{{"jsonrpc":"2.0","id":1,"result":[{failed}]}}"#);
        let RawFlatCalls(found) = decode(json.as_bytes()).unwrap().unwrap();
        assert!(found[0].has_failed && found[0].calls.is_empty());

        let at_depth = |depth: usize| {
            let path = format!("[{}]", vec!["0"; depth].join(","));
            let json = format!(r#"{{"id":1,"result":[{}]}}"#, trace(&path, &call("0x1", "call", "")));
            decode::<RawFlatCalls>(json.as_bytes()).is_ok()
        };
        assert_eq!([at_depth(MAX_DEPTH), at_depth(MAX_DEPTH + 1)], [true, false]);
    }
}
