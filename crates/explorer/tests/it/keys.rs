//! API keys end to end: creation, rejection with a reason, use and revocation.

mod contract_wallets;
mod secrecy;

use std::time::Duration;

use alloy_primitives::{B256, Signature, U256, hex, keccak256};
use serde_json::{Value, json};

use self::contract_wallets::Wallets;
use crate::{
    postgres::{on_database, server::Server},
    support::{
        DevNode, Launch, TestExplorer,
        client::{Answer, Client},
        eventually,
        key_request::{KeyRequest, hex_of, now, owner_of, post, sign, text},
        wallet_clients::run_client,
    },
};

const ORDER: &str = "0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141";
const MINUTE: u64 = 60_000;

#[track_caller]
fn expect_problem(answer: &Answer, status: u16, code: &str, words: &str) {
    assert_eq!((answer.status, &answer.json["code"]), (status, &json!(code)), "{}", answer.json);
    let detail = answer.json["detail"].as_str().unwrap();
    assert!(detail.contains(words), "{detail}");
    assert_eq!(answer.header("content-type"), "application/problem+json");
}

async fn list(client: &Client, owner: &str, key: Option<&str>) -> Answer {
    let mut request = client.request("GET", &format!("/api/v1/keys?owner={owner}"));
    if let Some(key) = key {
        request = request.header("X-API-Key", key);
    }
    client.send(request).await
}

async fn stats_with(client: &Client, key: &str) -> Answer {
    client.send(client.request("GET", "/api/v1/stats").header("X-API-Key", key)).await
}

#[tokio::test]
async fn a_wallet_signature_gets_a_working_key() {
    let node = DevNode::start().await;
    let explorer = TestExplorer::start(&node.url()).await;
    let (client, signer) = (explorer.client(), &node.chain.accounts()[0]);
    let mut body = KeyRequest::by(signer).body();
    body["label"] = "ci".into();
    body["timestamp"] = body["timestamp"].to_string().into();
    body["ownerAddress"] = signer.address().to_checksum(None).into();
    let created = post(client, &body).await;
    assert_eq!(created.status, 201, "{}", created.json);
    assert_eq!(created.header("cache-control"), "no-store");
    let (key, id) = (created.json["key"].as_str().unwrap(), created.json["id"].as_u64().unwrap());
    assert!(key.starts_with("expl_") && key.len() == 43, "the form of the key");
    assert_eq!(created.json["keyPrefix"], key[..12]);
    assert!(created.json["message"].is_string());

    let answer = stats_with(client, key).await;
    assert_eq!((answer.status, answer.header("x-ratelimit-limit")), (200, "100"));
    let listed = list(client, &owner_of(signer), Some(key)).await;
    assert_eq!(listed.status, 200);
    let record = &listed.json["keys"][0];
    assert_eq!(record["id"], id);
    assert_eq!(record["keyPrefix"], key[..12]);
    assert_eq!((&record["label"], &record["active"]), (&json!("ci"), &json!(true)));
    assert_eq!(record["requestsPerMinute"], 100);
    assert!(!listed.json.to_string().contains(key), "a listing never shows a key");
}

async fn a_listing_counts_every_use(launch: impl FnOnce(Launch) -> Launch) {
    let node = DevNode::start().await;
    let explorer = launch(Launch::run(&node.url()).argument("--owner-access", "open")).start().await;
    let (client, signer) = (explorer.client(), &node.chain.accounts()[0]);
    let key = KeyRequest::by(signer).key(client).await;
    let record = async || list(client, &owner_of(signer), None).await.ok()["keys"][0].clone();
    let unused = record().await;
    assert_eq!((&unused["totalRequests"], &unused["lastUsedAt"]), (&json!(0), &unused["createdAt"]));
    // Over several writes of the counts.
    for uses in 1..=30_u64 {
        assert_eq!(stats_with(client, &key).await.status, 200);
        let used = record().await;
        assert_eq!(used["totalRequests"], uses);
        assert!(used["lastUsedAt"].as_str() > unused["lastUsedAt"].as_str(), "{used}");
        tokio::time::sleep(Duration::from_millis(60)).await;
    }
}

#[tokio::test]
async fn a_listing_counts_every_use_at_once() {
    a_listing_counts_every_use(|launch| launch).await;
}

