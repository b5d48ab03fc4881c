//! Calls that only read, in terms of a contract's own interface.

mod argument;
mod diamond;
mod error;
mod function;
#[cfg(feature = "fuzzing")]
pub(crate) mod fuzzing;
mod loupe;
mod number;
mod proxy;
mod revert;

use std::{sync::Arc, time::Duration};

use alloy_dyn_abi::JsonAbiExt;
use alloy_primitives::{Address, Bytes, keccak256};
pub use diamond::{Diamond, Facet, VerifiedFacet};
pub use error::CallError;
use node::{CallBlock, CallRequest, NodeClient, ViewOutcome};
pub use proxy::{Proxy, ProxyKind, can_route};
use serde_json::value::RawValue;
use store::VerifiedContracts;

use crate::{
    Interface,
    abi::{AbiJson, decode_all},
};

const GAS: u64 = 50_000_000;
const PATIENCE: Duration = Duration::from_secs(10);
/// The longest answer that is decoded.
const MAX_ANSWER: usize = 1 << 20;
/// Proxies that stand behind one another, at most.
pub const MAX_HOPS: usize = 4;

/// Asks verified contracts.
pub struct ContractCalls {
    node: NodeClient,
    records: Arc<dyn VerifiedContracts>,
}

/// What is asked.
#[derive(Debug)]
pub struct ReadCall<'a> {
    pub address: Address,
    /// A name, or a signature where there are several of the name.
    pub function: &'a str,
    /// One piece of JSON for each argument; numbers of any length stay what they are.
    pub arguments: Vec<&'a RawValue>,
    /// The sender that the contract sees; None: the zero address.
    pub from: Option<Address>,
    pub at: CallBlock,
}

/// Whom a contract hands calls on to.
#[derive(Debug, Default)]
pub struct Delegation {
    pub proxy: Option<Proxy>,
    pub diamond: Option<Diamond>,
}

/// The contracts that stand behind an address, one behind the other.
struct Chain {
    /// The code at the address itself.
    code: Bytes,
    /// The proxy that the address is.
    proxy: Option<Proxy>,
    /// Who stands behind it, the nearest first, with the code there.
    behind: Vec<(Address, Bytes)>,
}

impl Chain {
    /// Whether any of the code can route function by function. A proxy in front of a diamond has the diamond's state,
    /// so it is the outermost address whose loupe is asked.
    fn can_route(&self) -> bool {
        std::iter::once(&self.code).chain(self.behind.iter().map(|(_, code)| code)).any(|code| can_route(code))
    }
}

impl ContractCalls {
    #[must_use]
    pub fn new(node: NodeClient, records: Arc<dyn VerifiedContracts>) -> Self {
        Self { node, records }
    }

    /// Calls a function that only reads; gives what it returns as JSON.
    pub async fn call(&self, call: &ReadCall<'_>) -> Result<AbiJson, CallError> {
        let interfaces = self.interfaces(call).await?;
        let function = function::resolve(&interfaces, call.function, call.arguments.len())?;
        let values = argument::read_all(&function.inputs, &call.arguments)?;
        let data = function.abi_encode_input(&values).map_err(|error| CallError::Interface(error.to_string()))?;
        let request =
            CallRequest { from: call.from, to: Some(call.address), data: data.into(), gas: GAS, patience: PATIENCE };
        match self.node.view(&request, call.at).await? {
            ViewOutcome::Returned(output) => decode(function, &output),
            ViewOutcome::Reverted { data, message } => {
                Err(CallError::Reverted(revert::reason(data.as_ref().map(AsRef::as_ref), &message, &interfaces)))
            }
            ViewOutcome::StateGone => Err(CallError::StateGone),
        }
    }

    /// The interfaces to call an address through: those of whom it hands calls on to first, then its own.
    async fn interfaces(&self, call: &ReadCall<'_>) -> Result<Vec<Interface>, CallError> {
        let chain = self.chain(call.address, call.at).await?;
        let mut interfaces = Vec::new();
        // Before what a slot names: some diamonds put a placeholder there.
        if chain.can_route() {
            let wanted = function::Wanted::new(call.function);
            let diamond = Box::pin(self.find_diamond_for(call.address, |one| wanted.can_mean(one), call.at)).await?;
            interfaces.extend(diamond.and_then(|diamond| diamond.interface()));
        }
        for (address, code) in &chain.behind {
            interfaces.extend(self.find_interface(*address, code).await?);
        }
        interfaces.extend(self.find_interface(call.address, &chain.code).await?);
        if !interfaces.is_empty() {
            return Ok(interfaces);
        }
        Err(if chain.code.is_empty() { CallError::NoCode } else { CallError::NotVerified })
    }

    /// Follows proxies from an address on.
    async fn chain(&self, address: Address, at: CallBlock) -> Result<Chain, CallError> {
        let code = self.node.code(address, at).await?;
        let proxy = proxy::find(&self.node, address, &code, at).await?;
        let mut behind = Vec::new();
        let mut next = proxy;
        while let Some(Proxy { implementation, .. }) = next {
            let code = self.node.code(implementation, at).await?;
            next = match behind.len() + 1 < MAX_HOPS {
                true => proxy::find(&self.node, implementation, &code, at).await?,
                false => None,
            };
            behind.push((implementation, code));
        }
        Ok(Chain { code, proxy, behind })
    }

    /// Whom the contract at an address hands calls on to now.
    pub async fn find_delegation(&self, address: Address) -> Result<Delegation, CallError> {
        let chain = self.chain(address, CallBlock::Latest).await?;
        let diamond = match chain.can_route() {
            true => Box::pin(self.find_diamond(address, CallBlock::Latest)).await?,
            false => None,
        };
        Ok(Delegation { proxy: chain.proxy, diamond })
    }

    /// What is known of the interface of some code at an address.
    async fn find_interface(&self, address: Address, code: &[u8]) -> Result<Option<Interface>, CallError> {
        let known = self.records.find_verified(address, keccak256(code)).await?;
        Ok(known.map(|known| Interface::read(&known.code.abi)))
    }

    /// The proxy that code at an address is, if it is one. Where the code cannot be one, the node is not asked.
    pub async fn find_proxy(&self, address: Address, code: &[u8]) -> Result<Option<Proxy>, CallError> {
        Ok(proxy::find(&self.node, address, code, CallBlock::Latest).await?)
    }
}

impl std::fmt::Debug for ContractCalls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ContractCalls").field("node", &self.node).finish_non_exhaustive()
    }
}

fn decode(function: &alloy_json_abi::Function, output: &[u8]) -> Result<AbiJson, CallError> {
    if output.len() > MAX_ANSWER {
        return Err(CallError::AnswerTooLong { max: MAX_ANSWER });
    }
    let values = decode_all(&function.outputs, output).ok_or(CallError::NotTheAnswer { bytes: output.len() })?;
    Ok(AbiJson::of_outputs(&function.outputs, &values))
}
