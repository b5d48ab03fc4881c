use std::time::Instant;

use alloy_primitives::Address;

use super::{EvmVersion, MetadataTemplate, Optimizer, SettingsChoice, template::Filling};
use crate::{CompilerVersion, MetadataHash, code::PrefixHasher};

/// Common numbers of runs, the most common first.
pub(super) const RUNS: [u32; 27] = [
    200,
    1,
    999_999,
    10_000,
    1_000,
    100,
    500,
    1_000_000,
    100_000,
    20_000,
    0,
    2,
    10,
    20,
    50,
    150,
    300,
    400,
    800,
    999,
    2_000,
    5_000,
    9_999,
    50_000,
    99_999,
    800_000,
    4_294_967_295,
];
/// Candidates hashed between two checks of the deadline.
const CHECK_INTERVAL: u64 = 64;
/// The search over all runs tries every number up to this one.
const ALL_RUNS: u32 = 100_000;

/// Finds the candidate settings and the file name whose metadata has the hash on the chain.
#[derive(Debug)]
pub struct MetadataSearch<'a> {
    template: &'a MetadataTemplate,
    wanted: MetadataHash,
    hasher: PrefixHasher,
    scratch: Vec<u8>,
}

/// Settings that give the hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hit {
    /// The name of the only file; None where there are several.
    pub(crate) path: Option<String>,
    pub(crate) choice: SettingsChoice,
}

impl<'a> MetadataSearch<'a> {
    #[must_use]
    pub fn new(template: &'a MetadataTemplate, wanted: MetadataHash) -> Self {
        let hasher = PrefixHasher::new(wanted.kind(), template.prefix());
        Self { template, wanted, hasher, scratch: Vec::new() }
    }

    /// Whether the metadata with these settings has the hash.
    #[must_use]
    pub fn matches(&mut self, filling: &Filling<'_>) -> bool {
        self.template.fill(filling, &mut self.scratch);
        self.hasher.hash(&self.scratch) == Some(self.wanted)
    }

    /// Tries every path with every choice until one matches or the deadline passes; returns the number of candidates tried.
    pub(crate) fn search(
        &mut self,
        paths: &[String],
        choices: &[SettingsChoice],
        libraries: &[(String, Address)],
        deadline: Instant,
    ) -> (Option<Hit>, u64) {
        let mut tried = 0;
        let paths: Vec<Option<&str>> = if self.template.has_one_file() {
            paths.iter().map(|path| Some(path.as_str())).collect()
        } else {
            vec![None]
        };
        for path in paths {
            let linked = linked(path, libraries);
            for choice in choices {
                tried += 1;
                if self.matches(&Filling { path, choice: *choice, libraries: linked.as_deref() }) {
                    return (Some(Hit { path: path.map(str::to_owned), choice: *choice }), tried);
                }
                if tried % CHECK_INTERVAL == 0 && Instant::now() >= deadline {
                    return (None, tried);
                }
            }
        }
        (None, tried)
    }
}

/// The JSON of libraries in the metadata; None if there are none.
fn linked(path: Option<&str>, libraries: &[(String, Address)]) -> Option<String> {
    let mut libraries: Vec<String> = libraries
        .iter()
        .map(|(name, address)| format!(r#""{}:{name}":"{address:#x}""#, path.unwrap_or_default()))
        .collect();
    libraries.sort();
    (!libraries.is_empty()).then(|| format!("{{{}}}", libraries.join(",")))
}

/// Every combination of settings, the most common first.
pub(crate) fn all_choices(template: &MetadataTemplate, compiler: &CompilerVersion) -> Vec<SettingsChoice> {
    let versions: Vec<Option<EvmVersion>> = if template.names_evm_version() {
        let default = EvmVersion::default_of(compiler);
        let others = EvmVersion::named_by(compiler).into_iter().rev().filter(|version| Some(*version) != default);
        default.into_iter().chain(others).map(Some).collect()
    } else {
        vec![None]
    };
    let ways: &[bool] = if compiler.release() >= (0, 7, 5) { &[false, true] } else { &[false] };
    let off = RUNS.map(|runs| Optimizer { enabled: false, runs });
    let on = RUNS.map(Optimizer::on);
    let optimizers = [Optimizer::OFF].into_iter().chain(on).chain(off.into_iter().skip(1));
    let mut choices = Vec::new();
    for via_ir in ways {
        for evm_version in &versions {
            for optimizer in optimizers.clone() {
                choices.push(SettingsChoice { optimizer, evm_version: *evm_version, via_ir: *via_ir });
            }
        }
    }
    choices
}

/// Every plausible number of runs with the optimizer on, except the common ones in `RUNS`, which were tried before with every
/// other setting.
pub(crate) fn all_runs(evm_version: Option<EvmVersion>, via_ir: bool) -> Vec<SettingsChoice> {
    let powers = (17..32).flat_map(|power| [1_u32 << power, (1 << power) - 1]);
    let decimal = (6..10).flat_map(|digits| [10_u32.pow(digits), 10_u32.pow(digits) - 1]);
    let thousands = (101..=10_000).map(|thousand| thousand * 1_000);
    let runs = (0..=ALL_RUNS).chain(powers).chain(decimal).chain(thousands).filter(|runs| !RUNS.contains(runs));
    runs.map(|runs| SettingsChoice { optimizer: Optimizer::on(runs), evm_version, via_ir }).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::code::{HashKind, hash_metadata};

    const METADATA: &str = r#"{"compiler":{"version":"0.8.20+commit.a1b79de6"},"language":"Solidity","output":{"abi":[]},"settings":{"compilationTarget":{"a.sol":"A"},"evmVersion":"shanghai","libraries":{},"metadata":{"bytecodeHash":"ipfs"},"optimizer":{"enabled":false,"runs":200},"remappings":[]},"sources":{"a.sol":{"keccak256":"0x12","urls":[]}},"version":1}"#;

    #[test]
    fn an_odd_number_of_runs_is_found_in_every_kind_of_hash() {
        for (kind, runs) in [(HashKind::Ipfs, 777), (HashKind::Bzzr0, 65_432), (HashKind::Bzzr1, 3_333_000)] {
            let on_chain = METADATA
                .replace(r#""enabled":false,"runs":200"#, &format!(r#""enabled":true,"runs":{runs}"#))
                .replace("a.sol", "src/A.sol");
            let wanted = hash_metadata(kind, on_chain.as_bytes()).unwrap();
            let template = MetadataTemplate::new(METADATA).unwrap();
            let mut search = MetadataSearch::new(&template, wanted);
            let choices = all_runs(Some(EvmVersion::Shanghai), false);
            let paths = ["A.sol".to_owned(), "src/A.sol".to_owned()];
            let deadline = Instant::now() + Duration::from_secs(600);
            let (hit, tried) = search.search(&paths, &choices, &[], deadline);
            let hit = hit.unwrap_or_else(|| panic!("{runs} runs are not among {tried} candidates"));
            assert_eq!((hit.choice.optimizer, hit.path.as_deref()), (Optimizer::on(runs), Some("src/A.sol")));
        }
    }
}