#[tokio::test]
async fn a_listing_counts_every_use_at_once_with_a_database() {
    let server = Server::shared();
    let url = server.database().await;
    a_listing_counts_every_use(|launch| on_database(launch, &url)).await;
}

#[tokio::test]
async fn every_encoding_of_a_signature_is_accepted() {
    let node = DevNode::start().await;
    let explorer = TestExplorer::start(&node.url()).await;
    for (index, form) in ["0/1", "27/28", "compact", "bare", "no prefix"].into_iter().enumerate() {
        let signer = &node.chain.accounts()[index];
        let timestamp = now();
        let message = text(&owner_of(signer), timestamp);
        let signature = match form {
            "bare" => signer.sign_hash(&keccak256(&message)).unwrap(),
            _ => sign(signer, &message),
        };
        let mut bytes = signature.as_bytes().to_vec();
        let written = match form {
            "0/1" => {
                bytes[64] -= 27;
                hex_of(&bytes)
            }
            "compact" => hex_of(&signature.as_erc2098()),
            "no prefix" => hex::encode_upper(&bytes),
            _ => hex_of(&bytes),
        };
        let request = KeyRequest { owner: owner_of(signer), timestamp, signature: written };
        let answer = request.send(explorer.client()).await;
        assert_eq!(answer.status, 201, "{form}: {}", answer.json);
    }
}

#[tokio::test]
async fn each_invalid_signature_request_is_rejected_with_its_reason() {
    let node = DevNode::start().await;
    let explorer = TestExplorer::start(&node.url()).await;
    let client = explorer.client();
    let (signer, other) = (&node.chain.accounts()[0], &node.chain.accounts()[1]);
    let (owner, time) = (owner_of(signer), now());
    let message = text(&owner, time);
    let of_text = |text: &str| KeyRequest::of_text(signer, time, text);

    let wrong_signer = KeyRequest { owner: owner.clone(), ..KeyRequest::of_text(other, time, &message) };
    expect_problem(&wrong_signer.send(client).await, 401, "signature_mismatch", &owner_of(other));
    let tampered = of_text(&message.replace("Request", "request")).send(client).await;
    expect_problem(&tampered, 401, "signature_mismatch", "another text");
    let checksummed = of_text(&message.replace(&owner, &signer.address().to_checksum(None))).send(client).await;
    expect_problem(&checksummed, 401, "signature_mismatch", "lower case");
    let crlf = of_text(&message.replace('\n', "\r\n")).send(client).await;
    expect_problem(&crlf, 401, "signature_mismatch", "carriage return");
    let expired = KeyRequest::at(signer, time - 6 * MINUTE).send(client).await;
    expect_problem(&expired, 401, "proof_expired", "5 minutes in the past");
    let future = KeyRequest::at(signer, time + 6 * MINUTE).send(client).await;
    expect_problem(&future, 401, "proof_not_yet_valid", "5 minutes in the future");
    let seconds = KeyRequest::at(signer, time / 1_000).send(client).await;
    expect_problem(&seconds, 400, "invalid_parameter", "milliseconds");

    let signature = sign(signer, &message);
    let twin = Signature::new(signature.r(), ORDER.parse::<U256>().unwrap() - signature.s(), !signature.v());
    let twin = KeyRequest { owner: owner.clone(), timestamp: time, signature: hex_of(&twin.as_bytes()) };
    expect_problem(&twin.send(client).await, 401, "signature_not_canonical", "low s");
    for (signature, status, code, words) in [
        ("0x1234", 401, "invalid_signature", "65 bytes"),
        ("0x", 401, "invalid_signature", "65 bytes"),
        ("zz", 400, "invalid_parameter", "hexadecimal"),
    ] {
        let request = KeyRequest { owner: owner.clone(), timestamp: time, signature: signature.to_owned() };
        expect_problem(&request.send(client).await, status, code, words);
    }

    for field in ["signature", "timestamp", "ownerAddress"] {
        let mut body = of_text(&message).body();
        body.as_object_mut().unwrap().remove(field);
        let answer = post(client, &body).await;
        expect_problem(&answer, 400, "missing_field", field);
        assert_eq!(answer.json["field"], field);
    }
    let mut body = of_text(&message).body();
    body["lable"] = "x".into();
    let answer = post(client, &body).await;
    expect_problem(&answer, 400, "unknown_field", "lable");

    // The same request with a valid signature is accepted.
    assert_eq!(of_text(&message).send(client).await.status, 201);
}

