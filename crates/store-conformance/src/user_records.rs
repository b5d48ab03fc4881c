use std::sync::Arc;

use domain::{Address, ApiKey, KeyDigest, KeyUse, NewApiKey};

use store::{ACTIVE_KEYS_PER_OWNER, AddKeyError, LISTED_KEYS, UserRecords};

const ALICE: Address = Address::repeat_byte(0xa1);
const BOB: Address = Address::repeat_byte(0xb0);

/// Tests the user records of an empty store.
pub async fn run_user_records(records: Arc<dyn UserRecords>) {
    keys_are_stored_and_found(&*records).await;
    a_proof_can_be_used_only_once(&*records).await;
    active_keys_per_owner_are_limited(&*records).await;
    key_uses_are_summed(&*records).await;
    concurrent_changes_are_not_lost(records.clone()).await;
    a_listing_is_bounded(&*records).await;
}

fn new_key(owner: Address, number: u64, proof: Option<u64>) -> NewApiKey {
    let mut digest = [0x5a; 32];
    // All digests share a prefix, so that only the last bytes differ.
    digest[24..].copy_from_slice(&number.to_be_bytes());
    NewApiKey {
        digest: KeyDigest::new(digest),
        owner,
        prefix: format!("expl_{number:07}"),
        label: format!("label {number} \u{1f511}"),
        requests_per_minute: 100,
        created_at: 1_800_000_000_000 + number,
        proof,
    }
}

async fn keys_are_stored_and_found(records: &dyn UserRecords) {
    assert_eq!(records.list_keys(ALICE).await.expect("list"), []);
    assert_eq!(records.list_newest_keys(10).await.expect("list"), []);
    assert_eq!(records.find_key(1).await.expect("find"), None);

    let wanted = new_key(ALICE, 1, Some(1));
    let first = records.add_key(wanted.clone()).await.expect("add");
    let expected = ApiKey {
        id: first.id,
        digest: wanted.digest,
        owner: ALICE,
        prefix: wanted.prefix,
        label: wanted.label,
        requests_per_minute: 100,
        total_requests: 0,
        created_at: wanted.created_at,
        last_used_at: wanted.created_at,
        active: true,
    };
    assert_eq!(first, expected);
    let second = records.add_key(new_key(ALICE, 2, None)).await.expect("add");
    let third = records.add_key(new_key(BOB, 3, Some(1))).await.expect("add");
    assert!(first.id >= 1 && first.id < second.id && second.id < third.id);

    assert_eq!(records.find_key(second.id).await.expect("find"), Some(second.clone()));
    for key in [&first, &second, &third] {
        assert_eq!(records.find_key_by_digest(key.digest).await.expect("find"), Some(key.clone()));
    }
    assert_eq!(records.find_key_by_digest(new_key(BOB, 4, None).digest).await.expect("find"), None);
    assert_eq!(records.list_keys(ALICE).await.expect("list"), [second.clone(), first.clone()]);
    assert_eq!(records.list_newest_keys(2).await.expect("list"), [third, second.clone()]);

    let raised = records.set_requests_per_minute(second.id, 5_000).await.expect("set").expect("key");
    assert_eq!(raised, ApiKey { requests_per_minute: 5_000, ..second.clone() });
    let revoked = records.revoke_key(second.id).await.expect("revoke").expect("key");
    assert_eq!(revoked, ApiKey { active: false, ..raised });
    assert_eq!(records.revoke_key(second.id).await.expect("revoke"), Some(revoked.clone()));
    assert_eq!(records.list_keys(ALICE).await.expect("list"), [revoked, first]);
    assert_eq!(records.revoke_key(999).await.expect("revoke"), None);
    assert_eq!(records.set_requests_per_minute(999, 1).await.expect("set"), None);
}

async fn a_proof_can_be_used_only_once(records: &dyn UserRecords) {
    let again = records.add_key(new_key(ALICE, 10, Some(1))).await;
    assert!(matches!(again, Err(AddKeyError::ProofUsed)), "{again:?}");
    // A rejected key leaves nothing behind, and equal proofs of different owners are independent.
    assert_eq!(records.find_key_by_digest(new_key(ALICE, 10, None).digest).await.expect("find"), None);
    assert_eq!(records.list_keys(ALICE).await.expect("list").len(), 2);
}

