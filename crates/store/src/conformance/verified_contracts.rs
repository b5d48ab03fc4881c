use std::sync::Arc;

use domain::{Address, B256, Bytes, MatchKind, Order, PageRequest, SourceFile, VerifiedContract, VerifiedSummary};

use crate::{Kept, VerifiedContracts};

/// Puts an empty store's verified contracts to the proof.
pub async fn run_verified_contracts(records: Arc<dyn VerifiedContracts>) {
    a_verification_is_kept_whole(&*records).await;
    only_more_proof_replaces_one(&*records).await;
    other_code_replaces_any(&*records).await;
    lists_are_exact(&*records).await;
    verifications_at_the_same_time_do_not_lose_one_another(records).await;
}

fn contract(address: u8, code: u8, kind: MatchKind) -> VerifiedContract {
    VerifiedContract {
        summary: VerifiedSummary {
            address: Address::repeat_byte(address),
            code_hash: B256::repeat_byte(code),
            name: format!("Coin{address} \u{1f4b0}"),
            compiler: "0.8.20+commit.a1b79de6".to_owned(),
            runtime_match: Some(kind),
            creation_match: None,
            license: Some("MIT".to_owned()),
            verified_at: 1_800_000_000_000 + u64::from(address),
        },
        file: "contracts/Coin.sol".to_owned(),
        abi: r#"[{"type":"fallback"}]"#.to_owned(),
        settings: "{}".to_owned(),
        sources: vec![
            SourceFile { path: "contracts/Coin.sol".to_owned(), content: "contract Coin {}\r\n\u{e9}".to_owned() },
            SourceFile { path: "../../etc/passwd".to_owned(), content: String::new() },
        ],
        libraries: vec![("a.sol:L".to_owned(), Address::repeat_byte(0x77))],
        constructor_arguments: Some(Bytes::from(vec![1, 2, 3])),
    }
}

async fn a_verification_is_kept_whole(records: &dyn VerifiedContracts) {
    let (here, code) = (Address::repeat_byte(1), B256::repeat_byte(0xc1));
    assert_eq!(records.find_verified(here).await.expect("find"), None);
    assert_eq!(records.find_verified_summary(here).await.expect("find"), None);
    assert_eq!(records.find_verified_twin(code).await.expect("find"), None);
    assert_eq!(records.list_verified(PageRequest::newest(5)).await.expect("list").total, 0);

    let wanted = contract(1, 0xc1, MatchKind::Partial);
    let before = records.state();
    assert!(before.is_some());
    assert_eq!(records.keep_verified(wanted.clone()).await.expect("keep"), Kept::New);
    assert_ne!(records.state(), before, "what is kept makes another state");
    assert_eq!(records.find_verified(here).await.expect("find"), Some(wanted.clone()));
    assert_eq!(records.find_verified_summary(here).await.expect("find"), Some(wanted.summary));
    assert_eq!(records.find_verified_twin(code).await.expect("find"), Some(here));

    let mut bare = contract(2, 0xc2, MatchKind::Exact);
    bare.summary.license = None;
    bare.summary.runtime_match = None;
    bare.summary.creation_match = Some(MatchKind::Exact);
    bare.constructor_arguments = None;
    bare.libraries.clear();
    bare.sources.clear();
    records.keep_verified(bare.clone()).await.expect("keep");
    assert_eq!(records.find_verified(bare.summary.address).await.expect("find"), Some(bare));
}

async fn only_more_proof_replaces_one(records: &dyn VerifiedContracts) {
    let here = Address::repeat_byte(1);
    let mut again = contract(1, 0xc1, MatchKind::Partial);
    again.sources.clear();
    assert_eq!(records.keep_verified(again.clone()).await.expect("keep"), Kept::Unchanged);
    assert_eq!(records.find_verified(here).await.expect("find").map(|kept| kept.sources.len()), Some(2));

    again.summary.creation_match = Some(MatchKind::Partial);
    assert_eq!(records.keep_verified(again).await.expect("keep"), Kept::Upgraded);
    let exact = contract(1, 0xc1, MatchKind::Exact);
    assert_eq!(records.keep_verified(exact.clone()).await.expect("keep"), Kept::Upgraded);
    assert_eq!(records.keep_verified(contract(1, 0xc1, MatchKind::Partial)).await.expect("keep"), Kept::Unchanged);
    assert_eq!(records.find_verified(here).await.expect("find"), Some(exact));

    // A twin is the one that proves most, whoever came first.
    let twin = contract(3, 0xc3, MatchKind::Partial);
    let better = contract(4, 0xc3, MatchKind::Exact);
    let later = contract(5, 0xc3, MatchKind::Partial);
    for contract in [twin, better, later] {
        assert_eq!(records.keep_verified(contract).await.expect("keep"), Kept::New);
    }
    let found = records.find_verified_twin(B256::repeat_byte(0xc3)).await.expect("find");
    assert_eq!(found, Some(Address::repeat_byte(4)));
}

async fn other_code_replaces_any(records: &dyn VerifiedContracts) {
    let other = contract(4, 0xd4, MatchKind::Partial);
    assert_eq!(records.keep_verified(other.clone()).await.expect("keep"), Kept::New);
    assert_eq!(records.find_verified(other.summary.address).await.expect("find"), Some(other));
    // The code that it had is still somewhere else, or nowhere; never where other code was verified since.
    let twin = records.find_verified_twin(B256::repeat_byte(0xc3)).await.expect("find");
    assert_ne!(twin, Some(Address::repeat_byte(4)));
}

async fn lists_are_exact(records: &dyn VerifiedContracts) {
    let addresses = async |offset: u64, limit: u32, order: Order| {
        let page = records.list_verified(PageRequest { offset, limit, order }).await.expect("list");
        assert_eq!(page.total, 5);
        page.items.iter().map(|summary| summary.address[0]).collect::<Vec<u8>>()
    };
    assert_eq!(addresses(0, 10, Order::NewestFirst).await, [5, 4, 3, 2, 1]);
    assert_eq!(addresses(1, 2, Order::NewestFirst).await, [4, 3]);
    assert_eq!(addresses(0, 2, Order::OldestFirst).await, [1, 2]);
    assert_eq!(addresses(9, 2, Order::NewestFirst).await, [] as [u8; 0]);
}

async fn verifications_at_the_same_time_do_not_lose_one_another(records: Arc<dyn VerifiedContracts>) {
    let before = records.list_verified(PageRequest::newest(1)).await.expect("list").total;
    let keep = |number: u8| {
        let records = Arc::clone(&records);
        async move { records.keep_verified(contract(100 + number, 100 + number, MatchKind::Exact)).await }
    };
    let kept = futures::future::join_all((0..20).map(keep)).await;
    assert!(kept.into_iter().all(|kept| kept.expect("keep") == Kept::New));
    let page = records.list_verified(PageRequest::newest(100)).await.expect("list");
    assert_eq!((page.total, page.items.len() as u64), (before + 20, before + 20));
}
