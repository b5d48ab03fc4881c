//! A served dev chain and a client for it.

use std::net::{Ipv4Addr, SocketAddr};

use alloy_primitives::{Address, B256, Bytes, TxKind, U256, hex};
use alloy_rpc_types_eth::{Block, TransactionReceipt};
use devchain::{DevChain, DevChainConfig, RpcServer};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Stores the word it is called with in slot 0 and logs it under topic 42; reverts without input.
pub(crate) const KEEPER_RUNTIME: [u8; 28] = hex!("3660095760006000fd5b60003580600055600052602a60206000a100");

/// The creation code of the keeper.
pub(crate) fn keeper() -> Bytes {
    let mut code = hex!("601c600c600039601c6000f3").to_vec();
    code.extend_from_slice(&KEEPER_RUNTIME);
    code.into()
}

pub(crate) fn word(number: u64) -> Bytes {
    B256::from(U256::from(number)).into()
}

pub(crate) fn ether(amount: u64) -> U256 {
    U256::from(amount) * U256::from(10).pow(U256::from(18))
}

pub(crate) struct Node {
    pub(crate) chain: DevChain,
    pub(crate) server: RpcServer,
    client: reqwest::Client,
}

impl Node {
    pub(crate) async fn start() -> Self {
        Self::with(DevChainConfig::default()).await
    }

    pub(crate) async fn with(config: DevChainConfig) -> Self {
        // Another test of this process may have installed it.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let chain = DevChain::new(config);
        let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        Self { server: chain.serve(listen).await.unwrap(), client: reqwest::Client::new(), chain }
    }

    pub(crate) fn account(&self, index: usize) -> Address {
        self.chain.accounts()[index].address()
    }

    /// Sends a value, mines it and returns the transaction hash.
    pub(crate) fn pay(&self, from: usize, to: Address, value: U256) -> B256 {
        let hash = self.chain.send(from, TxKind::Call(to), value, []).unwrap();
        self.chain.mine(None);
        hash
    }

    /// Creates a keeper, mines it and returns its address.
    pub(crate) fn create_keeper(&self, from: usize) -> Address {
        let hash = self.chain.send(from, TxKind::Create, U256::ZERO, keeper()).unwrap();
        self.chain.mine(None);
        self.chain.receipt(hash).unwrap().transaction().created.unwrap()
    }

    /// Posts a body and returns the status and body of the response.
    pub(crate) async fn post(&self, body: impl Into<String>) -> (u16, String) {
        let request = self.client.post(self.server.url()).body(body.into());
        let response = request.send().await.unwrap();
        (response.status().as_u16(), response.text().await.unwrap())
    }

    async fn answer(&self, method: &str, params: Value) -> Value {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let (_, answer) = self.post(body.to_string()).await;
        serde_json::from_str(&answer).unwrap()
    }

    pub(crate) async fn request(&self, method: &str, params: Value) -> Value {
        let mut answer = self.answer(method, params).await;
        assert!(answer.get("error").is_none(), "{method} failed: {answer}");
        answer["result"].take()
    }

    pub(crate) async fn request_as<T: DeserializeOwned>(&self, method: &str, params: Value) -> T {
        serde_json::from_value(self.request(method, params).await).unwrap()
    }

    pub(crate) async fn error(&self, method: &str, params: Value) -> Value {
        let mut answer = self.answer(method, params).await;
        assert!(answer.get("result").is_none(), "{method} succeeded: {answer}");
        answer["error"].take()
    }

    pub(crate) async fn full_block(&self, number: u64) -> Block {
        self.request_as("eth_getBlockByNumber", json!([format!("{number:#x}"), true])).await
    }

    pub(crate) async fn receipts(&self, number: u64) -> Vec<TransactionReceipt> {
        self.request_as("eth_getBlockReceipts", json!([format!("{number:#x}")])).await
    }

    pub(crate) async fn balance(&self, address: Address) -> U256 {
        self.request_as("eth_getBalance", json!([address, "latest"])).await
    }
}
