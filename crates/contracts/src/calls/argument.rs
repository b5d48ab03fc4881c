//! Converts JSON arguments to ABI values.

use std::collections::BTreeMap;

use alloy_dyn_abi::{DynSolType, DynSolValue, Specifier};
use alloy_json_abi::Param;
use alloy_primitives::{Address, FixedBytes, Function, hex};
use serde_json::value::RawValue;

use super::{
    CallError,
    number::{fits_signed, fits_unsigned, read_signed, read_unsigned},
};

pub(super) fn read_all(params: &[Param], given: &[&RawValue]) -> Result<Vec<DynSolValue>, CallError> {
    params
        .iter()
        .zip(given)
        .enumerate()
        .map(|(index, (param, value))| {
            let kind = param.resolve().map_err(|error| CallError::Interface(error.to_string()))?;
            Reader { components: &param.components }.read(&kind, value, &format!("args[{index}]"))
        })
        .collect()
}

/// Converts values; `components` names the members of structs, also of those nested in arrays.
struct Reader<'a> {
    components: &'a [Param],
}

impl Reader<'_> {
    fn read(&self, kind: &DynSolType, value: &RawValue, path: &str) -> Result<DynSolValue, CallError> {
        let must = |rule: String| CallError::Argument { path: path.to_owned(), rule };
        let text = || as_text(value);
        match kind {
            DynSolType::Bool => match value.get() {
                "true" | "\"true\"" => Ok(DynSolValue::Bool(true)),
                "false" | "\"false\"" => Ok(DynSolValue::Bool(false)),
                _ => Err(must("must be true or false".to_owned())),
            },
            DynSolType::Uint(bits) => as_number(value)
                .and_then(|text| read_unsigned(&text))
                .filter(|number| fits_unsigned(*number, *bits))
                .map(|number| DynSolValue::Uint(number, *bits))
                .ok_or_else(|| {
                    must(format!("must be a whole number that fits into uint{bits}, as a number or a string"))
                }),
            DynSolType::Int(bits) => as_number(value)
                .and_then(|text| read_signed(&text))
                .filter(|number| fits_signed(*number, *bits))
                .map(|number| DynSolValue::Int(number, *bits))
                .ok_or_else(|| {
                    must(format!("must be a whole number that fits into int{bits}, as a number or a string"))
                }),
            DynSolType::Address => text()
                .and_then(|text| bytes(&text))
                .and_then(|bytes| Address::try_from(bytes.as_slice()).ok())
                .map(DynSolValue::Address)
                .ok_or_else(|| must("must be an address, 0x and 40 hexadecimal digits".to_owned())),
            DynSolType::FixedBytes(length) => text()
                .and_then(|text| bytes(&text))
                .filter(|bytes| bytes.len() == *length)
                .map(|bytes| DynSolValue::FixedBytes(FixedBytes::right_padding_from(&bytes), *length))
                .ok_or_else(|| must(format!("must be 0x and {} hexadecimal digits", 2 * length))),
            DynSolType::Bytes => text()
                .and_then(|text| bytes(&text))
                .map(DynSolValue::Bytes)
                .ok_or_else(|| must("must be 0x and an even number of hexadecimal digits".to_owned())),
            DynSolType::Function => text()
                .and_then(|text| bytes(&text))
                .and_then(|bytes| Function::try_from(bytes.as_slice()).ok())
                .map(DynSolValue::Function)
                .ok_or_else(|| must("must be 0x and 48 hexadecimal digits".to_owned())),
            DynSolType::String => text().map(DynSolValue::String).ok_or_else(|| must("must be a string".to_owned())),
            DynSolType::Array(inner) => Ok(DynSolValue::Array(self.list(inner, value, path, None)?)),
            DynSolType::FixedArray(inner, length) => {
                Ok(DynSolValue::FixedArray(self.list(inner, value, path, Some(*length))?))
            }
            DynSolType::Tuple(kinds) => Ok(DynSolValue::Tuple(self.members(kinds, value, path)?)),
        }
    }

    fn list(
        &self,
        inner: &DynSolType,
        value: &RawValue,
        path: &str,
        length: Option<usize>,
    ) -> Result<Vec<DynSolValue>, CallError> {
        let invalid = || CallError::Argument {
            path: path.to_owned(),
            rule: match length {
                Some(length) => format!("must be a list of {length}"),
                None => "must be a list".to_owned(),
            },
        };
        let items: Vec<&RawValue> = serde_json::from_str(value.get()).map_err(|_| invalid())?;
        if length.is_some_and(|length| length != items.len()) {
            return Err(invalid());
        }
        items.iter().enumerate().map(|(index, item)| self.read(inner, item, &format!("{path}[{index}]"))).collect()
    }

    /// A struct: an object with its members, or a list of them in declared order.
    fn members(&self, kinds: &[DynSolType], value: &RawValue, path: &str) -> Result<Vec<DynSolValue>, CallError> {
        let invalid = |rule: String| CallError::Argument { path: path.to_owned(), rule };
        let names: Vec<&str> = self.components.iter().map(|component| component.name.as_str()).collect();
        let given: Vec<&RawValue> = if value.get().starts_with('{') {
            let mut fields: BTreeMap<String, &RawValue> =
                serde_json::from_str(value.get()).map_err(|_| invalid("must be an object".to_owned()))?;
            let mut given = Vec::new();
            for name in &names {
                given.push(fields.remove(*name).ok_or_else(|| invalid(format!("must have the member {name}")))?);
            }
            if let Some((unknown, _)) = fields.first_key_value() {
                let unknown: String = unknown.chars().take(64).collect();
                return Err(invalid(format!("has no member {unknown}; it has {}", names.join(", "))));
            }
            given
        } else {
            serde_json::from_str(value.get())
                .map_err(|_| invalid("must be an object, or a list of its members".to_owned()))?
        };
        if given.len() != kinds.len() {
            return Err(invalid(format!("must have {} members: {}", kinds.len(), names.join(", "))));
        }
        let read = |(index, (kind, value)): (usize, (&DynSolType, &&RawValue))| {
            let component = self.components.get(index);
            let reader =
                Reader { components: component.map(|component| &component.components[..]).unwrap_or_default() };
            let name = component.map(|component| component.name.as_str()).filter(|name| !name.is_empty());
            let path = name.map_or_else(|| format!("{path}[{index}]"), |name| format!("{path}.{name}"));
            reader.read(kind, value, &path)
        };
        kinds.iter().zip(&given).enumerate().map(read).collect()
    }
}

