use std::{borrow::Cow, collections::HashSet};

use alloy_primitives::{Address, Bytes};
use serde::{
    Deserialize, Deserializer,
    de::{Error, IntoDeserializer},
};
use sonic_rs::{JsonValueTrait, LazyValue, to_array_iter, to_object_iter};

use super::quantity::{Account20, HexBytes, Present};

/// Walks the call tree without recursion, since it may be as deep as the EVM allows. Reverted calls are skipped.
fn walk_calls<'a>(
    outermost: &'a str,
    mut visit: impl FnMut(&Call<'a>) -> Result<(), sonic_rs::Error>,
) -> Result<(), sonic_rs::Error> {
    // The contract created by the transaction itself is in its receipt.
    let mut open = Call::read(outermost)?.inner()?;
    while let Some(call) = open.pop() {
        let call = Call::read(call)?;
        visit(&call)?;
        open.extend(call.inner()?);
    }
    Ok(())
}

/// Contracts created inside one transaction and not reverted, with their init codes, from `callTracer`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RawCallCreations(pub(crate) Vec<(Address, Bytes)>);

impl<'de> Deserialize<'de> for RawCallCreations {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let trace = LazyValue::deserialize(deserializer)?;
        let mut made = Vec::new();
        let walked = walk_calls(trace.as_raw_str(), |call| {
            if let Some(created) = call.created() {
                let init =
                    call.input.as_ref().ok_or_else(|| sonic_rs::Error::custom("a creation without init code"))?;
                made.push((created, text::<HexBytes>(init)?.0));
            }
            Ok(())
        });
        walked.map(|()| Self(made)).map_err(D::Error::custom)
    }
}

/// The same from `trace_transaction`: a flat list in which each trace has its path.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RawFlatCreations(pub(crate) Vec<(Address, Bytes)>);

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct FlatTrace {
    #[serde(rename = "type")]
    kind: String,
    action: FlatAction,
    result: Option<FlatResult>,
    error: Option<Present>,
    trace_address: Vec<u32>,
}

#[derive(Debug, Deserialize)]
struct FlatAction {
    init: Option<HexBytes>,
}

#[derive(Debug, Deserialize)]
struct FlatResult {
    address: Option<Account20>,
}

impl<'de> Deserialize<'de> for RawFlatCreations {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let traces = Vec::<FlatTrace>::deserialize(deserializer)?;
        // Everything inside a failed call is reverted, but only the failed call itself is marked.
        let failed: HashSet<&[u32]> =
            traces.iter().filter(|trace| trace.error.is_some()).map(|trace| &trace.trace_address[..]).collect();
        let stands =
            |path: &[u32]| (0..=path.len()).filter_map(|length| path.get(..length)).all(|call| !failed.contains(call));
        let mut made = Vec::new();
        for trace in &traces {
            let inside = trace.kind == "create" && !trace.trace_address.is_empty();
            let created = trace.result.as_ref().and_then(|result| result.address);
            if let (true, Some(created), Some(init)) = (inside, created, &trace.action.init)
                && stands(&trace.trace_address)
            {
                made.push((created.0, init.0.clone()));
            }
        }
        Ok(Self(made))
    }
}

#[derive(Default)]
struct Call<'a> {
    kind: Option<String>,
    to: Option<Address>,
    failed: bool,
    /// Of a creation, the init code.
    input: Option<LazyValue<'a>>,
    /// As JSON text.
    calls: Option<&'a str>,
}

impl<'a> Call<'a> {
    fn read(call: &'a str) -> Result<Self, sonic_rs::Error> {
        let mut read = Self::default();
        for field in to_object_iter(call) {
            let (name, value) = field?;
            match name.as_ref() {
                "type" => read.kind = value.as_str().map(str::to_owned),
                // May be null for a failed creation.
                "to" if !value.is_null() => read.to = Some(text::<Account20>(&value)?.0),
                "input" => read.input = Some(value),
                "error" => read.failed = !value.is_null(),
                "calls" if !value.is_null() => read.calls = Some(json(&value)?),
                _ => {}
            }
        }
        Ok(read)
    }

    fn created(&self) -> Option<Address> {
        let creates = self.kind.as_deref().is_some_and(|kind| matches!(kind, "CREATE" | "CREATE2"));
        self.to.filter(|_| creates && !self.failed)
    }

    /// In reverse, so that they are popped off a stack in order. Everything inside a failed call is reverted.
    fn inner(&self) -> Result<Vec<&'a str>, sonic_rs::Error> {
        let Some(calls) = self.calls.filter(|_| !self.failed) else { return Ok(Vec::new()) };
        let mut inner: Vec<&str> = to_array_iter(calls).map(|call| json(&call?)).collect::<Result<_, _>>()?;
        inner.reverse();
        Ok(inner)
    }
}

