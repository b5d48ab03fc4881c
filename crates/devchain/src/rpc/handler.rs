//! What handles a method.

use std::collections::HashMap;

use super::{
    error::RpcError,
    params::Params,
    protocol::{Reply, reply},
};
use crate::DevChain;

pub(super) type Handler = Box<dyn Fn(&DevChain, Params) -> Result<Reply, RpcError> + Send + Sync>;
pub(super) type Methods = HashMap<&'static str, Handler>;

/// Wraps a function with a typed result as a handler.
pub(super) fn typed<T: serde::Serialize + 'static>(method: fn(&DevChain, Params) -> Result<T, RpcError>) -> Handler {
    Box::new(move |chain, params| reply(&method(chain, params)?))
}
