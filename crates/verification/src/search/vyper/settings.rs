//! The settings of the Vyper compiler that are tried.

use serde_json::{Value, json};

use crate::{search::Settings, settings::EvmVersion};

type Release = (u16, u16, u16);

/// The first release with optimization levels instead of a switch.
const LEVELS: Release = (0, 3, 10);
/// The first release that knows EVM versions with PUSH0.
const PUSH0: Release = (0, 3, 8);
const BEFORE_PUSH0: [&str; 1] = ["paris"];
const EVM_VERSION: &str = "evmVersion";
const OPTIMIZE: &str = "optimize";

/// EVM versions that change the code, the default of the compiler first.
fn evm_versions(release: Release) -> &'static [&'static str] {
    match release {
        _ if release >= (0, 4, 3) => &["prague", "cancun", "shanghai", "paris"],
        _ if release >= (0, 4, 0) => &["cancun", "shanghai", "paris"],
        _ if release >= (0, 3, 8) => &["shanghai", "paris", "cancun"],
        _ => &[],
    }
}

/// Whether the code reverts without a message as compilers do that have PUSH0.
fn has_push0(runtime: &[u8]) -> bool {
    runtime.windows(3).any(|code| matches!(code, [0x5f, 0x5f | 0x80, 0xfd]))
}

/// The settings to try, in this order: as given, with other optimization, and if none were given, for each EVM version that
/// fits the code on the chain.
pub(super) fn candidates(
    given: Option<&Settings>,
    evm_version: Option<EvmVersion>,
    release: Release,
    runtime: &[u8],
) -> Vec<Settings> {
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
    // None is the default, or what is given.
    let mut versions: Vec<Option<&str>> = vec![None];
    if given.is_none() && evm_version.is_none() && release >= PUSH0 {
        let fits = |version: &&str| has_push0(runtime) != BEFORE_PUSH0.contains(version);
        let all = evm_versions(release);
        versions = all.iter().filter(|version| fits(version)).map(|version| Some(*version)).collect();
        if versions.first() == all.first().map(|version| Some(*version)).as_ref() {
            versions.splice(..1, [None]);
        }
    }
    let mut candidates = Vec::new();
    if given.is_some() {
        candidates.push(base.clone());
    }
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
            let is_given = given.is_some() && base.get(OPTIMIZE).unwrap_or(&default) == level;
            if !is_given {
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

    const PUSH0_CODE: [u8; 4] = [0x5b, 0x5f, 0x80, 0xfd];

    fn tried(given: Option<&Settings>, evm_version: Option<EvmVersion>, release: Release, code: &[u8]) -> Vec<Value> {
        candidates(given, evm_version, release, code).into_iter().map(Value::from).collect()
    }

    #[test]
    fn given_settings_come_first_and_their_evm_version_is_kept() {
        let given = settings(json!({ "evmVersion": "paris", "optimize": "codesize" }));
        let paris = |level: &str| json!({ "evmVersion": "paris", "optimize": level });
        let expected = [paris("codesize"), json!({ "evmVersion": "paris" }), paris("none")];
        assert_eq!(tried(Some(&given), None, (0, 4, 3), &PUSH0_CODE), expected);
    }

    #[test]
    fn without_settings_levels_and_evm_versions_are_tried_that_fit_the_code() {
        let newer = tried(None, None, (0, 3, 10), &PUSH0_CODE);
        assert_eq!(newer[..3], [json!({}), json!({ "optimize": "codesize" }), json!({ "optimize": "none" })]);
        assert_eq!((newer.len(), &newer[3]), (6, &json!({ "evmVersion": "cancun" })));
        let older = tried(None, None, (0, 4, 3), &[0x60, 0, 0x80, 0xfd]);
        let paris = |level: &str| json!({ "evmVersion": "paris", "optimize": level });
        assert_eq!(older, [json!({ "evmVersion": "paris" }), paris("codesize"), paris("none")]);
        let named = tried(None, Some(EvmVersion::Paris), (0, 3, 9), &[]);
        assert_eq!(named, [json!({ "evmVersion": "paris" }), json!({ "evmVersion": "paris", "optimize": false })]);
        assert_eq!(tried(None, None, (0, 2, 16), &[]), [json!({}), json!({ "optimize": false })]);
    }

    #[test]
    fn settings_are_described() {
        assert_eq!(describe(&Settings::new()), "default settings");
        let given = settings(json!({ "evmVersion": "paris", "optimize": false, "search_paths": ["."] }));
        assert_eq!(describe(&given), "optimize false, evmVersion paris");
    }
}