fn as_text(value: &RawValue) -> Option<String> {
    serde_json::from_str(value.get()).ok()
}

/// The digits of a number, quoted or not, exactly as sent.
fn as_number(value: &RawValue) -> Option<String> {
    match value.get().as_bytes().first()? {
        b'"' => as_text(value),
        b'-' | b'0'..=b'9' => Some(value.get().to_owned()),
        _ => None,
    }
}

fn bytes(text: &str) -> Option<Vec<u8>> {
    // The decoder would pass over a second 0x.
    let digits = text.strip_prefix("0x").filter(|digits| !digits.starts_with("0x"))?;
    hex::decode(digits).ok()
}

#[cfg(test)]
mod tests {
    use alloy_dyn_abi::{FunctionExt, JsonAbiExt};
    use alloy_json_abi::Function as AbiFunction;
    use serde_json::{Value, json};

    use super::*;
    use crate::abi::AbiJson;

    /// A function whose outputs are its inputs.
    fn echo(params: Value) -> AbiFunction {
        let function = json!({ "type": "function", "name": "echo", "stateMutability": "pure", "inputs": params, "outputs": params });
        serde_json::from_value(function).unwrap()
    }

    fn round_trip(params: Value, arguments: &str) -> Result<Value, String> {
        let function = echo(params);
        let given: Vec<&RawValue> = serde_json::from_str(arguments).unwrap();
        let values = read_all(&function.inputs, &given).map_err(|error| error.to_string())?;
        let encoded = function.abi_encode_input_raw(&values).unwrap();
        let outputs = function.abi_decode_output(&encoded).unwrap();
        Ok(serde_json::to_value(AbiJson::of_outputs(&function.outputs, &outputs)).unwrap())
    }

    fn single(kind: &str, argument: &str) -> Result<Value, String> {
        round_trip(json!([{ "name": "", "type": kind }]), &format!("[{argument}]"))
    }

    #[test]
    fn every_type_survives_a_round_trip() {
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
    fn nested_structs_are_objects() {
        let point = json!([{ "name": "x", "type": "int128" }, { "name": "tags", "type": "string[]" }]);
        let outer = json!([{ "name": "", "type": "tuple[2]", "components": [
            { "name": "point", "type": "tuple", "components": point }, { "name": "on", "type": "bool" }] }]);
        let as_objects = r#"[[{"point":{"x":-1,"tags":["a"]},"on":true},{"on":false,"point":[7,[]]}]]"#;
        let expected = json!([
            { "point": { "x": "-1", "tags": ["a"] }, "on": true },
            { "point": { "x": "7", "tags": [] }, "on": false },
        ]);
        assert_eq!(round_trip(outer.clone(), as_objects), Ok(expected));
        for (invalid, expected_error) in [
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
            let error = round_trip(outer.clone(), invalid).unwrap_err();
            assert!(error.starts_with(expected_error), "{error}");
        }
    }

    #[test]
    fn values_that_do_not_fit_their_type_are_rejected() {
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
            ("bytes", "\"0x0x12\""),
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
}
