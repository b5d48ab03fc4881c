use alloy_primitives::{Address, U256};
use domain::InternalKind;
use serde::{Deserialize, Deserializer, de::Error};
use sonic_rs::{JsonValueTrait, LazyValue, to_array_iter, to_object_iter};

use super::{
    quantity::{Account20, Hash, Quantity, Wide},
    trace::{json, text},
};
use crate::traced::{InternalCall, TracedTransaction};

/// Longer errors are cut: contracts choose some of their text.
const MAX_ERROR_CHARACTERS: usize = 200;

/// The calls inside a transaction that move value, create a contract or destroy one, from `callTracer`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RawCalls(pub(crate) TracedTransaction);

/// The same for every transaction of a block.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RawBlockCalls(pub(crate) Vec<TracedTransaction>);

impl<'de> Deserialize<'de> for RawCalls {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let trace = LazyValue::deserialize(deserializer)?;
        read_calls(trace.as_raw_str()).map(Self).map_err(D::Error::custom)
    }
}

impl<'de> Deserialize<'de> for RawBlockCalls {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let traces = LazyValue::deserialize(deserializer)?;
        let read = to_array_iter(traces.as_raw_str()).map(|trace| read_transaction(&trace?));
        read.collect::<Result<_, _>>().map(Self).map_err(D::Error::custom)
    }
}

fn read_transaction(trace: &LazyValue<'_>) -> Result<TracedTransaction, sonic_rs::Error> {
    let (mut hash, mut traced) = (None, None);
    for field in to_object_iter(trace.as_raw_str()) {
        let (name, value) = field?;
        match name.as_ref() {
            "txHash" => hash = Some(text::<Hash>(&value)?.0),
            "result" if !value.is_null() => traced = Some(read_calls(json(&value)?)?),
            _ => {}
        }
    }
    let traced = traced.ok_or_else(|| sonic_rs::Error::custom("a transaction was not traced"))?;
    Ok(TracedTransaction { hash, ..traced })
}

/// A call that is still to be read.
struct Open<'a> {
    json: &'a str,
    path: Vec<u32>,
    /// The error of the innermost failed call around it.
    error: Option<String>,
}

/// Walks the call tree without recursion, since it may be as deep as the EVM allows.
fn read_calls(outermost: &str) -> Result<TracedTransaction, sonic_rs::Error> {
    let mut traced = TracedTransaction::default();
    let mut open = vec![Open { json: outermost, path: Vec::new(), error: None }];
    while let Some(next) = open.pop() {
        let (call, inner) = read_call(&next)?;
        for (index, json) in (0..).zip(inner).collect::<Vec<(u32, &str)>>().into_iter().rev() {
            let mut path = next.path.clone();
            path.push(index);
            open.push(Open { json, path, error: call.error.clone() });
        }
        // The outermost call is the transaction itself.
        if next.path.is_empty() {
            traced.has_failed = call.error.is_some();
        } else {
            traced.calls.extend(call.finish(next.path));
        }
    }
    Ok(traced)
}

/// A call of any kind.
#[derive(Default)]
pub(super) struct TracedCall {
    /// None for a kind that moves no value.
    pub(super) kind: Option<InternalKind>,
    pub(super) from: Address,
    pub(super) to: Option<Address>,
    pub(super) value: U256,
    pub(super) gas: u64,
    pub(super) gas_used: u64,
    pub(super) error: Option<String>,
}

impl TracedCall {
    /// None if it is no internal transaction.
    pub(super) fn finish(self, path: Vec<u32>) -> Option<InternalCall> {
        let Self { kind, from, to, value, gas, gas_used, error } = self;
        let kind = kind.filter(|kind| *kind != InternalKind::Call || !value.is_zero())?;
        let to = to.filter(|_| error.is_none() || !kind.is_creation());
        Some(InternalCall { kind, path, from, to, value, gas, gas_used, error })
    }
}

pub(super) fn cut_error(error: &str) -> String {
    error.chars().take(MAX_ERROR_CHARACTERS).collect()
}

