//! Maps method names to handlers.

use std::sync::LazyLock;

use super::{
    blocks, control, error::RpcError, execution, fees, handler::Methods, logs, network, params::Params,
    protocol::Reply, state, traces, transactions,
};
use crate::DevChain;

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

pub(super) fn dispatch(chain: &DevChain, method: &str, params: Params) -> Result<Reply, RpcError> {
    let offered = chain.offers_traces() || !traces::is_trace(method);
    let handler = METHODS.get(method).filter(|_| offered).ok_or_else(|| RpcError::method_not_found(method))?;
    handler(chain, params)
}
