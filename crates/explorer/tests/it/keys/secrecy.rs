//! Keys and signatures do not leak into the log or the data folder.

use super::{contract_wallets::Wallets, list, stats_with};
use crate::support::{
    DevNode, Launch, TestExplorer,
    key_request::{KeyRequest, owner_of},
};

#[tokio::test]
async fn the_log_has_no_keys_and_no_signatures() {
    let node = DevNode::start().await;
    let wallets = Wallets::deploy(&node);
    let launch = Launch::run(&node.url()).argument("--log", "trace");
    let explorer = launch.start().await;
    let (client, signer) = (explorer.client(), &node.chain.accounts()[0]);
    let mut secrets = Vec::new();
    for request in [
        KeyRequest::by(signer),
        KeyRequest { owner: owner_of(&node.chain.accounts()[1]), ..KeyRequest::by(signer) },
        KeyRequest { owner: format!("{:#x}", wallets.stubborn), ..KeyRequest::by(signer) },
        KeyRequest { signature: "0x1234567890abcdef".to_owned(), ..KeyRequest::by(signer) },
        KeyRequest::at(signer, 5),
    ] {
        let answer = request.send(client).await;
        secrets.push(request.signature.trim_start_matches("0x").to_owned());
        secrets.extend(answer.json["key"].as_str().map(str::to_owned));
    }
    let key = secrets.iter().find(|secret| secret.starts_with("expl_")).unwrap().clone();
    let mut wrong = key.clone();
    wrong.replace_range(20..22, "zz");
    for key in [&key, &wrong] {
        stats_with(client, key).await;
        list(client, &owner_of(signer), Some(key)).await;
    }
    client.send(client.request("DELETE", "/api/v1/keys/1").header("X-API-Key", &key)).await;
    stats_with(client, &key).await;
    secrets.push(wrong);
    explorer.wait_for_log("key revoked").await;
    let (_, log) = {
        let log = explorer.log();
        (explorer.stop().await, log)
    };
    assert!(log.contains("TRACE") || log.contains("DEBUG"), "the log tells everything it can");
    assert!(log.contains("key issued"), "{log}");
    for secret in &secrets {
        assert!(!log.contains(secret.as_str()), "a secret is in the log");
        assert!(!log.to_lowercase().contains(&secret.to_lowercase()), "a secret is in the log");
    }
    // Nor a part of a key.
    assert!(!log.contains(&key[12..37]), "a part of a key is in the log");
}

#[tokio::test]
async fn the_data_folder_has_no_plain_keys() {
    fn files(folder: &std::path::Path) -> Vec<Vec<u8>> {
        let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![std::fs::read(path).unwrap()] }).collect()
    }
    let node = DevNode::start().await;
    let explorer = TestExplorer::start(&node.url()).await;
    let signer = &node.chain.accounts()[0];
    let key = KeyRequest::by(signer).key(explorer.client()).await;
    assert_eq!(stats_with(explorer.client(), &key).await.status, 200);
    let (_, folder) = explorer.stop().await;
    let files = files(folder.path());
    let holds = |words: &[u8]| files.iter().any(|file| file.windows(words.len()).any(|part| part == words));
    assert!(holds(&key.as_bytes()[..12]), "the prefix is kept as it is, so the key would show too");
    assert!(!holds(&key.as_bytes()[..20]) && !holds(&key.as_bytes()[12..37]), "a part of a key is kept");
}
