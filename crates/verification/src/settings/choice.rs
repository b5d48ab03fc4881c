use std::fmt;

use serde_json::{Map, Value, json};

use super::EvmVersion;

/// Optimizer settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Optimizer {
    pub enabled: bool,
    pub runs: u32,
}

impl Optimizer {
    pub(crate) const OFF: Self = Self { enabled: false, runs: 200 };

    #[must_use]
    pub const fn on(runs: u32) -> Self {
        Self { enabled: true, runs }
    }

    /// Its JSON in the metadata.
    pub(super) fn in_metadata(self) -> String {
        format!(r#"{{"enabled":{},"runs":{}}}"#, self.enabled, self.runs)
    }
}

/// The settings that the search varies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SettingsChoice {
    pub optimizer: Optimizer,
    /// None means the compiler's default.
    pub evm_version: Option<EvmVersion>,
    pub via_ir: bool,
}

impl SettingsChoice {
    /// Writes the choice into settings of standard JSON input; other settings are unchanged.
    pub fn apply(&self, settings: &mut Map<String, Value>) {
        let optimizer = json!({ "enabled": self.optimizer.enabled, "runs": self.optimizer.runs });
        settings.insert("optimizer".to_owned(), optimizer);
        if let Some(version) = self.evm_version {
            settings.insert("evmVersion".to_owned(), version.name().into());
        }
        // Older compilers reject unknown settings.
        if self.via_ir {
            settings.insert("viaIR".to_owned(), true.into());
        } else {
            settings.remove("viaIR");
        }
    }
}

impl fmt::Display for SettingsChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.optimizer {
            Optimizer { enabled: true, runs } => write!(f, "optimizer with {runs} runs")?,
            Optimizer { enabled: false, .. } => f.write_str("optimizer off")?,
        }
        if let Some(version) = self.evm_version {
            write!(f, ", EVM version {}", version.name())?;
        }
        if self.via_ir { f.write_str(", via IR") } else { Ok(()) }
    }
}
