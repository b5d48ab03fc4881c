//! Keys for contract wallets, which validate signatures themselves: deployed (ERC-1271) or not yet (ERC-6492).

use alloy_primitives::{Address, B256, TxKind, U256, hex, keccak256};
use devchain::Signer;
use serde_json::json;

use super::{expect_problem, list};
use crate::support::{
    Anvil, DevNode, Stopwatch, TestExplorer,
    key_request::{KeyRequest, hex_of, now, owner_of, sign, text},
    permits,
};

/// Contract wallets on the dev chain.
pub(super) struct Wallets {
    pub(super) factory: Address,
    pub(super) stubborn: Address,
}

const FACTORY: &str = include_str!("../../../../api/contracts/artifacts/WalletFactory.hex");
const STUBBORN: &str = include_str!("../../../../api/contracts/artifacts/StubbornWallet.hex");

impl Wallets {
    pub(super) fn deploy(node: &DevNode) -> Self {
        let deploy = |code: &str| {
            let code = hex::decode(code.trim()).unwrap();
            let nonce = node.chain.next_nonce(node.account(0));
            node.chain.send(0, TxKind::Create, U256::ZERO, code).unwrap();
            node.chain.mine(None);
            node.account(0).create(nonce)
        };
        Self { factory: deploy(FACTORY), stubborn: deploy(STUBBORN) }
    }

    pub(super) fn deployment(owner: Address, salt: B256) -> Vec<u8> {
        Self::encode_call("deploy(address,bytes32)", owner, salt)
    }

    fn encode_call(function: &str, owner: Address, salt: B256) -> Vec<u8> {
        [&keccak256(function)[..4], owner.into_word().as_slice(), salt.as_slice()].concat()
    }

    /// The address at which the factory deploys a wallet of this owner.
    pub(super) fn address_of(&self, node: &DevNode, owner: Address, salt: B256) -> Address {
        let encode_call = Self::encode_call("addressOf(address,bytes32)", owner, salt);
        let answer = node.chain.call(&devchain::Call::to(self.factory, encode_call)).unwrap();
        Address::from_word(B256::from_slice(&answer))
    }
}

#[tokio::test]
async fn a_contract_wallet_validates_the_signature_of_its_owner() {
    permits::timely().await;
    let node = DevNode::start().await;
    let wallets = Wallets::deploy(&node);
    let (signer, other, salt) = (&node.chain.accounts()[1], &node.chain.accounts()[2], B256::ZERO);
    let wallet = wallets.address_of(&node, signer.address(), salt);
    node.chain.send(0, TxKind::Call(wallets.factory), U256::ZERO, Wallets::deployment(signer.address(), salt)).unwrap();
    node.chain.mine(None);
    assert!(!node.chain.code(wallet).is_empty());
    let explorer = TestExplorer::start(&node.url()).await;
    let client = explorer.client();

    let owner = format!("{wallet:#x}");
    let time = now();
    let by = |signer| KeyRequest { owner: owner.clone(), ..KeyRequest::of_text(signer, time, &text(&owner, time)) };
    expect_problem(&by(other).send(client).await, 401, "signature_mismatch", "ERC-1271");
    let key = by(signer).key(client).await;
    assert_eq!(list(client, &owner, Some(&key)).await.json["keys"].as_array().unwrap().len(), 1);

    let watch = Stopwatch::start();
    let owner = format!("{:#x}", wallets.stubborn);
    let stubborn = KeyRequest { owner: owner.clone(), ..KeyRequest::of_text(signer, time, &text(&owner, time)) };
    expect_problem(&stubborn.send(client).await, 401, "signature_mismatch", "ERC-1271");
    watch.assert_within(8);
}

/// The signature of a wallet that is not deployed yet, encoded by hand.
fn erc6492(factory: Address, deployment: &[u8], inner: &[u8]) -> String {
    let word = |number: usize| U256::from(number).to_be_bytes::<32>();
    let padded = |bytes: &[u8]| {
        let mut padded = [&word(bytes.len())[..], bytes].concat();
        padded.resize(padded.len().next_multiple_of(32), 0);
        padded
    };
    let deployment = padded(deployment);
    let mut signature = factory.into_word().to_vec();
    signature.extend(word(96));
    signature.extend(word(96 + deployment.len()));
    signature.extend(deployment);
    signature.extend(padded(inner));
    signature.extend(hex!("6492649264926492649264926492649264926492649264926492649264926492"));
    hex_of(&signature)
}