pub(super) fn json<'a>(value: &LazyValue<'a>) -> Result<&'a str, sonic_rs::Error> {
    match value.as_raw_cow() {
        Cow::Borrowed(json) => Ok(json),
        Cow::Owned(_) => Err(sonic_rs::Error::custom("unexpected owned JSON")),
    }
}

pub(super) fn text<'a, T: Deserialize<'a>>(value: &'a LazyValue<'_>) -> Result<T, sonic_rs::Error> {
    let text = value.as_str().ok_or_else(|| sonic_rs::Error::custom("expected a string"))?;
    T::deserialize(text.into_deserializer())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::decode;

    const ONE: &str = "0x0101010101010101010101010101010101010101";
    const TWO: &str = "0x0202020202020202020202020202020202020202";

    fn call(kind: &str, more: &str) -> String {
        format!(r#"{{"type":"{kind}","from":"{ONE}","to":"{TWO}","input":"0xab","logs":[{{"calls":[]}}]{more}}}"#)
    }

    fn inside(calls: &[String]) -> String {
        format!(r#","calls":[{}]"#, calls.join(","))
    }

    fn made_by<T: serde::de::DeserializeOwned>(result: &str) -> Option<T> {
        decode(format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#).as_bytes()).unwrap()
    }

    #[test]
    fn the_init_code_of_each_successful_creation_is_returned() {
        let create = |to: &str, init: &str, more: &str| {
            format!(r#"{{"type":"CREATE2","from":"{ONE}","to":"{to}","input":"{init}"{more}}}"#)
        };
        let failed = r#","error":"execution reverted""#;
        let calls = [
            create(ONE, "0x01", failed),
            call("CALL", &format!("{failed}{}", inside(&[create(ONE, "0x02", "")]))),
            create(ONE, "0x03", &inside(&[create(TWO, "0x04", "")])),
        ];
        let outermost = format!(r#"{{"type":"CREATE","from":"{ONE}","to":"{TWO}","input":"0x05"{}}}"#, inside(&calls));
        let made: RawCallCreations = made_by(&outermost).unwrap();
        let [one, two] = [Address::repeat_byte(1), Address::repeat_byte(2)];
        assert_eq!(made.0, [(one, Bytes::from_static(&[3])), (two, Bytes::from_static(&[4]))]);
    }

    #[test]
    fn a_flat_trace_gives_the_same_creations() {
        let create = |path: &str, to: &str, init: &str, more: &str| {
            format!(
                r#"{{"type":"create","action":{{"from":"{ONE}","init":"{init}","value":"0x0"}},
                    "result":{{"address":"{to}","code":"0x00"}},"traceAddress":{path}{more}}}"#
            )
        };
        let call = |path: &str, more: &str| {
            format!(
                r#"{{"type":"call","action":{{"callType":"call","input":"0x"}},"result":null,"traceAddress":{path}{more}}}"#
            )
        };
        let failed = r#","error":"Reverted""#;
        let traces = [
            create("[]", TWO, "0x05", ""),
            format!(r#"{{"type":"create","action":{{"init":"0x01"}},"result":null,"traceAddress":[0]{failed}}}"#),
            call("[1]", failed),
            create("[1,0]", ONE, "0x02", ""),
            create("[2]", ONE, "0x03", ""),
            create("[2,0]", TWO, "0x04", ""),
        ];
        let made: RawFlatCreations = made_by(&format!("[{}]", traces.join(","))).unwrap();
        let [one, two] = [Address::repeat_byte(1), Address::repeat_byte(2)];
        assert_eq!(made.0, [(one, Bytes::from_static(&[3])), (two, Bytes::from_static(&[4]))]);
    }

    #[test]
    fn the_deepest_call_tree_is_walked() {
        let deepest = (0..1_024).fold(call("CREATE", ""), |inner, _| call("CALL", &inside(&[inner])));
        let made: RawCallCreations = made_by(&deepest).unwrap();
        assert_eq!(made.0, [(Address::repeat_byte(2), Bytes::from_static(&[0xab]))]);
    }

    #[test]
    fn an_invalid_trace_is_an_error() {
        for wrong in ["[]", "1", r#"{"calls":1}"#, r#"{"calls":[{"type":"CREATE","to":"0x"}]}"#] {
            let response = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{wrong}}}"#);
            assert!(decode::<RawCallCreations>(response.as_bytes()).is_err(), "{wrong}");
        }
    }
}