#[tokio::test]
async fn a_signature_is_accepted_only_once_even_after_a_restart_or_a_crash() {
    let node = DevNode::start().await;
    let explorer = TestExplorer::start(&node.url()).await;
    let (first, second) = (KeyRequest::by(&node.chain.accounts()[0]), KeyRequest::by(&node.chain.accounts()[1]));
    let key = first.key(explorer.client()).await;
    expect_problem(&first.send(explorer.client()).await, 409, "proof_used", "already used");

    let (ended, folder) = explorer.stop().await;
    assert!(ended.status.success());
    let explorer = TestExplorer::start_on(&node.url(), folder.path()).await;
    expect_problem(&first.send(explorer.client()).await, 409, "proof_used", "already used");
    let second_key = second.key(explorer.client()).await;

    let folder_again = explorer.kill();
    let explorer = TestExplorer::start_on(&node.url(), folder_again.path()).await;
    expect_problem(&second.send(explorer.client()).await, 409, "proof_used", "already used");
    for key in [key, second_key] {
        assert_eq!(stats_with(explorer.client(), &key).await.status, 200, "a key outlasts restarts");
    }
}

#[tokio::test]
async fn stored_key_use_counts_survive_a_crash() {
    let node = DevNode::start().await;
    let explorer = TestExplorer::start(&node.url()).await;
    let signer = &node.chain.accounts()[0];
    let key = KeyRequest::by(signer).key(explorer.client()).await;
    for _ in 0..9 {
        assert_eq!(stats_with(explorer.client(), &key).await.status, 200);
    }
    // Through the admin socket, since a request with the key would count, too.
    eventually("nine stored uses", async || {
        let mut command = Launch::bare(["keys", "list"]).on(explorer.data()).spawn();
        command.ended().await;
        command.stdout().split_whitespace().any(|word| word == "9").then_some(())
    })
    .await;
    let folder = explorer.kill();
    let explorer = TestExplorer::start_on(&node.url(), folder.path()).await;
    let listed = list(explorer.client(), &owner_of(signer), Some(&key)).await;
    let counted = listed.json["keys"][0]["totalRequests"].as_u64().unwrap();
    assert!((9..=10).contains(&counted), "{counted}");
}

#[tokio::test]
async fn an_owner_has_at_most_five_keys_and_can_revoke_them() {
    let node = DevNode::start().await;
    let explorer = TestExplorer::start(&node.url()).await;
    let (client, signer) = (explorer.client(), &node.chain.accounts()[0]);
    let mut keys = Vec::new();
    for number in 0..5 {
        keys.push(KeyRequest::at(signer, now() + number).key(client).await);
    }
    let sixth = KeyRequest::at(signer, now() + 10);
    expect_problem(&sixth.send(client).await, 409, "key_quota_reached", "5 active keys");

    let listed = list(client, &owner_of(signer), Some(&keys[0])).await;
    let id = listed.json["keys"][0]["id"].as_u64().unwrap();
    let revoke = async |key: Option<&str>, id: u64| {
        let mut request = client.request("DELETE", &format!("/api/v1/keys/{id}"));
        if let Some(key) = key {
            request = request.header("X-API-Key", key);
        }
        client.send(request).await
    };
    expect_problem(&revoke(None, id).await, 401, "key_required", "POST /api/v1/keys");
    let other_key = KeyRequest::by(&node.chain.accounts()[1]).key(client).await;
    expect_problem(&revoke(Some(&other_key), id).await, 404, "key_not_found", "no such key");
    expect_problem(&revoke(Some(&keys[0]), 9_999).await, 404, "key_not_found", "no such key");
    let revoked = revoke(Some(&keys[0]), id).await;
    assert_eq!((revoked.status, &revoked.json["success"], &revoked.json["id"]), (200, &json!(true), &json!(id)));
    expect_problem(&stats_with(client, &keys[4]).await, 401, "revoked_key", "revoked");
    let listed = list(client, &owner_of(signer), Some(&keys[0])).await;
    assert_eq!(listed.json["keys"].as_array().unwrap().len(), 5);
    assert_eq!(listed.json["keys"][0]["active"], false);
    // The signature rejected at the key limit can still be used.
    assert_eq!(sixth.send(client).await.status, 201);
}