#[tokio::test]
async fn a_contract_wallet_that_is_not_deployed_yet_validates_signatures() {
    let node = DevNode::start().await;
    let wallets = Wallets::deploy(&node);
    let (signer, other) = (&node.chain.accounts()[1], &node.chain.accounts()[2]);
    let salt = B256::repeat_byte(7);
    let wallet = wallets.address_of(&node, signer.address(), salt);
    let explorer = TestExplorer::start(&node.url()).await;
    let client = explorer.client();
    let (owner, time) = (format!("{wallet:#x}"), now());
    let deployment = Wallets::deployment(signer.address(), salt);
    let message = text(&owner, time);

    let request = |signature| KeyRequest { owner: owner.clone(), timestamp: time, signature };
    let wrong = request(erc6492(wallets.factory, &deployment, &sign(other, &message).as_bytes()));
    expect_problem(&wrong.send(client).await, 401, "signature_mismatch", "ERC-1271");
    let elsewhere = request(erc6492(other.address(), &deployment, &sign(signer, &message).as_bytes()));
    expect_problem(&elsewhere.send(client).await, 401, "signature_mismatch", "ERC-6492");
    let broken = request(hex_of(&[[1; 8].as_slice(), &[0x64, 0x92].repeat(16)].concat()));
    expect_problem(&broken.send(client).await, 401, "signature_mismatch", "accept");
    let right = request(erc6492(wallets.factory, &deployment, &sign(signer, &message).as_bytes()));
    assert_eq!(right.send(client).await.status, 201);
    assert!(node.chain.code(wallet).is_empty(), "asking leaves no trace");
}

#[tokio::test]
async fn only_plain_signatures_can_be_checked_while_the_node_is_down() {
    let mut node = DevNode::start().await;
    let explorer = TestExplorer::start(&node.url()).await;
    node.wait_for(&explorer).await;
    node.stop_serving().await;
    let (signer, other) = (node.chain.accounts()[0].clone(), node.chain.accounts()[1].clone());
    let unknown = KeyRequest { owner: owner_of(&other), ..KeyRequest::by(&signer) };
    let answer = unknown.send(explorer.client()).await;
    expect_problem(&answer, 503, "node_unavailable", "Try again shortly");
    assert_eq!(answer.header("retry-after"), "5");
    assert_eq!(KeyRequest::by(&signer).send(explorer.client()).await.status, 201);
}

/// The first default account of anvil.
const ANVIL_KEY: &str = "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80";

#[tokio::test]
async fn contract_wallets_validate_signatures_on_anvil() {
    let anvil = Anvil::start().await;
    let sender = anvil.accounts().await[0].clone();
    let deploy = json!({ "from": sender, "data": format!("0x{}", FACTORY.trim()) });
    let receipt = anvil.send(deploy).await;
    let factory: Address = receipt["contractAddress"].as_str().unwrap().parse().unwrap();
    let signer = Signer::from_bytes(&ANVIL_KEY.parse().unwrap()).unwrap();
    let salt = B256::repeat_byte(5);
    let encode_call = hex_of(&Wallets::encode_call("addressOf(address,bytes32)", signer.address(), salt));
    let asked = json!([{ "to": factory, "data": encode_call }, "latest"]);
    let wallet = anvil.rpc.call("eth_call", asked).await.as_str().unwrap()[26..].to_owned();
    let owner = format!("0x{wallet}");
    let explorer = TestExplorer::start(anvil.url()).await;
    let client = explorer.client();

    let deployment = Wallets::deployment(signer.address(), salt);
    let time = now();
    let signature = erc6492(factory, &deployment, &sign(&signer, &text(&owner, time)).as_bytes());
    let not_deployed = KeyRequest { owner: owner.clone(), timestamp: time, signature };
    assert_eq!(not_deployed.send(client).await.status, 201);

    anvil.send(json!({ "from": sender, "to": factory, "data": hex_of(&deployment) })).await;
    let time = time + 1;
    let by = |text: &str| KeyRequest { owner: owner.clone(), ..KeyRequest::of_text(&signer, time, text) };
    expect_problem(&by("another text").send(client).await, 401, "signature_mismatch", "ERC-1271");
    assert_eq!(by(&text(&owner, time)).send(client).await.status, 201);
}
