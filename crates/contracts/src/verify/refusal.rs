use alloy_primitives::Address;

use crate::{
    matching::{Difference, MatchKind},
    settings::SettingsChoice,
};

/// Why sources do not give the code on the chain, for whoever sent them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("The code on the chain was made by compiler {on_chain}, not by {asked}.")]
    OtherCompiler { asked: String, on_chain: String },
    #[error("The source does not compile: {0}")]
    Source(String),
    #[error("The source could not be compiled: {0}.")]
    Compiler(String),
    #[error("The source defines no contract{}.", named.as_ref().map(|name| format!(" named {name}")).unwrap_or_default())]
    NoContract { named: Option<String> },
    #[error(
        "No contract of the source gives the code on the chain. The closest is {contract} ({choice}): {difference}. {tried}"
    )]
    Closest { contract: String, choice: SettingsChoice, difference: Difference, tried: Tried },
    #[error("No contract of the source has code that could be compared. {0}")]
    NothingCompared(Tried),
    #[error(
        "Only the creation code is that of {contract} of {file}. The code that its constructor left behind is another, so nothing is verified: in the running code, {difference}."
    )]
    CreationOnly { contract: String, file: String, kind: MatchKind, difference: Difference },
    #[error("The library {library} is at {on_chain:#x} in the code on the chain, not at {claimed:#x}.")]
    Library { library: String, claimed: Address, on_chain: Address },
    #[error("The constructor arguments given are not those of the creating transaction.")]
    ConstructorArguments,
}

/// How far a search went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tried {
    pub compilations: u32,
    pub hashes: u64,
    /// Whether it ended because it may not go on.
    pub gave_up: bool,
}

impl std::fmt::Display for Tried {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { compilations, hashes, gave_up } = self;
        let s = if *compilations == 1 { "" } else { "s" };
        write!(f, "{compilations} compilation{s} and {hashes} combinations of settings were tried")?;
        f.write_str(if *gave_up { ", and then the time for it was over." } else { "." })
    }
}