async fn active_keys_per_owner_are_limited(records: &dyn UserRecords) {
    let owner = Address::repeat_byte(0xc0);
    let mut ids = Vec::new();
    for number in 20..20 + ACTIVE_KEYS_PER_OWNER as u64 {
        ids.push(records.add_key(new_key(owner, number, Some(number))).await.expect("add").id);
    }
    let beyond = records.add_key(new_key(owner, 40, Some(40))).await;
    assert!(matches!(beyond, Err(AddKeyError::QuotaReached)), "{beyond:?}");
    records.revoke_key(ids[1]).await.expect("revoke");
    records.revoke_key(ids[1]).await.expect("revoke");
    // A proof rejected because of the quota can still be used once.
    records.add_key(new_key(owner, 41, Some(40))).await.expect("add");
    let beyond = records.add_key(new_key(owner, 42, Some(42))).await;
    assert!(matches!(beyond, Err(AddKeyError::QuotaReached)), "{beyond:?}");
    let replayed = records.add_key(new_key(owner, 43, Some(40))).await;
    assert!(matches!(replayed, Err(AddKeyError::ProofUsed)), "{replayed:?}");
}

async fn key_uses_are_summed(records: &dyn UserRecords) {
    let key = records.add_key(new_key(BOB, 50, Some(50))).await.expect("add");
    let used = |requests, last_used_at| KeyUse { id: key.id, requests, last_used_at };
    let unknown_key = KeyUse { id: 999, requests: 1, last_used_at: 1 };
    records.record_key_uses(vec![used(3, 1_900_000_000_000), unknown_key]).await.expect("record");
    // Recorded late: the newer time is kept.
    records.record_key_uses(vec![used(2, 1_850_000_000_000)]).await.expect("record");
    records.record_key_uses(Vec::new()).await.expect("record");
    let found = records.find_key(key.id).await.expect("find").expect("key");
    assert_eq!((found.total_requests, found.last_used_at), (5, 1_900_000_000_000));
    assert_eq!(records.find_key(999).await.expect("find"), None);
}

async fn concurrent_changes_are_not_lost(records: Arc<dyn UserRecords>) {
    let owner = Address::repeat_byte(0xd0);
    let key = records.add_key(new_key(owner, 60, None)).await.expect("add");
    let (mut adding, mut using) = (Vec::new(), Vec::new());
    for number in 0..32 {
        let (to_add, to_use) = (records.clone(), records.clone());
        adding.push(async move { to_add.add_key(new_key(owner, 70 + number, Some(70 + number % 2))).await.is_ok() });
        let used = KeyUse { id: key.id, requests: 1, last_used_at: number };
        using.push(async move { to_use.record_key_uses(vec![used]).await.is_ok() });
    }
    let (added, used) = futures::join!(futures::future::join_all(adding), futures::future::join_all(using));
    assert_eq!(added.into_iter().filter(|added| *added).count(), 2, "each of two proofs is used once");
    assert!(used.into_iter().all(|used| used));
    let found = records.find_key(key.id).await.expect("find").expect("key");
    assert_eq!(found.total_requests, 32);
    assert_eq!(records.list_keys(owner).await.expect("list").len(), 3);
}

async fn a_listing_is_bounded(records: &dyn UserRecords) {
    let owner = Address::repeat_byte(0xe0);
    let oldest = records.add_key(new_key(owner, 1_000, None)).await.expect("add");
    for number in 1..=LISTED_KEYS as u64 {
        let key = records.add_key(new_key(owner, 1_000 + number, None)).await.expect("add");
        records.revoke_key(key.id).await.expect("revoke");
    }
    let listed = records.list_keys(owner).await.expect("list");
    assert!(listed.len() <= LISTED_KEYS + ACTIVE_KEYS_PER_OWNER);
    assert!(listed.is_sorted_by(|one, next| one.id > next.id), "newest first");
    assert_eq!(listed.last(), Some(&oldest), "an active key is listed at any age");
}
