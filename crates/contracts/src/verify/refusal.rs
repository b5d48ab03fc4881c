use std::{fmt, time::Duration};

use alloy_primitives::Address;

use super::selectors::FunctionsDiffer;
use crate::{
    matching::{Difference, MatchKind},
    settings::SettingsChoice,
    shortened,
};

/// Why sources do not give the code on the chain, for whoever sent them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("The code on the chain was made by compiler {}, not by {asked}.", shortened(on_chain))]
    OtherCompiler { asked: String, on_chain: String },
    #[error(
        "The code at this address is a minimal proxy (EIP-1167) for the contract at {target:#x}, which has no source of its own. Verify {target:#x} instead: calls to the proxy are read by its interface."
    )]
    MinimalProxy { target: Address },
    #[error("The source does not compile: {0}")]
    Source(String),
    #[error("The source could not be compiled: {0}.")]
    Compiler(String),
    #[error("The compiler failed with an error of its own: {0}")]
    Internal(String),
    #[error("The source defines no contract{}.", named.as_ref().map(|name| format!(" named {}", shortened(name))).unwrap_or_default())]
    NoContract { named: Option<String> },
    #[error(
        "No contract of the source gives the code on the chain. The closest is {} ({choice}): {difference}. {}{tried}",
        shortened(contract),
        functions.as_ref().map(|differ| format!("{differ} ")).unwrap_or_default()
    )]
    Closest {
        contract: String,
        choice: SettingsChoice,
        difference: Difference,
        functions: Option<FunctionsDiffer>,
        tried: Tried,
    },
    #[error("No contract of the source has code that could be compared. {0}")]
    NothingCompared(Tried),
    #[error(
        "Only the creation code is that of {} of {}. The code that its constructor left behind is another, so nothing is verified: in the running code, {difference}.",
        shortened(contract),
        shortened(file)
    )]
    CreationOnly { contract: String, file: String, kind: MatchKind, difference: Difference },
    #[error("The library {} is at {on_chain:#x} in the code on the chain, not at {claimed:#x}.", shortened(library))]
    Library { library: String, claimed: Address, on_chain: Address },
    #[error("The constructor arguments given are not those of the creating transaction.")]
    ConstructorArguments,
}

/// How far a search went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tried {
    pub compilations: u32,
    pub hashes: u64,
    pub stopped: Option<Stopped>,
}

/// Why a search ended before all candidate settings were tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopped {
    /// The limit of compilations is reached.
    Compilations(u32),
    /// The limit of time is reached.
    Time(Duration),
    /// The processor time of the verification is spent.
    CpuTime,
    /// No settings can make this source the code on the chain.
    OtherSource,
    /// No settings that were tried gave code of about the right length.
    NothingNear,
}

impl fmt::Display for Tried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { compilations, hashes, stopped } = self;
        let s = if *compilations == 1 { "" } else { "s" };
        write!(f, "{compilations} compilation{s} and {hashes} combinations of settings were tried")?;
        match stopped {
            None => f.write_str("."),
            Some(Stopped::Compilations(limit)) => {
                write!(f, ", which is the limit ({limit} compilations): send the settings, if they are known.")
            }
            Some(Stopped::Time(limit)) => write!(
                f,
                ", and then the limit of {} seconds was reached: send the settings, if they are known.",
                limit.as_secs()
            ),
            Some(Stopped::CpuTime) => {
                f.write_str(", and then the processor time was spent: send the settings, if they are known.")
            }
            Some(Stopped::OtherSource) => {
                f.write_str("; other settings were not, since they cannot make this source that code.")
            }
            Some(Stopped::NothingNear) => {
                f.write_str("; none gave code of about that length, so the source is most likely another one.")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_any_length_is_cut() {
        let named = Some("x".repeat(100_000));
        assert!(Refusal::NoContract { named }.to_string().len() < 200);
    }

    #[test]
    fn the_limit_that_was_reached_is_named() {
        let tried = |stopped| Tried { compilations: 24, hashes: 5, stopped }.to_string();
        assert!(tried(None).ends_with("settings were tried."));
        assert!(tried(Some(Stopped::Compilations(24))).contains("the limit (24 compilations)"));
        assert!(tried(Some(Stopped::Time(Duration::from_secs(60)))).contains("60 seconds"));
    }
}
