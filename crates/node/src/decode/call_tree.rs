use serde::{Deserialize, Deserializer, de::Error};
use sonic_rs::{JsonValueTrait, LazyValue, to_array_iter, to_object_iter};

use super::{
    internal::cut_error,
    quantity::{Account20, Quantity, Wide},
    trace::{json, text},
};
use crate::traced::{CallTree, TracedFrame};

/// Calls that are kept; the rest is counted.
const MAX_FRAMES: usize = 500;
/// Names of kinds are a few letters.
const MAX_KIND_CHARACTERS: usize = 16;

/// All calls of a transaction, from `callTracer`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RawCallTree(pub(crate) CallTree);

impl<'de> Deserialize<'de> for RawCallTree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let trace = LazyValue::deserialize(deserializer)?;
        read_tree(trace.as_raw_str()).map(Self).map_err(D::Error::custom)
    }
}

/// Walks the tree without recursion, since it may be as deep as the EVM allows.
fn read_tree(outermost: &str) -> Result<CallTree, sonic_rs::Error> {
    let mut tree = CallTree::default();
    let mut open = vec![(outermost, 0)];
    while let Some((call, depth)) = open.pop() {
        let (frame, inner) = read_frame(call, depth)?;
        open.extend(inner.into_iter().rev().map(|call| (call, depth + 1)));
        if tree.frames.len() < MAX_FRAMES {
            tree.frames.push(frame);
        } else {
            tree.left_out += 1;
        }
    }
    Ok(tree)
}

/// A call, and those inside it as JSON.
fn read_frame(call: &str, depth: u32) -> Result<(TracedFrame, Vec<&str>), sonic_rs::Error> {
    let mut frame = TracedFrame { depth, ..TracedFrame::default() };
    let (mut inner, mut has_sender, mut has_gas) = (Vec::new(), false, false);
    for field in to_object_iter(call) {
        let (name, value) = field?;
        if value.is_null() {
            continue;
        }
        match name.as_ref() {
            "type" => frame.kind = value.as_str().unwrap_or_default().chars().take(MAX_KIND_CHARACTERS).collect(),
            "from" => (frame.from, has_sender) = (text::<Account20>(&value)?.0, true),
            "to" => frame.to = Some(text::<Account20>(&value)?.0),
            "value" => frame.value = text::<Wide>(&value)?.0,
            "gasUsed" => (frame.gas_used, has_gas) = (text::<Quantity>(&value)?.0, true),
            "input" => frame.selector = selector(value.as_str().unwrap_or_default()),
            "error" => frame.error = Some(cut_error(value.as_str().unwrap_or_default())),
            "calls" => inner = to_array_iter(json(&value)?).map(|call| json(&call?)).collect::<Result<_, _>>()?,
            _ => {}
        }
    }
    if frame.kind.is_empty() || !has_sender || !has_gas {
        return Err(sonic_rs::Error::custom("a call without its type, sender or gas"));
    }
    Ok((frame, inner))
}

/// The first four bytes of an input in hexadecimal.
fn selector(input: &str) -> Option<[u8; 4]> {
    let digits = input.strip_prefix("0x")?.get(..8)?;
    u32::from_str_radix(digits, 16).ok().map(u32::to_be_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(kind: &str, fields: &str) -> String {
        let (from, to) = ("0x".to_owned() + &"11".repeat(20), "0x".to_owned() + &"22".repeat(20));
        format!(r#"{{"type":"{kind}","from":"{from}","to":"{to}","gasUsed":"0x5","input":"0xa9059cbb00"{fields}}}"#)
    }

    #[test]
    fn calls_are_listed_in_the_order_of_execution_with_their_depth() {
        let inside = call("DELEGATECALL", "");
        let first = call("CALL", &format!(r#","value":"0x7","calls":[{inside}]"#));
        let second = call("STATICCALL", r#","error":"execution reverted""#);
        let tree = read_tree(&call("CALL", &format!(r#","calls":[{first},{second}]"#))).unwrap();
        let seen: Vec<(&str, u32)> = tree.frames.iter().map(|frame| (frame.kind.as_str(), frame.depth)).collect();
        assert_eq!(seen, [("CALL", 0), ("CALL", 1), ("DELEGATECALL", 2), ("STATICCALL", 1)]);
        let failed = tree.frames.last().unwrap();
        assert_eq!(
            (failed.error.as_deref(), failed.selector),
            (Some("execution reverted"), Some([0xa9, 5, 0x9c, 0xbb]))
        );
        assert_eq!((tree.frames[1].value, tree.left_out), (domain::U256::from(7), 0));
    }

    #[test]
    fn a_call_that_lacks_what_it_did_is_unreadable() {
        let inside = call("CALL", "");
        let read = |inside: &str| read_tree(&call("CALL", &format!(r#","calls":[{inside}]"#))).is_ok();
        assert!(read(&inside));
        for field in ["type", "from", "gasUsed"] {
            assert!(!read(&inside.replace(&format!("\"{field}\""), "\"other\"")), "{field}");
        }
    }

    #[test]
    fn what_is_too_much_is_counted() {
        let calls = vec![call("CALL", ""); MAX_FRAMES + 9].join(",");
        let tree = read_tree(&call("CALL", &format!(r#","calls":[{calls}]"#))).unwrap();
        assert_eq!((tree.frames.len(), tree.left_out), (MAX_FRAMES, 10));
    }
}
