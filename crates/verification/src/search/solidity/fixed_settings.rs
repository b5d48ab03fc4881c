//! Settings that need no search: those of the request, and those that the code on the chain shows.

use serde_json::{Map, Value};

use crate::{
    Auxdata, MetadataHash,
    search::Settings,
    settings::{EvmVersion, Optimizer, SettingsChoice},
};

/// The settings of the request, with the metadata options that the code on the chain shows.
pub(super) fn base_settings(mut settings: Settings, release: (u16, u16, u16), auxdata: Option<&Auxdata>) -> Settings {
    let mut metadata = match settings.remove("metadata") {
        Some(Value::Object(metadata)) => metadata,
        _ => Map::new(),
    };
    metadata.remove("appendCBOR");
    match auxdata.map(Auxdata::hash) {
        // The compiler rejects `appendCBOR: false` together with a hash, which some tools write anyway.
        None if release >= (0, 8, 18) => {
            metadata.remove("bytecodeHash");
            metadata.insert("appendCBOR".to_owned(), false.into());
        }
        _ if release < (0, 6, 0) => {}
        None => {}
        Some(None) => {
            metadata.insert("bytecodeHash".to_owned(), "none".into());
        }
        Some(Some(MetadataHash::Bzzr1(_))) => {
            metadata.insert("bytecodeHash".to_owned(), "bzzr1".into());
        }
        Some(Some(_)) => {
            metadata.remove("bytecodeHash");
        }
    }
    if !metadata.is_empty() {
        settings.insert("metadata".to_owned(), metadata.into());
    }
    settings
}

/// The searched settings among all settings.
pub(super) fn choice_in(settings: &Settings) -> SettingsChoice {
    let optimizer = settings.get("optimizer");
    let runs = optimizer.and_then(|optimizer| optimizer.get("runs")?.as_u64()).unwrap_or(200);
    SettingsChoice {
        optimizer: Optimizer {
            enabled: optimizer.and_then(|optimizer| optimizer.get("enabled")?.as_bool()).unwrap_or(false),
            runs: u32::try_from(runs).unwrap_or(u32::MAX),
        },
        evm_version: settings.get("evmVersion").and_then(|name| EvmVersion::from_name(name.as_str()?)),
        via_ir: settings.get("viaIR").and_then(Value::as_bool).unwrap_or(false),
    }
}

#[cfg(test)]
mod tests {
    use alloy_primitives::hex;
    use serde_json::json;

    use super::*;

    #[test]
    fn metadata_options_follow_the_code_on_the_chain() {
        let options = |given: Value, release, code: &[u8]| {
            let settings = Map::from_iter([("metadata".to_owned(), given)]);
            base_settings(settings, release, Auxdata::at_end_of(code).as_ref()).remove("metadata").unwrap_or_default()
        };
        let forge = json!({ "bytecodeHash": "ipfs", "useLiteralContent": true });
        let cut_off = json!({ "appendCBOR": false, "useLiteralContent": true });
        assert_eq!(options(forge.clone(), (0, 8, 20), &[]), cut_off);
        assert_eq!(
            options(json!({ "appendCBOR": false, "bytecodeHash": "none" }), (0, 8, 20), &[]),
            json!({ "appendCBOR": false })
        );
        assert_eq!(options(forge.clone(), (0, 8, 17), &[]), forge);
        let no_hash = hex!("a164736f6c634300081a000a");
        let given = json!({ "appendCBOR": false, "bytecodeHash": "ipfs" });
        assert_eq!(options(given, (0, 8, 26), &no_hash), json!({ "bytecodeHash": "none" }));
        let ipfs = hex::decode(format!("a2646970667358221220{}64736f6c63430008140033", "11".repeat(32))).unwrap();
        assert_eq!(options(json!({ "bytecodeHash": "none" }), (0, 8, 20), &ipfs), Value::Null);
    }
}
