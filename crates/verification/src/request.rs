use std::collections::BTreeMap;

use alloy_primitives::{Address, Bytes};

use crate::{
    CompilerVersion,
    settings::{EvmVersion, RequestedSettings},
    sources::Sources,
};

/// A request to verify a contract.
#[derive(Debug, Clone, PartialEq)]
pub struct VerifyRequest {
    pub address: Address,
    pub sources: Sources,
    pub compiler: CompilerVersion,
    pub license: Option<String>,
    /// `Name`, or `file:Name`.
    pub contract_name: Option<String>,
    pub optimizer: OptimizerChoice,
    pub evm_version: Option<EvmVersion>,
    pub via_ir: Option<bool>,
    /// By `Name` or `file:Name`.
    pub libraries: BTreeMap<String, Address>,
    pub constructor_arguments: Option<Bytes>,
}

/// The optimizer settings of a request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OptimizerChoice {
    pub enabled: Option<bool>,
    pub runs: Option<u32>,
}

impl VerifyRequest {
    pub(crate) fn requested_settings(&self) -> RequestedSettings {
        RequestedSettings {
            optimizer: self.optimizer.enabled,
            runs: self.optimizer.runs,
            evm_version: self.evm_version,
            via_ir: self.via_ir,
        }
    }

    /// Whether this contract matches the requested name.
    pub(crate) fn matches_name(&self, file: &str, name: &str) -> bool {
        match self.contract_name.as_deref().map(|requested| requested.rsplit_once(':').unwrap_or(("", requested))) {
            None => true,
            Some(("", requested)) => requested == name,
            // A single unnamed file can have any name.
            Some((requested_file, requested)) => {
                requested == name && (requested_file == file || self.sources.single_file().is_some())
            }
        }
    }
}
