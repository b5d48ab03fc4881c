//! Calls of verified contracts, by their own ABI.

mod argument;
mod diamond;
mod error;
mod function;
#[allow(clippy::expect_used, clippy::indexing_slicing, reason = "a fuzz target panics if a property does not hold")]
pub(crate) mod fuzzing;
mod loupe;
mod number;
mod proxy;

use std::{sync::Arc, time::Duration};

use alloy_dyn_abi::JsonAbiExt;
use alloy_primitives::{Address, Bytes, keccak256};
pub use diamond::{Diamond, Facet, VerifiedFacet};
pub use error::CallError;
use futures::future::BoxFuture;
use node::{CallBlock, CallRequest, NodeClient, ViewOutcome};
pub(crate) use proxy::can_route;
pub use proxy::{Proxy, ProxyKind};
use serde_json::value::RawValue;
use store::VerifiedContracts;

use crate::{
    Interface,
    abi::{AbiJson, decode_all},
    decode::Decoder,
    revert_reason,
};

const GAS: u64 = 50_000_000;
const TIMEOUT: Duration = Duration::from_secs(10);
/// The longest output that is decoded.
const MAX_OUTPUT: usize = 1 << 20;
/// Proxies that are followed one after the other.
pub(crate) const MAX_HOPS: usize = 4;

/// Calls view functions of verified contracts.
pub struct ContractCalls {
    node: NodeClient,
    records: Arc<dyn VerifiedContracts>,
}

/// A call of a function.
#[derive(Debug)]
pub struct FunctionCall<'a> {
    pub address: Address,
    /// A name, or a signature if the name is overloaded.
    pub function: &'a str,
    /// Raw JSON, one item per argument, so that numbers of any length keep their digits.
    pub arguments: Vec<&'a RawValue>,
    /// The sender that the contract sees; None means the zero address.
    pub from: Option<Address>,
    pub at: CallBlock,
}

/// The contracts that a contract delegates calls to.
#[derive(Debug, Default)]
pub struct Delegation {
    pub proxy: Option<Proxy>,
    pub diamond: Option<Diamond>,
}

/// A contract and the implementations that it delegates to.
struct ProxyChain {
    /// The code at the address itself.
    code: Bytes,
    /// Set if the address is a proxy.
    proxy: Option<Proxy>,
    /// Implementations with their code, the nearest first.
    implementations: Vec<(Address, Bytes)>,
}

impl ProxyChain {
    /// Whether any of the code can be a diamond. A proxy in front of a diamond holds the diamond's state, so the loupe is
    /// always called at the outermost address.
    fn can_route(&self) -> bool {
        std::iter::once(&self.code).chain(self.implementations.iter().map(|(_, code)| code)).any(|code| can_route(code))
    }
}

impl ContractCalls {
    #[must_use]
    pub fn new(node: NodeClient, records: Arc<dyn VerifiedContracts>) -> Self {
        Self { node, records }
    }

