//! Maps method names to handlers.

use std::{collections::HashMap, sync::LazyLock};

use super::{
    blocks, control,
    error::RpcError,
    execution, fees, logs, network,
    params::Params,
    protocol::{Reply, reply},
    state, traces, transactions,
};
use crate::DevChain;

pub(super) type Handler = Box<dyn Fn(&DevChain, Params) -> Result<Reply, RpcError> + Send + Sync>;
pub(super) type Methods = HashMap<&'static str, Handler>;

static METHODS: LazyLock<Methods> = LazyLock::new(|| {
    let mut methods = Methods::new();
    blocks::register(&mut methods);
    control::register(&mut methods);
    execution::register(&mut methods);
    fees::register(&mut methods);
    logs::register(&mut methods);
    network::register(&mut methods);
    state::register(&mut methods);
    traces::register(&mut methods);
    transactions::register(&mut methods);
    methods
});

/// Wraps a function with a typed result as a handler.
pub(super) fn typed<T: serde::Serialize + 'static>(method: fn(&DevChain, Params) -> Result<T, RpcError>) -> Handler {
    Box::new(move |chain, params| reply(&method(chain, params)?))
}

pub(super) fn dispatch(chain: &DevChain, method: &str, params: Params) -> Result<Reply, RpcError> {
    let offered = chain.offers_traces() || !traces::is_trace(method);
    let handler = METHODS.get(method).filter(|_| offered).ok_or_else(|| RpcError::method_not_found(method))?;
    handler(chain, params)
}
