//! The metadata document of an NFT: JSON from an untrusted host.

use domain::{NftAttribute, NftDocument};
use serde_json::{Map, Value};

pub(super) const MAX_NAME: usize = 200;
pub(super) const MAX_DESCRIPTION: usize = 4_000;
/// Long enough for a small image in a `data:` URI.
pub(super) const MAX_IMAGE_URI: usize = 64 * 1024;
pub(super) const MAX_ATTRIBUTES: usize = 64;
pub(super) const MAX_ATTRIBUTE: usize = 200;

/// Takes what is shown from a document. Fields of other types are left out, long texts are cut.
pub(super) fn parse(bytes: &[u8]) -> Result<NftDocument, String> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    // Nested deeper than 128 levels, a document is refused by the parser.
    let document: Map<String, Value> =
        serde_json::from_slice(bytes).map_err(|_| "the metadata is not a JSON object".to_owned())?;
    let field =
        |names: &[&str], max| names.iter().find_map(|name| document.get(*name)).and_then(|value| text(value, max));
    let image = ["image", "image_url"].iter().find_map(|name| document.get(*name)).and_then(Value::as_str);
    Ok(NftDocument {
        name: field(&["name"], MAX_NAME),
        description: field(&["description"], MAX_DESCRIPTION),
        // A URI that is cut leads elsewhere, so a longer one is left out.
        image: image.filter(|uri| uri.len() <= MAX_IMAGE_URI).map(without_controls).filter(|uri| !uri.is_empty()),
        attributes: match document.get("attributes") {
            Some(Value::Array(entries)) => entries.iter().filter_map(attribute).take(MAX_ATTRIBUTES).collect(),
            _ => Vec::new(),
        },
    })
}

fn attribute(entry: &Value) -> Option<NftAttribute> {
    let entry = entry.as_object()?;
    let value = text(entry.get("value")?, MAX_ATTRIBUTE)?;
    let trait_type = entry.get("trait_type").and_then(|name| text(name, MAX_ATTRIBUTE));
    Some(NftAttribute { trait_type, value })
}

fn text(value: &Value, max: usize) -> Option<String> {
    match value {
        Value::String(text) => Some(shortened(text, max)),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(bool) => Some(bool.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// The first characters, and an ellipsis if there are more. Lines are kept, other control characters are not.
pub(super) fn shortened(text: &str, max: usize) -> String {
    let mut shown = text.chars().filter(|char| !char.is_control() || *char == '\n');
    let mut short: String = shown.by_ref().take(max).collect();
    if shown.next().is_some() {
        short.push('…');
    }
    short
}

fn without_controls(text: &str) -> String {
    text.chars().filter(|char| !char.is_control()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_description_image_and_attributes_are_taken() {
        let json = r#"{
            "name": "Kitten <b>7</b>", "description": "Line one\nline\u0000 two", "image": "ipfs://QmHash/7.png",
            "attributes": [
                { "trait_type": "color", "value": "red" }, { "trait_type": "age", "value": 3 },
                { "value": true }, { "trait_type": "none" }, { "trait_type": "list", "value": [] }, "text"
            ],
            "other": { "deep": [1, 2, 3] }
        }"#;
        let attribute = |trait_type: Option<&str>, value: &str| NftAttribute {
            trait_type: trait_type.map(str::to_owned),
            value: value.to_owned(),
        };
        let expected = NftDocument {
            name: Some("Kitten <b>7</b>".to_owned()),
            description: Some("Line one\nline two".to_owned()),
            image: Some("ipfs://QmHash/7.png".to_owned()),
            attributes: vec![attribute(Some("color"), "red"), attribute(Some("age"), "3"), attribute(None, "true")],
        };
        assert_eq!(parse(json.as_bytes()), Ok(expected.clone()));
        assert_eq!(parse(format!("\u{feff}{json}").as_bytes()), Ok(expected));
        for nothing in
            [r#"{"name": null, "image": 7, "attributes": {}}"#, r#"{"image": ""}"#, r#"{"image": "\n\t\u0000"}"#]
        {
            assert_eq!(parse(nothing.as_bytes()), Ok(NftDocument::default()), "{nothing}");
        }
    }

    #[test]
    fn what_is_not_a_json_object_is_refused() {
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
        for text in ["", "[]", "7", "{", "<html>", "{\"name\": \"a\"} x", &deep] {
            assert_eq!(parse(text.as_bytes()), Err("the metadata is not a JSON object".to_owned()));
        }
        assert!(parse(&[0xff, 0xfe]).is_err());
    }

    #[test]
    fn long_texts_and_lists_are_cut() {
        let (long, many) = ("x".repeat(100_000), vec![r#"{"trait_type":"t","value":"v"}"#; 1_000].join(","));
        let json = format!(r#"{{"name":"{long}","description":"{long}","image":"{long}","attributes":[{many}]}}"#);
        let document = parse(json.as_bytes()).unwrap();
        assert_eq!(document.name.unwrap().chars().count(), MAX_NAME + 1);
        assert_eq!(document.description.unwrap().chars().count(), MAX_DESCRIPTION + 1);
        assert_eq!((document.image, document.attributes.len()), (None, MAX_ATTRIBUTES));
    }
}
