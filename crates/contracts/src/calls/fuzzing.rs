use alloy_dyn_abi::DynSolValue;
use alloy_json_abi::Param;
use alloy_primitives::{B256, keccak256};
use serde_json::{Value, value::RawValue};

use super::{CallError, argument::read_all};
use crate::{
    Interface,
    abi::{AbiJson, decode_all, fuzzing::typed},
    decode::Decoder,
    revert_reason,
};

/// Types, and behind a line break a JSON list of arguments. What is taken comes back from its encoding and from the JSON
/// that a call would answer with.
pub fn abi_arguments(data: &[u8]) {
    let Some((params, json)) = typed(data) else { return };
    let Ok(given) = serde_json::from_slice::<Vec<&RawValue>>(json) else { return };
    let values = match read_all(&params, &given) {
        Ok(values) => values,
        Err(CallError::Argument { path, rule }) => {
            assert!(path.starts_with("args[") && path.len() + rule.len() <= 1_024, "{path} {rule}");
            return;
        }
        // A type that there is not.
        Err(CallError::Interface(_)) => return,
        Err(other) => panic!("{other}"),
    };
    if values.len() != params.len() {
        return;
    }
    let encoded = DynSolValue::Tuple(values.clone()).abi_encode_params();
    assert_eq!(decode_all(&params, &encoded).as_ref(), Some(&values), "what was encoded is decoded");
    let shown: Vec<Value> = values.iter().zip(&params).map(|(value, param)| shown(value, param)).collect();
    let shown: Vec<Box<RawValue>> =
        shown.iter().map(|value| serde_json::value::to_raw_value(value).expect("JSON")).collect();
    let again: Vec<&RawValue> = shown.iter().map(|value| &**value).collect();
    assert_eq!(read_all(&params, &again).expect("what is shown is read"), values);
}

/// As a call answers, but structs as lists: their members may have no names.
fn shown(value: &DynSolValue, param: &Param) -> Value {
    fn without_names(json: AbiJson) -> Value {
        match json {
            AbiJson::Null => Value::Null,
            AbiJson::Bool(value) => Value::Bool(value),
            AbiJson::Text(text) => Value::String(text),
            AbiJson::List(items) => items.into_iter().map(without_names).collect(),
            AbiJson::Object(members) => members.into_iter().map(|(_, value)| without_names(value)).collect(),
            AbiJson::Outputs(outputs) => outputs.into_iter().map(|(_, value)| without_names(value)).collect(),
        }
    }
    without_names(AbiJson::of(value, &param.components))
}

/// The interface of a contract as JSON and, behind a record separator, what was sent to it or logged by it.
pub fn abi_interface(data: &[u8]) {
    let mut parts = data.splitn(2, |byte| *byte == 0x1e);
    let (abi, data) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let Ok(abi) = std::str::from_utf8(abi) else { return };
    let interface = Interface::read(abi);
    let entries = interface.functions.len() + interface.events.len() + interface.errors.len();
    assert!(entries <= abi.len() / 2, "more entries than there is room for");
    for error in interface.errors.iter().take(4) {
        reason(&[error.selector().as_slice(), data].concat(), &interface);
    }
    reason(data, &interface);
    let (functions, events) = (interface.functions.clone(), interface.events.clone());
    let decoder = Decoder::new(interface);
    for function in functions.iter().take(8) {
        let selector = function.selector();
        assert!(decoder.function_name(selector.0).is_some());
        if let Some(call) = decoder.call(&[selector.as_slice(), data].concat()) {
            assert!(call.signature.starts_with(&call.name));
            assert_eq!(keccak256(&call.signature)[..4], selector[..]);
        }
    }
    let _ = decoder.call(data);
    let _ = decoder.creation(data);
    let topics: Vec<B256> = data.chunks_exact(32).take(3).map(B256::from_slice).collect();
    for event in events.iter().filter(|event| !event.anonymous).take(8) {
        let indexed = event.inputs.iter().filter(|input| input.indexed).count().min(topics.len());
        let topics: Vec<B256> = [event.selector()].into_iter().chain(topics.iter().take(indexed).copied()).collect();
        if let Some(log) = decoder.log(&topics, &data[indexed * 32..]) {
            assert_eq!(keccak256(&log.signature), topics[0]);
        }
    }
}

fn reason(data: &[u8], interface: &Interface) {
    let told = revert_reason(Some(data), "the node's words", [&Decoder::new(interface.clone())]);
    assert!(told.chars().count() <= 500 && !told.contains(char::is_control), "{told}");
}
