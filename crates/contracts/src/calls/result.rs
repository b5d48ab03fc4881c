//! From what a function returns to JSON. Integers are strings, whatever their size.

use alloy_dyn_abi::DynSolValue;
use alloy_json_abi::Param;
use alloy_primitives::hex;
use serde_json::{Map, Value};

/// One unnamed value stands for itself; several, or named ones, are members of an object.
pub(super) fn write(params: &[Param], values: &[DynSolValue]) -> Value {
    match (params, values) {
        ([], _) => Value::Null,
        ([param], [value]) if param.name.is_empty() => one(value, &param.components),
        _ => members(params, values),
    }
}

fn members(params: &[Param], values: &[DynSolValue]) -> Value {
    let mut object = Map::new();
    for (index, value) in values.iter().enumerate() {
        let param = params.get(index);
        let name = param.map(|param| param.name.as_str()).filter(|name| !name.is_empty());
        // A name that stands twice would hide the first of them.
        let name = name.filter(|name| !object.contains_key(*name)).map_or_else(|| index.to_string(), str::to_owned);
        let components = param.map(|param| &param.components[..]).unwrap_or_default();
        object.insert(name, one(value, components));
    }
    Value::Object(object)
}

/// A value as JSON; structs in it have these members.
pub(crate) fn one(value: &DynSolValue, components: &[Param]) -> Value {
    match value {
        DynSolValue::Bool(value) => Value::Bool(*value),
        DynSolValue::Int(number, _) => Value::String(number.to_string()),
        DynSolValue::Uint(number, _) => Value::String(number.to_string()),
        DynSolValue::FixedBytes(word, length) => Value::String(hex::encode_prefixed(&word[..*length])),
        DynSolValue::Address(address) => Value::String(format!("{address:#x}")),
        DynSolValue::Function(function) => Value::String(hex::encode_prefixed(function)),
        DynSolValue::Bytes(bytes) => Value::String(hex::encode_prefixed(bytes)),
        DynSolValue::String(text) => Value::String(text.clone()),
        DynSolValue::Array(items) | DynSolValue::FixedArray(items) => {
            items.iter().map(|item| one(item, components)).collect()
        }
        DynSolValue::Tuple(values) => members(components, values),
    }
}

#[cfg(test)]
mod tests {
    use alloy_dyn_abi::{FunctionExt, JsonAbiExt};
    use alloy_json_abi::Function;
    use serde_json::{json, value::RawValue};

    use super::*;
    use crate::calls::argument::read_all;

    /// A function that takes what it returns.
    fn echo(params: Value) -> Function {
        let function = json!({ "type": "function", "name": "echo", "stateMutability": "pure", "inputs": params, "outputs": params });
        serde_json::from_value(function).unwrap()
    }

    fn there_and_back(params: Value, arguments: &str) -> Result<Value, String> {
        let function = echo(params);
        let given: Vec<&RawValue> = serde_json::from_str(arguments).unwrap();
        let values = read_all(&function.inputs, &given).map_err(|error| error.to_string())?;
        let encoded = function.abi_encode_input_raw(&values).unwrap();
        Ok(write(&function.outputs, &function.abi_decode_output(&encoded).unwrap()))
    }

    fn single(kind: &str, argument: &str) -> Result<Value, String> {
        there_and_back(json!([{ "name": "", "type": kind }]), &format!("[{argument}]"))
    }

    #[test]
    fn every_type_comes_back_as_it_went_in() {
        let max = "115792089237316195423570985008687907853269984665640564039457584007913129639935";
        for (kind, argument, expected) in [
            ("uint256", max.to_owned(), json!(max)),
            ("uint256", format!("\"{max}\""), json!(max)),
            ("uint8", "255".to_owned(), json!("255")),
            ("uint8", "\"0xff\"".to_owned(), json!("255")),
            ("int8", "-128".to_owned(), json!("-128")),
            ("int256", "\"-5\"".to_owned(), json!("-5")),
            ("bool", "true".to_owned(), json!(true)),
            (
                "address",
                "\"0xD8DA6BF26964aF9D7eEd9e03E53415D37aA96045\"".to_owned(),
                json!("0xd8da6bf26964af9d7eed9e03e53415d37aa96045"),
            ),
            ("bytes", "\"0x\"".to_owned(), json!("0x")),
            ("bytes", "\"0x0102\"".to_owned(), json!("0x0102")),
            ("bytes3", "\"0x010203\"".to_owned(), json!("0x010203")),
            ("bytes32", format!("\"0x{}\"", "ab".repeat(32)), json!(format!("0x{}", "ab".repeat(32)))),
            ("function", format!("\"0x{}\"", "cd".repeat(24)), json!(format!("0x{}", "cd".repeat(24)))),
            ("string", "\"h\\u00e9 \\\"\"".to_owned(), json!("h\u{e9} \"")),
            ("uint256[]", "[1,\"2\",\"0x3\"]".to_owned(), json!(["1", "2", "3"])),
            ("uint8[2][]", "[[1,2],[3,4]]".to_owned(), json!([["1", "2"], ["3", "4"]])),
            ("string[2]", "[\"a\",\"\"]".to_owned(), json!(["a", ""])),
            ("uint256[]", "[]".to_owned(), json!([])),
        ] {
            assert_eq!(single(kind, &argument), Ok(expected), "{kind} {argument}");
        }
    }

