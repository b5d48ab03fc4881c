//! From JSON to the values that a function takes.

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

/// Reads values whose structs, however deep in arrays, have these members.
struct Reader<'a> {
    components: &'a [Param],
}

impl Reader<'_> {
    fn read(&self, kind: &DynSolType, value: &RawValue, place: &str) -> Result<DynSolValue, CallError> {
        let must = |rule: String| CallError::Argument { place: place.to_owned(), rule };
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
            DynSolType::Array(inner) => Ok(DynSolValue::Array(self.list(inner, value, place, None)?)),
            DynSolType::FixedArray(inner, length) => {
                Ok(DynSolValue::FixedArray(self.list(inner, value, place, Some(*length))?))
            }
            DynSolType::Tuple(kinds) => Ok(DynSolValue::Tuple(self.members(kinds, value, place)?)),
        }
    }

    fn list(
        &self,
        inner: &DynSolType,
        value: &RawValue,
        place: &str,
        length: Option<usize>,
    ) -> Result<Vec<DynSolValue>, CallError> {
        let wrong = || CallError::Argument {
            place: place.to_owned(),
            rule: match length {
                Some(length) => format!("must be a list of {length}"),
                None => "must be a list".to_owned(),
            },
        };
        let items: Vec<&RawValue> = serde_json::from_str(value.get()).map_err(|_| wrong())?;
        if length.is_some_and(|length| length != items.len()) {
            return Err(wrong());
        }
        items.iter().enumerate().map(|(index, item)| self.read(inner, item, &format!("{place}[{index}]"))).collect()
    }

    /// A struct: its members by name, or all of them in order.
    fn members(&self, kinds: &[DynSolType], value: &RawValue, place: &str) -> Result<Vec<DynSolValue>, CallError> {
        let wrong = |rule: String| CallError::Argument { place: place.to_owned(), rule };
        let names: Vec<&str> = self.components.iter().map(|component| component.name.as_str()).collect();
        let given: Vec<&RawValue> = if value.get().starts_with('{') {
            let mut fields: BTreeMap<String, &RawValue> =
                serde_json::from_str(value.get()).map_err(|_| wrong("must be an object".to_owned()))?;
            let mut given = Vec::new();
            for name in &names {
                given.push(fields.remove(*name).ok_or_else(|| wrong(format!("must have the member {name}")))?);
            }
            if let Some((unknown, _)) = fields.first_key_value() {
                let unknown: String = unknown.chars().take(64).collect();
                return Err(wrong(format!("has no member {unknown}; it has {}", names.join(", "))));
            }
            given
        } else {
            serde_json::from_str(value.get())
                .map_err(|_| wrong("must be an object, or a list of its members".to_owned()))?
        };
        if given.len() != kinds.len() {
            return Err(wrong(format!("must have {} members: {}", kinds.len(), names.join(", "))));
        }
        let read = |(index, (kind, value)): (usize, (&DynSolType, &&RawValue))| {
            let component = self.components.get(index);
            let reader =
                Reader { components: component.map(|component| &component.components[..]).unwrap_or_default() };
            let name = component.map(|component| component.name.as_str()).filter(|name| !name.is_empty());
            let place = name.map_or_else(|| format!("{place}[{index}]"), |name| format!("{place}.{name}"));
            reader.read(kind, value, &place)
        };
        kinds.iter().zip(&given).enumerate().map(read).collect()
    }
}

fn as_text(value: &RawValue) -> Option<String> {
    serde_json::from_str(value.get()).ok()
}

/// The digits of a number, in or out of quotes, as they were written.
fn as_number(value: &RawValue) -> Option<String> {
    match value.get().as_bytes().first()? {
        b'"' => as_text(value),
        b'-' | b'0'..=b'9' => Some(value.get().to_owned()),
        _ => None,
    }
}

fn bytes(text: &str) -> Option<Vec<u8>> {
    hex::decode(text.strip_prefix("0x")?).ok()
}