    /// Calls a view function and returns its output as JSON.
    pub fn call<'a>(&'a self, call: &'a FunctionCall<'a>) -> BoxFuture<'a, Result<AbiJson, CallError>> {
        Box::pin(async move {
            let interfaces = self.interfaces(call).await?;
            let function = function::resolve(&interfaces, call.function, call.arguments.len())?;
            let values = argument::read_all(&function.inputs, &call.arguments)?;
            let data = function.abi_encode_input(&values).map_err(|error| CallError::Interface(error.to_string()))?;
            let request =
                CallRequest { from: call.from, to: Some(call.address), data: data.into(), gas: GAS, timeout: TIMEOUT };
            match self.node.view(&request, call.at).await? {
                ViewOutcome::Returned(output) => decode(function, &output),
                ViewOutcome::Reverted { data, message } => {
                    let decoders: Vec<Decoder> = interfaces.iter().cloned().map(Decoder::new).collect();
                    Err(CallError::Reverted(revert_reason(data.as_ref().map(AsRef::as_ref), &message, &decoders)))
                }
                ViewOutcome::StateGone => Err(CallError::StateGone),
            }
        })
    }

    /// The input of a transaction that calls any function, for a wallet to sign.
    pub fn encode<'a>(&'a self, call: &'a FunctionCall<'a>) -> BoxFuture<'a, Result<Bytes, CallError>> {
        Box::pin(async move {
            let interfaces = self.interfaces(call).await?;
            let function = function::resolve_any(&interfaces, call.function, call.arguments.len())?;
            let values = argument::read_all(&function.inputs, &call.arguments)?;
            let data = function.abi_encode_input(&values).map_err(|error| CallError::Interface(error.to_string()))?;
            Ok(data.into())
        })
    }

    /// The interfaces of an address: first those of the contracts it delegates to, then its own.
    async fn interfaces(&self, call: &FunctionCall<'_>) -> Result<Vec<Interface>, CallError> {
        let chain = self.proxy_chain(call.address, call.at).await?;
        let mut interfaces = Vec::new();
        // Before the implementation slot: some diamonds put a placeholder there.
        if chain.can_route() {
            let name = function::FunctionName::new(call.function);
            let diamond = Box::pin(self.find_diamond_for(call.address, |one| name.matches(one), call.at)).await?;
            interfaces.extend(diamond.and_then(|diamond| diamond.interface()));
        }
        for (address, code) in &chain.implementations {
            interfaces.extend(self.find_interface(*address, code).await?);
        }
        interfaces.extend(self.find_interface(call.address, &chain.code).await?);
        if !interfaces.is_empty() {
            return Ok(interfaces);
        }
        Err(if chain.code.is_empty() { CallError::NoCode } else { CallError::NotVerified })
    }

    /// The interfaces to decode errors of a contract with: those of its implementations, then its own. Empty if none is
    /// verified.
    pub fn find_decoders(&self, address: Address) -> BoxFuture<'_, Result<Vec<Decoder>, CallError>> {
        Box::pin(async move {
            let chain = self.proxy_chain(address, CallBlock::Latest).await?;
            let mut decoders = Vec::new();
            let own = (address, chain.code);
            for (address, code) in chain.implementations.iter().chain([&own]) {
                decoders.extend(self.find_interface(*address, code).await?.map(Decoder::new));
            }
            Ok(decoders)
        })
    }

    /// Follows proxies starting at an address.
    async fn proxy_chain(&self, address: Address, at: CallBlock) -> Result<ProxyChain, CallError> {
        let code = self.node.code(address, at).await?;
        let proxy = proxy::find(&self.node, address, &code, at).await?;
        let mut implementations = Vec::new();
        let mut next = proxy;
        while let Some(Proxy { implementation, .. }) = next {
            let code = self.node.code(implementation, at).await?;
            next = match implementations.len() + 1 < MAX_HOPS {
                true => proxy::find(&self.node, implementation, &code, at).await?,
                false => None,
            };
            implementations.push((implementation, code));
        }
        Ok(ProxyChain { code, proxy, implementations })
    }

    /// Whether an address is a proxy at the latest block.
    pub(crate) fn find_first_proxy(&self, address: Address) -> BoxFuture<'_, Result<Option<Proxy>, CallError>> {
        Box::pin(async move {
            let code = self.node.code(address, CallBlock::Latest).await?;
            self.find_proxy(address, &code).await
        })
    }

    /// The contracts that an address delegates calls to at the latest block.
    pub fn find_delegation(&self, address: Address) -> BoxFuture<'_, Result<Delegation, CallError>> {
        Box::pin(async move {
            let chain = self.proxy_chain(address, CallBlock::Latest).await?;
            let diamond = match chain.can_route() {
                true => self.find_diamond(address, CallBlock::Latest).await?,
                false => None,
            };
            Ok(Delegation { proxy: chain.proxy, diamond })
        })
    }

    /// The verified interface of the code at an address.
    async fn find_interface(&self, address: Address, code: &[u8]) -> Result<Option<Interface>, CallError> {
        let known = self.records.find_verified(address, keccak256(code)).await?;
        Ok(known.map(|known| Interface::read(&known.code.abi)))
    }

    /// Whether the contract at an address is a proxy. The node is queried only if the code can delegate.
    pub fn find_proxy<'a>(
        &'a self,
        address: Address,
        code: &'a [u8],
    ) -> BoxFuture<'a, Result<Option<Proxy>, CallError>> {
        Box::pin(async move { proxy::find(&self.node, address, code, CallBlock::Latest).await })
    }
}

impl std::fmt::Debug for ContractCalls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ContractCalls").field("node", &self.node).finish_non_exhaustive()
    }
}

fn decode(function: &alloy_json_abi::Function, output: &[u8]) -> Result<AbiJson, CallError> {
    if output.len() > MAX_OUTPUT {
        return Err(CallError::OutputTooLong { max: MAX_OUTPUT });
    }
    let values = decode_all(&function.outputs, output).ok_or(CallError::UndecodableOutput { bytes: output.len() })?;
    Ok(AbiJson::of_outputs(&function.outputs, &values))
}
