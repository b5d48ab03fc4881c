//! The settings of the Vyper compiler that are tried.

use serde_json::{Value, json};

use crate::{settings::EvmVersion, verify::search::Settings};

type Release = (u16, u16, u16);

/// The first release with optimization levels instead of a switch.
const LEVELS: Release = (0, 3, 10);
const EVM_VERSION: &str = "evmVersion";
const OPTIMIZE: &str = "optimize";

/// EVM versions that change the code, the default of the compiler first.
fn evm_versions(release: Release) -> &'static [&'static str] {
    match release {
        _ if release >= (0, 4, 3) => &["prague", "cancun", "shanghai", "paris"],
        _ if release >= (0, 4, 0) => &["cancun", "shanghai", "paris"],
        _ if release >= (0, 3, 8) => &["shanghai", "paris", "cancun"],
        _ if release >= (0, 2, 12) => &["berlin", "istanbul"],
        _ => &["istanbul", "byzantium"],
    }
}

/// The settings to try, in this order: as given, with other optimization, and if none were given, for other EVM versions.
pub(super) fn candidates(given: Option<&Settings>, evm_version: Option<EvmVersion>, release: Release) -> Vec<Settings> {
    let mut base = given.cloned().unwrap_or_default();
    if let Some(version) = evm_version {
        base.entry(EVM_VERSION).or_insert_with(|| version.name().into());
    }
    let levels: &[Value] = if release >= LEVELS {
        &[json!("gas"), json!("codesize"), json!("none")]
    } else {
        &[json!(true), json!(false)]
    };
    let default = levels.first().cloned().unwrap_or_default();
    let mut versions: Vec<Option<&str>> = vec![None];
    if given.is_none() && evm_version.is_none() {
        versions.extend(evm_versions(release).iter().skip(1).copied().map(Some));
    }
    let mut candidates = vec![base.clone()];
    for version in versions {
        for level in levels {
            let mut settings = base.clone();
            if let Some(version) = version {
                settings.insert(EVM_VERSION.to_owned(), version.into());
            }
            settings.remove(OPTIMIZE);
            if *level != default {
                settings.insert(OPTIMIZE.to_owned(), level.clone());
            }
            // The default level is the same as none.
            let is_base = version.is_none() && base.get(OPTIMIZE).unwrap_or(&default) == level;
            if !is_base {
                candidates.push(settings);
            }
        }
    }
    candidates
}

/// Whether so few bytes differ that the settings must be right: other ones change more.
pub(super) fn only_source_differs(distance: u64, on_chain_length: usize) -> bool {
    /// Of a difference in code of the same length, see `Difference::distance`.
    const NONE_DIFFERS: u64 = 10;
    let differing = distance.saturating_sub(NONE_DIFFERS);
    differing.saturating_mul(100) <= on_chain_length as u64
}

/// As shown to clients.
pub(super) fn describe(settings: &Settings) -> String {
    let shown = [OPTIMIZE, EVM_VERSION, "experimentalCodegen", "venomExperimental"].iter().filter_map(|name| {
        let value = settings.get(*name)?;
        let text: String = value.as_str().map_or_else(|| value.to_string(), str::to_owned).chars().take(40).collect();
        Some(format!("{name} {text}"))
    });
    let shown: Vec<String> = shown.collect();
    if shown.is_empty() { "default settings".to_owned() } else { shown.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(value: Value) -> Settings {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn given_settings_come_first_and_their_evm_version_is_kept() {
        let given = settings(json!({ "evmVersion": "paris", "optimize": "codesize" }));
        let tried: Vec<Value> = candidates(Some(&given), None, (0, 4, 3)).into_iter().map(Value::from).collect();
        let paris = |level: &str| json!({ "evmVersion": "paris", "optimize": level });
        assert_eq!(tried, [paris("codesize"), json!({ "evmVersion": "paris" }), paris("none")]);
    }

    #[test]
    fn without_settings_levels_and_evm_versions_are_tried() {
        let tried: Vec<Value> = candidates(None, None, (0, 3, 10)).into_iter().map(Value::from).collect();
        assert_eq!(tried.len(), 9);
        assert_eq!(tried[..3], [json!({}), json!({ "optimize": "codesize" }), json!({ "optimize": "none" })]);
        assert_eq!(tried[3], json!({ "evmVersion": "paris" }));
        let tried = candidates(None, Some(EvmVersion::Paris), (0, 3, 9));
        let expected = [json!({ "evmVersion": "paris" }), json!({ "evmVersion": "paris", "optimize": false })];
        assert_eq!(tried.into_iter().map(Value::from).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn settings_are_described() {
        assert_eq!(describe(&Settings::new()), "default settings");
        let given = settings(json!({ "evmVersion": "paris", "optimize": false, "search_paths": ["."] }));
        assert_eq!(describe(&given), "optimize false, evmVersion paris");
    }
}