/// The call, and the calls inside it as JSON.
fn read_call<'a>(open: &Open<'a>) -> Result<(TracedCall, Vec<&'a str>), sonic_rs::Error> {
    let mut call = TracedCall { error: open.error.clone(), ..TracedCall::default() };
    let (mut inner, mut has_type, mut has_sender, mut has_gas) = (Vec::new(), false, false, false);
    for field in to_object_iter(open.json) {
        let (name, value) = field?;
        if value.is_null() {
            continue;
        }
        match name.as_ref() {
            "type" => (call.kind, has_type) = (value.as_str().and_then(kind_of), value.is_str()),
            "from" => (call.from, has_sender) = (text::<Account20>(&value)?.0, true),
            "to" => call.to = Some(text::<Account20>(&value)?.0),
            // Tracers leave out a value of zero.
            "value" => call.value = text::<Wide>(&value)?.0,
            "gas" => call.gas = text::<Quantity>(&value)?.0,
            "gasUsed" => (call.gas_used, has_gas) = (text::<Quantity>(&value)?.0, true),
            // Whatever it is, the call failed.
            "error" => call.error = Some(cut_error(value.as_str().unwrap_or_default())),
            "calls" => {
                let calls = json(&value)?;
                inner = to_array_iter(calls).map(|call| json(&call?)).collect::<Result<_, _>>()?;
            }
            _ => {}
        }
    }
    // A call of an unknown kind would be left out, one of nobody would be of the zero address, and one without its gas used none.
    let needs_gas = call.kind.is_some_and(|kind| kind != InternalKind::SelfDestruct);
    if !has_type || (call.kind.is_some() && !has_sender) || (needs_gas && !has_gas) {
        return Err(sonic_rs::Error::custom("a call without its type, sender or gas"));
    }
    Ok((call, inner))
}

fn kind_of(name: &str) -> Option<InternalKind> {
    match name {
        "CALL" => Some(InternalKind::Call),
        "CREATE" => Some(InternalKind::Create),
        "CREATE2" => Some(InternalKind::Create2),
        "SELFDESTRUCT" => Some(InternalKind::SelfDestruct),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(byte: u8) -> String {
        format!("0x{}", format!("{byte:02x}").repeat(20))
    }

    #[test]
    fn calls_with_value_and_creations_are_found_with_their_paths() {
        let (a, b, c) = (address(1), address(2), address(3));
        let trace = format!(
            r#"{{"type":"CALL","from":"{a}","to":"{b}","value":"0x5","gas":"0x9","gasUsed":"0x8","input":"0x","calls":[
                {{"type":"STATICCALL","from":"{b}","to":"{c}","gas":"0x1","gasUsed":"0x1","input":"0x"}},
                {{"type":"CALL","from":"{b}","to":"{c}","value":"0x7","gas":"0x3","gasUsed":"0x2","input":"0xab","calls":[
                    {{"type":"CREATE2","from":"{c}","to":"{a}","value":"0x0","gas":"0x1","gasUsed":"0x1","input":"0x60"}}]}},
                {{"type":"CALL","from":"{b}","to":"{c}","value":"0x0","gas":"0x3","gasUsed":"0x2","input":"0x","error":"execution reverted","calls":[
                    {{"type":"CALL","from":"{c}","to":"{a}","value":"0x1","gas":"0x1","gasUsed":"0x1","input":"0x"}}]}}]}}"#
        );
        let TracedTransaction { calls, has_failed, .. } = read_calls(&trace).unwrap();
        assert!(!has_failed);
        let seen: Vec<_> = calls.iter().map(|call| (call.kind, call.path.as_slice(), call.error.as_deref())).collect();
        assert_eq!(
            seen,
            [
                (InternalKind::Call, &[1][..], None),
                (InternalKind::Create2, &[1, 0], None),
                (InternalKind::Call, &[2, 0], Some("execution reverted")),
            ]
        );
        assert_eq!((calls[0].value, calls[0].gas, calls[0].gas_used), (U256::from(7), 3, 2));
    }

    #[test]
    fn a_call_that_lacks_what_it_did_is_unreadable() {
        let (a, b) = (address(1), address(2));
        let inner = format!(r#"{{"type":"CALL","from":"{a}","to":"{b}","value":"0x7","gas":"0x3","gasUsed":"0x2"}}"#);
        let read = |inner: &str| {
            read_calls(&format!(
                r#"{{"type":"CALL","from":"{a}","to":"{b}","value":"0x0","gas":"0x9","gasUsed":"0x8","calls":[{inner}]}}"#
            ))
        };
        assert_eq!(read(&inner).unwrap().calls.len(), 1);
        for field in ["type", "from", "gasUsed"] {
            let without = inner.replace(&format!("\"{field}\""), "\"other\"");
            assert!(read(&without).is_err(), "{field}");
        }
    }

    #[test]
    fn a_transaction_that_failed_is_known_by_its_outermost_call() {
        let (a, b) = (address(1), address(2));
        let trace = format!(
            r#"{{"type":"CALL","from":"{a}","to":"{b}","value":"0x5","gas":"0x9","gasUsed":"0x9","input":"0x","error":"out of gas",
                "calls":[{{"type":"CALL","from":"{b}","to":"{a}","value":"0x1","gas":"0x1","gasUsed":"0x1","input":"0x"}}]}}"#
        );
        let TracedTransaction { calls, has_failed, .. } = read_calls(&trace).unwrap();
        assert!(has_failed);
        assert_eq!(calls[0].error.as_deref(), Some("out of gas"));
    }
}
