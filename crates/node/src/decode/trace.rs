use std::borrow::Cow;

use alloy_primitives::{Address, B256};
use serde::{
    Deserialize, Deserializer,
    de::{Error, IntoDeserializer},
};
use sonic_rs::{JsonValueTrait, LazyValue, to_array_iter, to_object_iter};

use super::quantity::{Account20, Hash};

/// What `callTracer` tells of a block, as far as it is about contracts that were made inside calls.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RawBlockTrace(pub(crate) Vec<RawTrace>);

/// One transaction.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RawTrace {
    /// Not every node names it.
    pub(crate) tx_hash: Option<B256>,
    /// In the order of their making; None where the node could not trace the transaction.
    pub(crate) made: Option<Vec<Made>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Made {
    pub(crate) creator: Address,
    pub(crate) created: Address,
}

impl<'de> Deserialize<'de> for RawBlockTrace {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = LazyValue::deserialize(deserializer)?;
        let traces = to_array_iter(text.as_raw_str()).map(|trace| read_trace(&trace?)).collect::<Result<_, _>>();
        traces.map(Self).map_err(D::Error::custom)
    }
}

fn read_trace(trace: &LazyValue<'_>) -> Result<RawTrace, sonic_rs::Error> {
    let mut read = RawTrace { tx_hash: None, made: None };
    for field in to_object_iter(trace.as_raw_str()) {
        let (name, value) = field?;
        match name.as_ref() {
            "txHash" => read.tx_hash = Some(text::<Hash>(&value)?.0),
            "result" if !value.is_null() => read.made = Some(read_calls(json(&value)?)?),
            _ => {}
        }
    }
    Ok(read)
}

/// Walks the tree of calls without recursion: it may be as deep as the EVM allows.
fn read_calls(outermost: &str) -> Result<Vec<Made>, sonic_rs::Error> {
    let mut made = Vec::new();
    // What the transaction itself makes stands in its receipt.
    let mut open = Call::read(outermost)?.inner()?;
    while let Some(call) = open.pop() {
        let call = Call::read(call)?;
        made.extend(call.made());
        open.extend(call.inner()?);
    }
    Ok(made)
}

#[derive(Default)]
struct Call<'a> {
    kind: Option<String>,
    from: Option<Address>,
    to: Option<Address>,
    failed: bool,
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
                "from" => read.from = Some(text::<Account20>(&value)?.0),
                // Of a creation that failed it may be null.
                "to" if !value.is_null() => read.to = Some(text::<Account20>(&value)?.0),
                "error" => read.failed = !value.is_null(),
                "calls" if !value.is_null() => read.calls = Some(json(&value)?),
                _ => {}
            }
        }
        Ok(read)
    }

    fn made(&self) -> Option<Made> {
        let creates = self.kind.as_deref().is_some_and(|kind| matches!(kind, "CREATE" | "CREATE2"));
        (creates && !self.failed).then_some(Made { creator: self.from?, created: self.to? })
    }

    /// The last one first, so that they come off a stack in their order. Whatever a failed call did inside is undone.
    fn inner(&self) -> Result<Vec<&'a str>, sonic_rs::Error> {
        let Some(calls) = self.calls.filter(|_| !self.failed) else { return Ok(Vec::new()) };
        let mut inner: Vec<&str> = to_array_iter(calls).map(|call| json(&call?)).collect::<Result<_, _>>()?;
        inner.reverse();
        Ok(inner)
    }
}

fn json<'a>(value: &LazyValue<'a>) -> Result<&'a str, sonic_rs::Error> {
    match value.as_raw_cow() {
        Cow::Borrowed(json) => Ok(json),
        Cow::Owned(_) => Err(sonic_rs::Error::custom("a part that is not of the whole")),
    }
}

fn text<'a, T: Deserialize<'a>>(value: &'a LazyValue<'_>) -> Result<T, sonic_rs::Error> {
    let text = value.as_str().ok_or_else(|| sonic_rs::Error::custom("no text"))?;
    T::deserialize(text.into_deserializer())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::decode;

    const ONE: &str = "0x0101010101010101010101010101010101010101";
    const TWO: &str = "0x0202020202020202020202020202020202020202";

    fn read(result: &str) -> RawBlockTrace {
        decode(format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#).as_bytes()).unwrap().unwrap()
    }

    fn call(kind: &str, more: &str) -> String {
        format!(r#"{{"type":"{kind}","from":"{ONE}","to":"{TWO}","input":"0xab","logs":[{{"calls":[]}}]{more}}}"#)
    }

    fn inside(calls: &[String]) -> String {
        format!(r#","calls":[{}]"#, calls.join(","))
    }

    const MADE: Made = Made { creator: Address::repeat_byte(1), created: Address::repeat_byte(2) };

    #[test]
    fn what_is_made_inside_calls_is_found_at_any_depth_and_what_failed_is_not() {
        let failed = |kind: &str, more: &str| call(kind, &format!(r#","error":"execution reverted"{more}"#));
        let calls = [
            call("CREATE", ""),
            failed("CREATE2", ""),
            failed("CALL", &inside(&[call("CREATE", "")])),
            call("DELEGATECALL", &inside(&[call("CREATE2", &inside(&[call("CREATE", "")])), call("STATICCALL", "")])),
        ];
        let hash = B256::repeat_byte(9);
        let block = read(&format!(r#"[{{"txHash":"{hash}","result":{}}}]"#, call("CALL", &inside(&calls))));
        assert_eq!(block.0, [RawTrace { tx_hash: Some(hash), made: Some(vec![MADE; 3]) }]);
    }

    #[test]
    fn what_the_transaction_itself_makes_is_left_to_its_receipt() {
        let outermost = call("CREATE", &inside(&[call("CREATE", "")]));
        assert_eq!(read(&format!(r#"[{{"result":{outermost}}}]"#)).0[0].made, Some(vec![MADE]));
        let failed = call("CREATE", &format!(r#","error":"out of gas"{}"#, inside(&[call("CREATE", "")])));
        assert_eq!(read(&format!(r#"[{{"result":{failed}}}]"#)).0[0].made, Some(vec![]));
    }

    #[test]
    fn a_transaction_that_could_not_be_traced_is_told_from_one_that_made_nothing() {
        let block = read(r#"[{"error":"execution timeout"},{"result":null}]"#);
        assert!(block.0.iter().all(|trace| trace.made.is_none()));
        assert_eq!(read("[]").0, []);
    }

    #[test]
    fn calls_as_deep_as_they_can_be_are_walked() {
        let deepest = (0..1_024).fold(call("CREATE", ""), |inner, _| call("CALL", &inside(&[inner])));
        assert_eq!(read(&format!(r#"[{{"result":{deepest}}}]"#)).0[0].made, Some(vec![MADE]));
    }

    #[test]
    fn what_is_no_trace_is_an_error() {
        for wrong in [r#"{}"#, r#"[1]"#, r#"[{"result":[]}]"#, r#"[{"txHash":7}]"#, r#"[{"result":{"from":"0x"}}]"#] {
            let answer = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{wrong}}}"#);
            assert!(decode::<RawBlockTrace>(answer.as_bytes()).is_err(), "{wrong}");
        }
    }
}
