//! Balance, nonce and code of one account at a block, or at the node's head where that state is unavailable.

use domain::{Account, Address, BlockRef, Code};
use futures::future::BoxFuture;

use crate::{
    client::NodeClient,
    decode::{HexBytes, Quantity, Wide},
    endpoint::{call::Call, health::Operation, upstream::Upstream},
    error::NodeError,
    methods::block_param::BlockParam,
    rpc_error::RpcErrorKind,
    rpc_method::RpcMethod,
};

const METHODS: [RpcMethod; 3] = [RpcMethod::GetBalance, RpcMethod::GetTransactionCount, RpcMethod::GetCode];

impl NodeClient {
    /// Balance, nonce and code of an account at a block. Falls back to the node's head if the state is unavailable;
    /// [`Account::block`] is the block that was used.
    pub fn account(&self, address: Address, at: BlockRef) -> BoxFuture<'_, Result<Account, NodeError>> {
        Box::pin(async move {
            self.with_retries(Operation::Account, self.tries(), |_, upstream| async move {
                fetch_account(&upstream, address, at).await
            })
            .await
        })
    }
}

pub(crate) async fn fetch_account(upstream: &Upstream, address: Address, at: BlockRef) -> Result<Account, NodeError> {
    match account_at(upstream, address, at).await {
        // The node has pruned this state, or is behind the index.
        Err(error) if error.rpc_kind() == Some(RpcErrorKind::StateGone) => {
            let head = upstream.head().await?;
            account_at(upstream, address, head).await
        }
        outcome => outcome,
    }
}

async fn account_at(upstream: &Upstream, address: Address, at: BlockRef) -> Result<Account, NodeError> {
    let state = BlockParam::of(upstream, at);
    let outcome = request_account(upstream, address, at, &state).await;
    match outcome.as_ref().err().and_then(|error| state.fallback(upstream, error)) {
        Some(other) => request_account(upstream, address, at, &other).await,
        None => outcome,
    }
}

async fn request_account(
    upstream: &Upstream,
    address: Address,
    at: BlockRef,
    block: &BlockParam,
) -> Result<Account, NodeError> {
    let calls = METHODS.map(|method| Call::new(method, format!(r#"["{address:#x}",{block}]"#)));
    let mut responses = upstream.call_many::<String>(&calls).await?.into_iter().zip(METHODS);
    let mut next = || {
        let missing = |method| NodeError::invalid_response(method, "no result");
        let (response, method) = responses.next().ok_or_else(|| missing(METHODS[0]))?;
        Ok::<_, NodeError>((response?.ok_or_else(|| missing(method))?, method))
    };
    let balance: Wide = read(next()?)?;
    let nonce: Quantity = read(next()?)?;
    let code: HexBytes = read(next()?)?;
    Ok(Account { balance: balance.0, nonce: nonce.0, code: Code::from_bytes(&code.0), block: at.number })
}

fn read<T: serde::de::DeserializeOwned>((response, method): (String, RpcMethod)) -> Result<T, NodeError> {
    let text = serde::de::value::StringDeserializer::<serde::de::value::Error>::new(response);
    T::deserialize(text).map_err(|error| NodeError::invalid_response(method, error))
}
