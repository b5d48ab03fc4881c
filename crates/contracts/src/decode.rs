//! Decodes call data, logs and errors with a contract's ABI: pure functions of an interface and bytes.

use std::collections::HashMap;

use alloy_dyn_abi::DynSolValue;
use alloy_json_abi::{Error, Event, Function, Param};
use alloy_primitives::B256;

use crate::{
    Interface,
    abi::{AbiJson, decode_all},
};

/// Longer data is not decoded.
const MAX_LENGTH: usize = 128 * 1024;

/// Decodes the calls, logs and errors of a contract.
#[derive(Debug, Default)]
pub struct Decoder {
    functions: HashMap<[u8; 4], Function>,
    errors: HashMap<[u8; 4], Error>,
    /// Events with the same signature can differ in which inputs are indexed.
    events: HashMap<B256, Vec<Event>>,
    constructor: Vec<Param>,
}

/// A decoded call or log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decoded {
    pub name: String,
    pub signature: String,
    pub fields: Vec<Field>,
}

/// An argument of a call, or an input of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// Empty if the source gives it none.
    pub name: String,
    /// Its Solidity type.
    pub kind: String,
    /// Integers are strings, structs are objects.
    pub value: AbiJson,
    pub location: FieldLocation,
}

impl Decoded {
    /// The name and the arguments in one line, such as `TooLow(needed: 7, given: 5)`.
    #[must_use]
    pub(crate) fn in_one_line(&self) -> String {
        let shown = |field: &Field| {
            let value = match field.value.as_text() {
                Some(text) => text.to_owned(),
                None => serde_json::to_string(&field.value).unwrap_or_default(),
            };
            if field.name.is_empty() { value } else { format!("{}: {value}", field.name) }
        };
        let fields: Vec<String> = self.fields.iter().map(shown).collect();
        format!("{}({})", self.name, fields.join(", "))
    }
}

/// Where the value of a field is encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldLocation {
    Data,
    Topic,
    /// A topic is one word: of longer values it holds only the hash.
    HashInTopic,
}

impl Decoder {
    #[must_use]
    pub fn new(interface: Interface) -> Self {
        let mut decoder = Self::default();
        for function in interface.functions {
            decoder.functions.insert(function.selector().0, function);
        }
        for error in interface.errors {
            decoder.errors.insert(error.selector().0, error);
        }
        // The log of an anonymous event has no topic that identifies it.
        for event in interface.events.into_iter().filter(|event| !event.anonymous) {
            decoder.events.entry(event.selector()).or_default().push(event);
        }
        decoder.constructor = interface.constructor.map(|constructor| constructor.inputs).unwrap_or_default();
        decoder
    }

    /// The name of the function with this selector.
    #[must_use]
    pub fn function_name(&self, selector: [u8; 4]) -> Option<&str> {
        self.functions.get(&selector).map(|function| function.name.as_str())
    }

    /// Decodes call data; None if the contract has no such function or the data does not match its inputs.
    #[must_use]
    pub fn call(&self, input: &[u8]) -> Option<Decoded> {
        let (selector, arguments) = input.split_first_chunk::<4>()?;
        let function = self.functions.get(selector)?;
        let fields = arguments_of(&function.inputs, arguments)?;
        Some(Decoded { name: function.name.clone(), signature: function.signature(), fields })
    }

    /// Decodes call data only if it is the one encoding of its arguments, as compilers and libraries make it: for
    /// interfaces that need not be those of the called contract.
    #[must_use]
    pub fn guess_call(&self, input: &[u8]) -> Option<Decoded> {
        let (selector, arguments) = input.split_first_chunk::<4>()?;
        let function = self.functions.get(selector)?;
        is_canonical(&function.inputs, arguments).then(|| self.call(input))?
    }

    /// Decodes the data of a revert; None if the contract has no such error or the data does not match it.
    #[must_use]
    pub fn error(&self, data: &[u8]) -> Option<Decoded> {
        let (selector, arguments) = data.split_first_chunk::<4>()?;
        let error = self.errors.get(selector)?;
        let fields = arguments_of(&error.inputs, arguments)?;
        Some(Decoded { name: error.name.clone(), signature: error.signature(), fields })
    }

    /// Decodes constructor arguments.
    #[must_use]
    pub fn creation(&self, arguments: &[u8]) -> Option<Vec<Field>> {
        arguments_of(&self.constructor, arguments)
    }

