use serde_json::{Value, json};

use super::Sources;
use crate::{
    code::{HashKind, PrefixHasher, hash_metadata},
    settings::{EvmVersion, Filling, MetadataTemplate, Optimizer, SettingsChoice},
};

/// Metadata of a compiler, or source code in any of its forms.
pub fn metadata(data: &[u8]) {
    hashes(data);
    let Ok(text) = std::str::from_utf8(data) else { return };
    match Sources::read(text) {
        Ok(sources) => {
            assert!(!sources.files.is_empty() && sources.files.len() <= 2_000);
            let bytes: usize = sources.files.values().map(String::len).sum();
            // The numbers in the ABI of a Vyper interface may be written with more digits.
            assert!(bytes <= 32 * text.len(), "{bytes} bytes of sources out of {}", text.len());
            assert_eq!(Sources::read(text).as_ref(), Ok(&sources));
        }
        Err(error) => assert!(error.to_string().len() <= 8 << 10, "{error}"),
    }
    fills(text);
}

/// The hash of a text does not depend on how much of it was hashed before.
fn hashes(data: &[u8]) {
    let (Some(first), Some(last)) = (data.first(), data.last()) else { return };
    let text = data.repeat(1 + usize::from(first % 8));
    let split = text.len() * usize::from(*last) / 255;
    for kind in [HashKind::Ipfs, HashKind::Bzzr0, HashKind::Bzzr1] {
        let mut hasher = PrefixHasher::new(kind, &text[..split]);
        assert_eq!(hasher.hash(&text), hash_metadata(kind, &text), "{kind:?} of {} after {split}", text.len());
    }
}

/// In metadata as compilers write it, compact and sorted, what is chosen is changed and nothing else.
fn fills(text: &str) {
    let Some(template) = MetadataTemplate::new(text) else { return };
    let choice = SettingsChoice { optimizer: Optimizer::on(777), evm_version: Some(EvmVersion::Paris), via_ir: true };
    let path = template.has_one_file().then_some("Other.sol");
    let mut filled = Vec::new();
    template.fill(&Filling { path, choice, libraries: Some("{}") }, &mut filled);
    assert!(filled.len() <= 8 * text.len() + 1_024);
    let Ok(mut expected) = serde_json::from_str::<Value>(text) else { return };
    let canonical = expected.to_string();
    if canonical != text || expected["settings"].get("evmVersion").is_some_and(|version| !version.is_string()) {
        return;
    }
    let Some(settings) = expected["settings"].as_object_mut() else { return };
    settings.insert("optimizer".to_owned(), json!({ "enabled": true, "runs": 777 }));
    settings.insert("viaIR".to_owned(), json!(true));
    if settings.contains_key("evmVersion") {
        settings.insert("evmVersion".to_owned(), json!("paris"));
    }
    if settings.contains_key("libraries") {
        settings.insert("libraries".to_owned(), json!({}));
    }
    if let Some(path) = path {
        rename(&mut expected["settings"]["compilationTarget"], path);
        rename(&mut expected["sources"], path);
    }
    assert_eq!(serde_json::from_slice::<Value>(&filled).expect("filled metadata is JSON"), expected);
}

/// Gives the only member of an object another name.
fn rename(object: &mut Value, name: &str) {
    let members = std::mem::take(object.as_object_mut().expect("an object"));
    *object = members.into_iter().map(|(_, value)| (name.to_owned(), value)).collect();
}
