//! `eth_getStorageAt`.

use domain::{Address, B256};
use futures::future::BoxFuture;

use crate::{
    client::NodeClient,
    decode::HexBytes,
    endpoint::{call::Call, health::Operation, upstream::Upstream},
    error::NodeError,
    methods::block_param::CallBlock,
    rpc_method::RpcMethod,
};

impl NodeClient {
    /// Storage slots of a contract, in the requested order.
    pub fn storage<'a>(
        &'a self,
        address: Address,
        slots: &'a [B256],
        at: CallBlock,
    ) -> BoxFuture<'a, Result<Vec<B256>, NodeError>> {
        Box::pin(async move {
            let request = |_, upstream: Upstream| async move { fetch_storage(&upstream, address, slots, at).await };
            self.with_retries(Operation::Storage, self.tries(), request).await
        })
    }
}

pub(crate) async fn fetch_storage(
    upstream: &Upstream,
    address: Address,
    slots: &[B256],
    at: CallBlock,
) -> Result<Vec<B256>, NodeError> {
    let call = |slot: &B256| Call::new(RpcMethod::GetStorageAt, format!(r#"["{address:#x}","{slot}",{at}]"#));
    let calls: Vec<Call> = slots.iter().map(call).collect();
    let responses = upstream.call_many::<HexBytes>(&calls).await?;
    let read = |response: Result<Option<HexBytes>, NodeError>| {
        let word = response?.ok_or_else(|| NodeError::invalid_response(RpcMethod::GetStorageAt, "null"))?.0;
        if word.len() > B256::len_bytes() {
            return Err(NodeError::invalid_response(RpcMethod::GetStorageAt, "more than 32 bytes"));
        }
        Ok(B256::left_padding_from(&word))
    };
    responses.into_iter().map(read).collect()
}