    /// Decodes a log; None if the contract has no such event or the log does not match it.
    #[must_use]
    pub fn log(&self, topics: &[B256], data: &[u8]) -> Option<Decoded> {
        let (signature, indexed) = topics.split_first()?;
        let events = self.events.get(signature)?;
        let counts = |event: &&Event| event.inputs.iter().filter(|input| input.indexed).count() == indexed.len();
        events.iter().filter(counts).find_map(|event| read_log(event, indexed, data))
    }
}

fn arguments_of(params: &[Param], data: &[u8]) -> Option<Vec<Field>> {
    if data.len() > MAX_LENGTH {
        return None;
    }
    let values = decode_all(params, data)?;
    let field = |(param, value): (&Param, _)| Field {
        name: param.name.clone(),
        kind: param.selector_type().into_owned(),
        value: AbiJson::of(value, &param.components),
        location: FieldLocation::Data,
    };
    Some(params.iter().zip(&values).map(field).collect())
}

fn is_canonical(params: &[Param], data: &[u8]) -> bool {
    data.len() <= MAX_LENGTH
        && decode_all(params, data).is_some_and(|values| DynSolValue::Tuple(values).abi_encode_params() == data)
}

fn read_log(event: &Event, topics: &[B256], data: &[u8]) -> Option<Decoded> {
    if data.len() > MAX_LENGTH {
        return None;
    }
    let unindexed = event.inputs.iter().filter(|input| !input.indexed);
    let mut values = decode_all(unindexed, data)?.into_iter();
    let mut topics = topics.iter();
    let mut fields = Vec::with_capacity(event.inputs.len());
    for input in &event.inputs {
        let kind = input.selector_type().into_owned();
        let (value, location) = if input.indexed {
            let topic = topics.next()?;
            match is_word(&kind).then(|| decode_all([input], topic.as_slice())).flatten().as_deref() {
                Some([value]) => (AbiJson::of(value, &input.components), FieldLocation::Topic),
                _ => (AbiJson::Text(topic.to_string()), FieldLocation::HashInTopic),
            }
        } else {
            (AbiJson::of(&values.next()?, &input.components), FieldLocation::Data)
        };
        fields.push(Field { name: input.name.clone(), kind, value, location });
    }
    Some(Decoded { name: event.name.clone(), signature: event.signature(), fields })
}

/// Whether a topic holds the value of this type, not its hash.
fn is_word(kind: &str) -> bool {
    !kind.ends_with([']', ')']) && !matches!(kind, "string" | "bytes")
}

#[cfg(test)]
mod tests {
    use alloy_primitives::{hex, keccak256};
    use serde_json::{Value, json};

    use super::*;

    const ALICE: &str = "00000000000000000000000000000000000000000000000000000000000a11ce";

    fn decoder(abi: &Value) -> Decoder {
        Decoder::new(Interface::read(&abi.to_string()))
    }

    fn coin() -> Decoder {
        let param = |name: &str, kind: &str, indexed: bool| json!({ "name": name, "type": kind, "indexed": indexed });
        decoder(&json!([
            { "type": "function", "name": "transfer", "stateMutability": "nonpayable", "outputs": [],
              "inputs": [{ "name": "to", "type": "address" }, { "name": "amount", "type": "uint256" }] },
            { "type": "function", "name": "place", "stateMutability": "nonpayable", "outputs": [], "inputs": [
                { "name": "order", "type": "tuple", "components": [
                    { "name": "maker", "type": "address" }, { "name": "notes", "type": "string[]" }] }] },
            { "type": "event", "name": "Transfer", "anonymous": false,
              "inputs": [param("from", "address", true), param("to", "address", true), param("value", "uint256", false)] },
            { "type": "event", "name": "Transfer", "anonymous": false,
              "inputs": [param("from", "address", true), param("to", "address", true), param("id", "uint256", true)] },
            { "type": "event", "name": "Said", "anonymous": false,
              "inputs": [param("what", "string", true), param("loud", "bool", true), param("", "string", false)] },
            { "type": "event", "name": "Hidden", "anonymous": true, "inputs": [] },
            { "type": "constructor", "stateMutability": "nonpayable", "inputs": [{ "name": "first", "type": "int8" }] }
        ]))
    }

    fn named(decoded: &Decoded) -> Vec<(&str, Value, FieldLocation)> {
        decoded.fields.iter().map(|field| (field.name.as_str(), json!(field.value), field.location)).collect()
    }

