use std::{fmt, time::Duration};

use alloy_primitives::Address;

use super::selectors::FunctionDifference;
use crate::{
    matching::{Difference, MatchKind},
    settings::SettingsChoice,
    shortened,
};

/// Why sources do not match the code on the chain, as shown to the client.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("The code on the chain was made by compiler {}, not by {requested}.", shortened(on_chain))]
    OtherCompiler { requested: String, on_chain: String },
    #[error(
        "The code at this address is a minimal proxy (EIP-1167) for the contract at {target:#x}, which has no source of its own. Verify {target:#x} instead: calls to the proxy are decoded with its ABI."
    )]
    MinimalProxy { target: Address },
    #[error("The source does not compile: {0}")]
    Source(String),
    #[error("The source could not be compiled: {0}.")]
    Compiler(String),
    #[error("The compiler failed with an internal error: {0}")]
    Internal(String),
    #[error("The source defines no contract{}.", named.as_ref().map(|name| format!(" named {}", shortened(name))).unwrap_or_default())]
    NoContract { named: Option<String> },
    #[error(
        "No contract of the source compiles to the code on the chain. The closest is {} ({choice}): {difference}. {}{tried}",
        shortened(contract),
        functions.as_ref().map(|differ| format!("{differ} ")).unwrap_or_default()
    )]
    Closest {
        contract: String,
        choice: SettingsChoice,
        difference: Difference,
        functions: Option<FunctionDifference>,
        tried: SearchExtent,
    },
    #[error(
        "No contract of the source compiles to the code on the chain. The closest is {} ({settings}): {difference}. {}",
        shortened(contract),
        tried_settings(*compilations, *stopped)
    )]
    ClosestVyper {
        contract: String,
        settings: String,
        difference: Difference,
        compilations: u32,
        stopped: Option<StopReason>,
    },
    #[error("No contract of the source has code that could be compared. {0}")]
    NothingCompared(SearchExtent),
    #[error(
        "Only the creation code is that of {} of {}. Its constructor returned different code, so nothing is verified: in the runtime code, {difference}.",
        shortened(contract),
        shortened(file)
    )]
    CreationOnly { contract: String, file: String, kind: MatchKind, difference: Difference },
    #[error("The library {} is at {on_chain:#x} in the code on the chain, not at {claimed:#x}.", shortened(library))]
    Library { library: String, claimed: Address, on_chain: Address },
    #[error("The constructor arguments given are not those of the creating transaction.")]
    ConstructorArguments,
}

/// The extent of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SearchExtent {
    pub compilations: u32,
    pub hashes: u64,
    pub stopped: Option<StopReason>,
}

/// Why a search ended before all candidate settings were tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    /// The limit of compilations was reached.
    Compilations(u32),
    /// The time limit was reached.
    Time(Duration),
    /// The CPU budget of the verification was exhausted.
    CpuTime,
    /// No settings can compile this source to the code on the chain.
    OtherSource,
    /// No tried settings gave code of about the right length.
    NoSimilarLength,
}

impl fmt::Display for SearchExtent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { compilations, hashes, stopped } = self;
        let s = if *compilations == 1 { "" } else { "s" };
        write!(f, "{compilations} compilation{s} and {hashes} combinations of settings were tried")?;
        match stopped {
            None => f.write_str("."),
            Some(stopped) => stopped.fmt(f),
        }
    }
}

/// The extent of a search by compiling only.
fn tried_settings(compilations: u32, stopped: Option<StopReason>) -> String {
    let s = if compilations == 1 { " was" } else { "s were" };
    let end = stopped.map_or_else(|| ".".to_owned(), |stopped| stopped.to_string());
    format!("{compilations} compilation{s} tried{end}")
}

/// The end of a sentence about what was tried.
impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Compilations(limit) => {
                write!(f, ", which is the limit ({limit} compilations): send the settings if you know them.")
            }
            Self::Time(limit) => write!(
                f,
                ", and then the limit of {} seconds was reached: send the settings if you know them.",
                limit.as_secs()
            ),
            Self::CpuTime => f.write_str(", and then the CPU time was used up: send the settings if you know them."),
            Self::OtherSource => f.write_str("; no other settings can compile this source to that code."),
            Self::NoSimilarLength => {
                f.write_str("; none gave code of about that length, so the source is most likely a different one.")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_are_truncated() {
        let named = Some("x".repeat(100_000));
        assert!(Refusal::NoContract { named }.to_string().len() < 200);
    }

    #[test]
    fn the_reached_limit_is_named() {
        let tried = |stopped| SearchExtent { compilations: 24, hashes: 5, stopped }.to_string();
        assert!(tried(None).ends_with("settings were tried."));
        assert!(tried(Some(StopReason::Compilations(24))).contains("the limit (24 compilations)"));
        assert!(tried(Some(StopReason::Time(Duration::from_secs(60)))).contains("60 seconds"));
    }
}
