//! Calls of clients, whose result is forwarded as the node sent it.

use std::time::Duration;

use futures::future::BoxFuture;
use serde::{Deserialize, Deserializer};
use sonic_rs::LazyValue;

use crate::{
    client::NodeClient,
    endpoint::{call::Call, health::Operation, upstream::Upstream},
    error::NodeError,
    rpc_method::RpcMethod,
};

/// A client waits for the response.
const TIMEOUT: Duration = Duration::from_secs(15);

impl NodeClient {
    /// Forwards a call with parameters as JSON text, once, and returns the result as JSON text, unchecked: for clients that ask
    /// for the node's own response. Only methods that read, or that send a signed transaction.
    pub fn forward_raw<'a>(&'a self, method: RpcMethod, params: &'a str) -> BoxFuture<'a, Result<String, NodeError>> {
        Box::pin(async move {
            let request = |_, upstream: Upstream| async move { forward_raw(&upstream, method, params).await };
            self.with_retries(Operation::Forwarded, 1, request).await
        })
    }
}

/// The JSON text of a result.
struct RawJson(String);

impl<'de> Deserialize<'de> for RawJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        LazyValue::deserialize(deserializer).map(|value| Self(value.as_raw_str().to_owned()))
    }
}

pub(crate) async fn forward_raw(upstream: &Upstream, method: RpcMethod, params: &str) -> Result<String, NodeError> {
    let call = Call::new(method, params).within(TIMEOUT).once();
    Ok(upstream.call::<RawJson>(&call).await?.map_or_else(|| "null".to_owned(), |RawJson(text)| text))
}
