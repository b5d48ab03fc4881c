use std::sync::LazyLock;

use base64::{Engine, engine::general_purpose::STANDARD};
use domain::{NftAttribute, NftDocument};
use percent_encoding::{NON_ALPHANUMERIC, percent_encode};
use serde_json::json;

use super::{
    document::{self, MAX_ATTRIBUTE, MAX_ATTRIBUTES, MAX_DESCRIPTION, MAX_IMAGE_URI, MAX_NAME},
    uri::{Expected, IpfsGateway, Source, UriFault, locate},
};

const FOLDER: &str = "https://gateway.example/below/ipfs/";
static GATEWAY: LazyLock<IpfsGateway> =
    LazyLock::new(|| "https://gateway.example/below".parse().expect("the URL of a gateway"));

/// A document of a host that a contract names, or a URI that a contract or a document names.
pub fn nft_document(bytes: &[u8]) {
    if let Ok(document) = document::parse(bytes) {
        check(&document);
        let written = write(&document);
        assert_eq!(document::parse(written.as_bytes()), Ok(document.clone()), "{written}");
        assert_eq!(document::parse(format!("\u{feff}{written}").as_bytes()), Ok(document));
    }
    in_a_uri(bytes);
    if let Ok(text) = std::str::from_utf8(bytes) {
        uri(text);
    }
}

fn check(document: &NftDocument) {
    let NftDocument { name, description, image, attributes } = document;
    is_shown(name.as_deref(), MAX_NAME);
    is_shown(description.as_deref(), MAX_DESCRIPTION);
    if let Some(image) = image {
        assert!((1..=MAX_IMAGE_URI).contains(&image.len()) && !image.contains(char::is_control), "{image:?}");
    }
    assert!(attributes.len() <= MAX_ATTRIBUTES);
    for NftAttribute { trait_type, value } in attributes {
        is_shown(trait_type.as_deref(), MAX_ATTRIBUTE);
        is_shown(Some(value), MAX_ATTRIBUTE);
    }
}

/// At most so many characters and an ellipsis.
fn is_shown(text: Option<&str>, max: usize) {
    let Some(text) = text else { return };
    assert!(text.chars().count() <= max + 1, "{} characters", text.chars().count());
    assert!(!text.contains(|char: char| char.is_control() && char != '\n'), "{text:?}");
}

fn write(document: &NftDocument) -> String {
    let NftDocument { name, description, image, attributes } = document;
    let attributes: Vec<_> = attributes
        .iter()
        .map(|NftAttribute { trait_type, value }| json!({ "trait_type": trait_type, "value": value }))
        .collect();
    json!({ "name": name, "description": description, "image": image, "attributes": attributes }).to_string()
}

/// What a URI contains is what was written into it.
fn in_a_uri(content: &[u8]) {
    for uri in [
        format!("data:application/json;base64,{}", STANDARD.encode(content)),
        format!("data:application/json,{}", percent_encode(content, NON_ALPHANUMERIC)),
    ] {
        assert_eq!(locate(&uri, Expected::Document, None), Ok(Source::Content(content.to_vec())), "{uri}");
        assert_eq!(locate(&uri, Expected::Image, None), Err(UriFault::DataType("image")), "{uri}");
    }
}

fn uri(text: &str) {
    for expected in [Expected::Document, Expected::Image] {
        match locate(text, expected, Some(&GATEWAY)) {
            Ok(Source::Content(content)) => assert!(content.len() <= text.len()),
            Ok(Source::Url(url)) if text.trim() == url => {}
            // It stays below the folder of the content.
            Ok(Source::Url(url)) => {
                let path = url.strip_prefix(FOLDER).unwrap_or_else(|| panic!("{url} of {text:?}"));
                let path = path.split(['?', '#']).next().unwrap_or_default();
                assert!(path.split('/').all(|part| part != "." && part != ".."), "{url} of {text:?}");
                assert!(path.starts_with(|char: char| char.is_ascii_alphanumeric()), "{url} of {text:?}");
                assert_eq!(locate(text, expected, None), Err(UriFault::NoGateway));
            }
            Err(fault) => {
                let reason = fault.to_string();
                assert!((1..=100).contains(&reason.len()), "{reason}");
            }
        }
    }
}
