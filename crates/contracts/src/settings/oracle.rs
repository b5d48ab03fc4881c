use std::time::Instant;

use alloy_primitives::Address;

use super::{EvmVersion, MetadataTemplate, Optimizer, SettingsChoice, template::Filling};
use crate::{CompilerVersion, MetadataHash, code::Hasher};

/// Numbers of runs that people set, the likeliest first.
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
/// How many candidates are tried between two looks at the clock.
const LOOK: u64 = 64;

/// Says whether settings and a file name are those that stand behind the hash on the chain.
#[derive(Debug)]
pub struct Oracle<'a> {
    template: &'a MetadataTemplate,
    wanted: MetadataHash,
    hasher: Hasher,
}

/// Settings that give the hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hit {
    /// The name of the only file; None where there are several.
    pub(crate) path: Option<String>,
    pub(crate) choice: SettingsChoice,
}

impl<'a> Oracle<'a> {
    #[must_use]
    pub fn new(template: &'a MetadataTemplate, wanted: MetadataHash) -> Self {
        Self { template, wanted, hasher: Hasher::new(wanted.kind(), template.beginning()) }
    }

    #[must_use]
    pub fn says(&self, filling: &Filling<'_>, scratch: &mut Vec<u8>) -> bool {
        self.template.fill(filling, scratch);
        self.hasher.hash(scratch) == Some(self.wanted)
    }

    /// Tries all that people use, until a hit or until the time is over; tells how many were tried.
    pub(crate) fn search(
        &self,
        paths: &[String],
        choices: &[SettingsChoice],
        libraries: &[(String, Address)],
        until: Instant,
    ) -> (Option<Hit>, u64) {
        let mut scratch = Vec::new();
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
                if self.says(&Filling { path, choice: *choice, libraries: linked.as_deref() }, &mut scratch) {
                    return (Some(Hit { path: path.map(str::to_owned), choice: *choice }), tried);
                }
                if tried % LOOK == 0 && Instant::now() >= until {
                    return (None, tried);
                }
            }
        }
        (None, tried)
    }
}

/// Libraries as the compiler writes them into the metadata; None where there are none to write.
fn linked(path: Option<&str>, libraries: &[(String, Address)]) -> Option<String> {
    let mut libraries: Vec<String> = libraries
        .iter()
        .map(|(name, address)| format!(r#""{}:{name}":"{address:#x}""#, path.unwrap_or_default()))
        .collect();
    libraries.sort();
    (!libraries.is_empty()).then(|| format!("{{{}}}", libraries.join(",")))
}

/// Every combination of settings, the likeliest first.
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
