//! Calls that only read, in terms of a contract's own interface.

mod argument;
mod error;
mod function;
mod number;
mod proxy;
mod result;
mod revert;

use std::{sync::Arc, time::Duration};

use alloy_dyn_abi::JsonAbiExt;
use alloy_primitives::{Address, Bytes, keccak256};
pub use error::CallError;
use node::{CallBlock, CallRequest, NodeClient, ViewOutcome};
pub use proxy::{Proxy, ProxyKind};
pub(crate) use result::one as written;
use serde_json::{Value, value::RawValue};
use store::VerifiedContracts;

use crate::{Interface, decode::decode_all};

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
    pub at: CallBlock,
}

impl ContractCalls {
    #[must_use]
    pub fn new(node: NodeClient, records: Arc<dyn VerifiedContracts>) -> Self {
        Self { node, records }
    }

    /// Calls a function that only reads; gives what it returns as JSON.
    pub async fn call(&self, call: &ReadCall<'_>) -> Result<Value, CallError> {
        let interfaces = self.interfaces(call.address, call.at).await?;
        let function = function::resolve(&interfaces, call.function, call.arguments.len())?;
        let values = argument::read_all(&function.inputs, &call.arguments)?;
        let data = function.abi_encode_input(&values).map_err(|error| CallError::Interface(error.to_string()))?;
        let request = CallRequest { to: Some(call.address), data: data.into(), gas: GAS, patience: PATIENCE };
        match self.node.view(&request, call.at).await? {
            ViewOutcome::Returned(output) => decode(function, &output),
            ViewOutcome::Reverted { data, message } => {
                Err(CallError::Reverted(revert::reason(data.as_ref().map(AsRef::as_ref), &message, &interfaces)))
            }
            ViewOutcome::StateGone => Err(CallError::StateGone),
        }
    }

    /// The interfaces to call an address through: that of the implementation first, where it is a proxy.
    async fn interfaces(&self, address: Address, at: CallBlock) -> Result<Vec<Interface>, CallError> {
        let code = self.node.code(address, at).await?;
        let mut interfaces = Vec::new();
        let own = self.find_interface(address, &code).await?;
        let (mut hop, mut code) = (address, code);
        for _ in 0..MAX_HOPS {
            let Some(proxy) = proxy::find(&self.node, hop, &code, at).await? else { break };
            hop = proxy.implementation;
            code = self.node.code(hop, at).await?;
            interfaces.extend(self.find_interface(hop, &code).await?);
        }
        interfaces.extend(own);
        if interfaces.is_empty() { Err(CallError::NotVerified) } else { Ok(interfaces) }
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

    /// The code at an address, and the proxy that it is, if it is one.
    pub async fn look_at(&self, address: Address) -> Result<(Bytes, Option<Proxy>), CallError> {
        let code = self.node.code(address, CallBlock::Latest).await?;
        let proxy = self.find_proxy(address, &code).await?;
        Ok((code, proxy))
    }
}

impl std::fmt::Debug for ContractCalls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ContractCalls").field("node", &self.node).finish_non_exhaustive()
    }
}

fn decode(function: &alloy_json_abi::Function, output: &[u8]) -> Result<Value, CallError> {
    if output.len() > MAX_ANSWER {
        return Err(CallError::AnswerTooLong { max: MAX_ANSWER });
    }
    let values = decode_all(&function.outputs, output).ok_or(CallError::NotTheAnswer { bytes: output.len() })?;
    Ok(result::write(&function.outputs, &values))
}