    #[test]
    fn a_call_is_decoded_with_its_arguments() {
        let input = hex::decode(format!("a9059cbb{ALICE}{:064x}", 5)).unwrap();
        let call = coin().call(&input).unwrap();
        assert_eq!((call.name.as_str(), call.signature.as_str()), ("transfer", "transfer(address,uint256)"));
        let alice = json!(format!("0x{}", &ALICE[24..]));
        assert_eq!(named(&call), [("to", alice, FieldLocation::Data), ("amount", json!("5"), FieldLocation::Data)]);
        assert_eq!(call.fields[1].kind, "uint256");
        assert_eq!(coin().function_name([0xa9, 0x05, 0x9c, 0xbb]), Some("transfer"));
    }

    #[test]
    fn structs_are_decoded_with_member_names() {
        let selector = keccak256("place((address,string[]))");
        let words = [hex::encode(&selector[..4]), format!("{:064x}", 32), ALICE.to_owned(), format!("{:064x}", 64)];
        let notes = [1, 32, 2].map(|number| format!("{number:064x}")).concat();
        let input = hex::decode(format!("{}{notes}{:0<64}", words.concat(), hex::encode("hi"))).unwrap();
        let call = coin().call(&input).unwrap();
        let order = json!({ "maker": format!("0x{}", &ALICE[24..]), "notes": ["hi"] });
        assert_eq!(json!(call.fields[0].value), order);
        assert_eq!(call.fields[0].kind, "(address,string[])");
    }

    #[test]
    fn data_that_does_not_match_is_not_decoded() {
        for input in ["", "a9059c", "a9059cbb", "01020304"] {
            assert_eq!(coin().call(&hex::decode(input).unwrap()), None, "{input}");
        }
        let mut long = hex::decode(format!("a9059cbb{ALICE}{:064x}", 5)).unwrap();
        long.resize(MAX_LENGTH + 5, 0);
        assert_eq!(coin().call(&long), None);
        assert_eq!(coin().log(&[], &[]), None);
    }

    #[test]
    fn events_with_the_same_signature_are_distinguished_by_their_indexed_inputs() {
        let transfer = keccak256("Transfer(address,address,uint256)");
        let (from, to, seven) =
            (B256::left_padding_from(&[1]), B256::left_padding_from(&[2]), B256::left_padding_from(&[7]));
        let amount = coin().log(&[transfer, from, to], seven.as_slice()).unwrap();
        assert_eq!((amount.fields[2].name.as_str(), amount.fields[2].location), ("value", FieldLocation::Data));
        let piece = coin().log(&[transfer, from, to, seven], &[]).unwrap();
        assert_eq!((piece.fields[2].name.as_str(), piece.fields[2].location), ("id", FieldLocation::Topic));
        assert_eq!(piece.fields[2].value.as_text(), Some("7"));
        assert_eq!(coin().log(&[transfer, from], seven.as_slice()), None);
    }

    #[test]
    fn an_indexed_string_is_shown_as_its_hash() {
        let (what, yes) = (keccak256("hello"), B256::left_padding_from(&[1]));
        let data = hex::decode(format!("{:064x}{:064x}{:0<64}", 32, 2, hex::encode("hi"))).unwrap();
        let said = coin().log(&[keccak256("Said(string,bool,string)"), what, yes], &data).unwrap();
        let (hash, yes, hi) = (json!(what.to_string()), json!(true), json!("hi"));
        assert_eq!(
            named(&said),
            [
                ("what", hash, FieldLocation::HashInTopic),
                ("loud", yes, FieldLocation::Topic),
                ("", hi, FieldLocation::Data)
            ]
        );
    }

    #[test]
    fn constructor_arguments_are_decoded() {
        let fields = coin().creation(&[0xff; 32]).unwrap();
        assert_eq!((fields[0].name.as_str(), fields[0].value.as_text()), ("first", Some("-1")));
        assert_eq!(decoder(&json!([])).creation(&[]), Some(Vec::new()));
    }

    proptest::proptest! {
        #[test]
        fn arbitrary_calls_and_logs_never_panic(data: Vec<u8>, words: [[u8; 32]; 2]) {
            let coin = coin();
            for selector in coin.functions.keys() {
                let _ = coin.call(&[&selector[..], &data].concat());
            }
            for signature in coin.events.keys() {
                let _ = coin.log(&[*signature, words[0].into(), words[1].into()], &data);
            }
            let _ = coin.creation(&data);
        }
    }
}
