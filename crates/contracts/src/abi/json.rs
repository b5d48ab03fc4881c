//! ABI values as JSON. Integers of any size are strings, and members keep the order of their declaration.

use std::collections::HashSet;

use alloy_dyn_abi::DynSolValue;
use alloy_json_abi::Param;
use alloy_primitives::hex;
use serde::{Serialize, Serializer, ser::SerializeMap};

/// A value as JSON, without numbers: many JSON parsers round large ones. Objects keep their order, which
/// `serde_json::Value` does only with a feature that would reorder every other response too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AbiJson {
    Null,
    Bool(bool),
    Text(String),
    List(Vec<AbiJson>),
    Object(Vec<(String, AbiJson)>),
    /// Several outputs of a function: an object with each of them by index and, if it has a name, by name.
    Outputs(Vec<(Option<String>, AbiJson)>),
}

impl AbiJson {
    /// The outputs of a function: a single one as the value itself, named or not; several by index and by name.
    pub(crate) fn of_outputs(params: &[Param], values: &[DynSolValue]) -> Self {
        match (params, values) {
            ([], _) => Self::Null,
            ([param], [value]) => Self::of(value, &param.components),
            _ => Self::Outputs(named(params, values).collect()),
        }
    }

    /// Several outputs as a struct has its members: each once, for people.
    #[must_use]
    pub fn each_once(self) -> Self {
        match self {
            Self::Outputs(outputs) => Self::Object(by_name_or_index(outputs)),
            other => other,
        }
    }

    /// A single value; `components` names the members of structs in it.
    pub(crate) fn of(value: &DynSolValue, components: &[Param]) -> Self {
        match value {
            DynSolValue::Bool(value) => Self::Bool(*value),
            DynSolValue::Int(number, _) => Self::Text(number.to_string()),
            DynSolValue::Uint(number, _) => Self::Text(number.to_string()),
            DynSolValue::FixedBytes(word, length) => {
                Self::Text(hex::encode_prefixed(word.get(..*length).unwrap_or(word.as_slice())))
            }
            DynSolValue::Address(address) => Self::Text(format!("{address:#x}")),
            DynSolValue::Function(function) => Self::Text(hex::encode_prefixed(function)),
            DynSolValue::Bytes(bytes) => Self::Text(hex::encode_prefixed(bytes)),
            DynSolValue::String(text) => Self::Text(text.clone()),
            DynSolValue::Array(items) | DynSolValue::FixedArray(items) => {
                Self::List(items.iter().map(|item| Self::of(item, components)).collect())
            }
            DynSolValue::Tuple(values) => Self::Object(by_name_or_index(named(components, values))),
        }
    }

    /// The text, if the value is a string.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// Values with their names. No name: it is empty, or would be in the object twice, of which most JSON parsers keep only one.
fn named<'a>(
    params: &'a [Param],
    values: &'a [DynSolValue],
) -> impl Iterator<Item = (Option<String>, AbiJson)> + use<'a> {
    let mut taken = HashSet::new();
    values.iter().enumerate().map(move |(index, value)| {
        let param = params.get(index);
        let name = param.map(|param| param.name.as_str()).filter(|name| !name.is_empty());
        let name = name.filter(|name| name.parse::<usize>().is_err() && taken.insert(*name));
        let components = param.map(|param| &param.components[..]).unwrap_or_default();
        (name.map(str::to_owned), AbiJson::of(value, components))
    })
}

fn by_name_or_index(values: impl IntoIterator<Item = (Option<String>, AbiJson)>) -> Vec<(String, AbiJson)> {
    let members = values.into_iter().enumerate();
    members.map(|(index, (name, value))| (name.unwrap_or_else(|| index.to_string()), value)).collect()
}