    #[test]
    fn structs_are_objects_also_within_arrays_and_structs() {
        let point = json!([{ "name": "x", "type": "int128" }, { "name": "tags", "type": "string[]" }]);
        let outer = json!([{ "name": "", "type": "tuple[2]", "components": [
            { "name": "point", "type": "tuple", "components": point }, { "name": "on", "type": "bool" }] }]);
        let as_objects = r#"[[{"point":{"x":-1,"tags":["a"]},"on":true},{"on":false,"point":[7,[]]}]]"#;
        let expected = json!([
            { "point": { "x": "-1", "tags": ["a"] }, "on": true },
            { "point": { "x": "7", "tags": [] }, "on": false },
        ]);
        assert_eq!(there_and_back(outer.clone(), as_objects), Ok(expected));
        for (wrong, told) in [
            (
                r#"[[{"point":{"x":-1},"on":true},{"on":false,"point":[7,[]]}]]"#,
                "args[0][0].point must have the member tags",
            ),
            (
                r#"[[{"point":{"x":1,"tags":[],"z":1},"on":true},[[7,[]],true]]]"#,
                "args[0][0].point has no member z; it has x, tags",
            ),
            (r#"[[{"point":{"x":"a","tags":[]},"on":true},[[7,[]],true]]]"#, "args[0][0].point.x must be"),
            (r#"[[[[7,[]],true]]]"#, "args[0] must be a list of 2"),
            (r#"[[[[7,[]],true],5]]"#, "args[0][1] must be an object"),
        ] {
            let error = there_and_back(outer.clone(), wrong).unwrap_err();
            assert!(error.starts_with(told), "{error}");
        }
    }

    #[test]
    fn what_does_not_fit_its_type_is_refused() {
        for (kind, argument) in [
            ("uint8", "256"),
            ("uint8", "-1"),
            ("uint8", "1.0"),
            ("uint8", "1e1"),
            ("uint8", "\"\""),
            ("uint8", "null"),
            ("uint8", "[1]"),
            ("int8", "128"),
            ("int8", "-129"),
            ("bool", "1"),
            ("bool", "\"yes\""),
            ("address", "\"0x12\""),
            ("address", "5"),
            ("bytes", "\"0x1\""),
            ("bytes", "\"12\""),
            ("bytes", "[1]"),
            ("bytes3", "\"0x0102\""),
            ("bytes3", "\"0x01020304\""),
            ("string", "5"),
            ("uint8[]", "{}"),
            ("uint8[2]", "[1]"),
            ("function", "\"0x01\""),
        ] {
            let error = single(kind, argument).unwrap_err();
            assert!(error.starts_with("args[0]"), "{kind} {argument}: {error}");
        }
    }

    #[test]
    fn several_or_named_outputs_are_an_object() {
        let write_as = |params: Value, arguments: &str| there_and_back(params, arguments).unwrap();
        let uint = |name: &str| json!({ "name": name, "type": "uint8" });
        assert_eq!(write_as(json!([uint("a")]), "[1]"), json!({ "a": "1" }));
        assert_eq!(write_as(json!([uint(""), uint("b")]), "[1,2]"), json!({ "0": "1", "b": "2" }));
        assert_eq!(write_as(json!([uint("a"), uint("a")]), "[1,2]"), json!({ "a": "1", "1": "2" }));
        assert_eq!(write_as(json!([]), "[]"), Value::Null);
    }
}