#[tokio::test]
async fn only_the_owner_can_list_keys_unless_access_is_open() {
    let node = DevNode::start().await;
    let explorer = Launch::run(&node.url()).argument("--owner-access", "guarded").start().await;
    let client = explorer.client();
    let owner = owner_of(&node.chain.accounts()[0]);
    let key = KeyRequest::by(&node.chain.accounts()[0]).key(client).await;
    let other_key = KeyRequest::by(&node.chain.accounts()[1]).key(client).await;
    expect_problem(&list(client, &owner, None).await, 401, "key_required", "sign a message");
    expect_problem(&list(client, &owner, Some(&other_key)).await, 403, "not_owner", "another owner");
    assert_eq!(list(client, &owner, Some(&key)).await.status, 200);
    assert_eq!(client.get("/api/v1/keys").await.status, 400);

    let open = Launch::run(&node.url()).argument("--owner-access", "open").start().await;
    let answer = list(open.client(), &owner, None).await;
    assert_eq!((answer.status, answer.json), (200, json!({ "keys": [] })));
}

#[tokio::test]
async fn the_operator_lists_creates_updates_and_revokes_keys_of_a_stopped_explorer() {
    let node = DevNode::start().await;
    let explorer = TestExplorer::start(&node.url()).await;
    let signer = &node.chain.accounts()[0];
    let key = KeyRequest::by(signer).key(explorer.client()).await;
    let (_, folder) = explorer.stop().await;

    let operate = async |arguments: Vec<&str>| {
        let mut process = Launch::bare(arguments).on(folder.path()).spawn();
        let status = process.ended().await;
        (status.success(), process.stdout() + &process.stderr())
    };
    let (listed, table) = operate(vec!["keys", "list"]).await;
    assert!(listed && table.contains(&key[..12]) && table.contains(&owner_of(signer)), "{table}");
    assert!(!table.contains(&key));
    assert!(operate(vec!["keys", "limit", "1", "500"]).await.0);
    let (made, printed) = operate(vec!["keys", "create", "--owner", &owner_of(signer), "--label", "by hand"]).await;
    let second = printed.lines().next().unwrap().to_owned();
    assert!(made && second.starts_with("expl_"), "{printed}");
    assert!(operate(vec!["keys", "revoke", "2"]).await.0);
    let (found, printed) = operate(vec!["keys", "revoke", "77"]).await;
    assert!(!found && printed.contains("no key 77"), "{printed}");

    let explorer = TestExplorer::start_on(&node.url(), folder.path()).await;
    assert_eq!(stats_with(explorer.client(), &key).await.header("x-ratelimit-limit"), "500");
    expect_problem(&stats_with(explorer.client(), &second).await, 401, "revoked_key", "revoked");
}

async fn client_gets_a_key(explorer: &TestExplorer, script: &str, arguments: &[&str]) -> Value {
    let base = explorer.client().url("");
    let arguments: Vec<&str> = [&arguments[..1], &[base.as_str()], &arguments[1..]].concat();
    let made = run_client(script, &arguments).await;
    assert_eq!(made["status"], 201, "{made}");
    let key = made["body"]["key"].as_str().unwrap();
    let listed = list(explorer.client(), made["owner"].as_str().unwrap(), Some(key)).await;
    assert_eq!(listed.json["keys"][0]["id"], made["body"]["id"], "{}", listed.json);
    made
}

#[tokio::test]
async fn viem_ethers_and_eth_account_get_keys() {
    let node = DevNode::start().await;
    let wallets = Wallets::deploy(&node);
    let explorer = TestExplorer::start(&node.url()).await;
    let private_key = |index: usize| node.chain.accounts()[index].to_bytes().to_string();
    client_gets_a_key(&explorer, "create_key.mjs", &["viem", &private_key(0)]).await;
    client_gets_a_key(&explorer, "create_key.mjs", &["ethers", &private_key(1)]).await;
    client_gets_a_key(&explorer, "create_key.py", &["personal", &private_key(2)]).await;
    client_gets_a_key(&explorer, "create_key.py", &["bare", &private_key(3)]).await;

    let (owner, salt) = (node.account(4), B256::repeat_byte(9));
    let wallet = wallets.address_of(&node, owner, salt).to_string();
    let (factory, deployment) = (wallets.factory.to_string(), hex_of(&Wallets::deployment(owner, salt)));
    let arguments = ["viem-erc6492", &private_key(4), &wallet, &factory, &deployment];
    client_gets_a_key(&explorer, "create_key.mjs", &arguments).await;
}