impl Serialize for AbiJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Text(text) => serializer.serialize_str(text),
            Self::List(items) => serializer.collect_seq(items),
            Self::Object(members) => {
                let mut map = serializer.serialize_map(Some(members.len()))?;
                for (name, value) in members {
                    map.serialize_entry(name, value)?;
                }
                map.end()
            }
            Self::Outputs(outputs) => {
                let mut map = serializer.serialize_map(None)?;
                for (index, (name, value)) in outputs.iter().enumerate() {
                    map.serialize_entry(&index.to_string(), value)?;
                    if let Some(name) = name {
                        map.serialize_entry(name, value)?;
                    }
                }
                map.end()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use alloy_dyn_abi::DynSolType;
    use alloy_primitives::U256;

    use super::*;

    fn params(declared: &[&str]) -> Vec<Param> {
        declared.iter().map(|text| Param::parse(text).unwrap()).collect()
    }

    fn numbers(count: u64) -> Vec<DynSolValue> {
        (1..=count).map(|number| DynSolValue::Uint(U256::from(number), 256)).collect()
    }

    fn json_of(declared: &[&str]) -> String {
        let params = params(declared);
        serde_json::to_string(&AbiJson::of_outputs(&params, &numbers(params.len() as u64))).unwrap()
    }

    #[test]
    fn one_output_is_the_value_itself_named_or_not() {
        assert_eq!(json_of(&["uint256"]), r#""1""#);
        assert_eq!(json_of(&["uint256 amount"]), r#""1""#);
        assert_eq!(json_of(&[]), "null");
    }

    #[test]
    fn several_outputs_have_their_index_and_their_name_in_the_order_of_their_declaration() {
        assert_eq!(json_of(&["uint256 z", "uint256 a"]), r#"{"0":"1","z":"1","1":"2","a":"2"}"#);
        assert_eq!(json_of(&["uint256 z", "uint256", "uint256 a"]), r#"{"0":"1","z":"1","1":"2","2":"3","a":"3"}"#);
        assert_eq!(json_of(&["uint256 a", "uint256 a"]), r#"{"0":"1","a":"1","1":"2"}"#);
        let mut numbered = params(&["uint256", "uint256"]);
        numbered[0].name = "1".to_owned();
        let outputs = AbiJson::of_outputs(&numbered, &numbers(2));
        assert_eq!(serde_json::to_string(&outputs).unwrap(), r#"{"0":"1","1":"2"}"#);
    }

    #[test]
    fn people_see_each_output_once() {
        let outputs = AbiJson::of_outputs(&params(&["uint256 z", "uint256", "uint256 a"]), &numbers(3));
        assert_eq!(serde_json::to_string(&outputs.each_once()).unwrap(), r#"{"z":"1","1":"2","a":"3"}"#);
        let single = AbiJson::of_outputs(&params(&["uint256 z"]), &numbers(1));
        assert_eq!(single.clone().each_once(), single);
    }

    #[test]
    fn nested_structs_keep_the_declared_order_of_members() {
        let param: Param = serde_json::from_str(
            r#"{"name":"","type":"tuple[]","components":[
                {"name":"zeta","type":"tuple","components":[{"name":"y","type":"uint8"},{"name":"x","type":"bool"}]},
                {"name":"alpha","type":"string"}]}"#,
        )
        .unwrap();
        let inner = DynSolValue::Tuple(vec![DynSolValue::Uint(U256::MAX, 256), DynSolValue::Bool(true)]);
        let item = DynSolValue::Tuple(vec![inner, DynSolValue::String("s".to_owned())]);
        let value = AbiJson::of_outputs(&[param], &[DynSolValue::Array(vec![item])]);
        let max = U256::MAX;
        assert_eq!(
            serde_json::to_string(&value).unwrap(),
            format!(r#"[{{"zeta":{{"y":"{max}","x":true}},"alpha":"s"}}]"#)
        );
    }

    #[test]
    fn no_value_of_any_type_is_a_number() {
        for (kind, expected) in [
            ("int8", r#""0""#),
            ("uint256[2]", r#"["0","0"]"#),
            ("(uint8,int16)", r#"{"0":"0","1":"0"}"#),
            ("(uint8,bool)[1]", r#"[{"0":"0","1":false}]"#),
        ] {
            let value = DynSolType::parse(kind).unwrap().abi_decode(&[0; 64]).unwrap();
            assert_eq!(serde_json::to_string(&AbiJson::of(&value, &[])).unwrap(), expected, "{kind}");
        }
    }
}
