//! Verified code by hash, deployments by creation, and a list that follows reorgs.

use std::{collections::BTreeSet, sync::Arc};

use domain::{
    Address, Artifacts, B256, Bytes, CreationCheck, CreationId, CreationProof, CreationTemplate, Deployment,
    JobFailure, JobId, JobRefusal, JobResult, JobVerdict, LibraryOffset, MatchKind, Order, PageRequest, SourceFile,
    VerificationJob, VerifiedCode, VerifiedContract,
};
use rand::{Rng, SeedableRng, rngs::StdRng, seq::IndexedRandom};

use super::RandomChain;
use store::{ChainReader, IndexWriter, JOB_RETENTION, Kept, Undo, VerifiedContracts};

/// An empty store, with the parts that verification uses.
#[expect(missing_debug_implementations, reason = "traits without Debug")]
pub struct VerifiedSubject {
    pub writer: Box<dyn IndexWriter>,
    pub reader: Arc<dyn ChainReader>,
    pub records: Arc<dyn VerifiedContracts>,
}

/// Tests the verified contracts of an empty store.
pub async fn run_verified_contracts(mut subject: VerifiedSubject, seed: u64) {
    a_verification_is_stored_completely(&*subject.records).await;
    only_more_proof_of_the_running_code_replaces_sources(&*subject.records).await;
    a_constructor_is_proven_where_it_ran(&*subject.records).await;
    code_that_names_its_own_address_is_not_shared(&*subject.records).await;
    concurrent_verifications_are_not_lost(Arc::clone(&subject.records)).await;
    jobs_are_kept_for_a_week(&*subject.records).await;
    let listed = subject.records.list_verified(PageRequest::newest(5)).await.expect("list");
    assert_eq!((listed.total, listed.items), (0, vec![]), "none of them has code in the index");
    removed_sources_are_gone_until_they_are_verified_again(&*subject.records).await;
    the_list_and_deployments_follow_the_chain(&mut subject, seed).await;
}

async fn removed_sources_are_gone_until_they_are_verified_again(records: &dyn VerifiedContracts) {
    let (hash, other) = (B256::repeat_byte(0xd1), B256::repeat_byte(0xd2));
    let [one, two, three] = [0xd1, 0xd2, 0xd3].map(Address::repeat_byte);
    let contract = |address, hash| VerifiedContract {
        address,
        twin_of: None,
        code: code(hash, MatchKind::Partial, "Coin"),
        deployment: None,
    };
    for kept in [contract(one, hash), contract(two, hash), contract(three, other)] {
        records.save_verified(kept).await.expect("keep");
    }
    let before = records.count_verifications().await.expect("count");
    assert_eq!(records.remove_verified(hash).await.expect("remove"), 2, "the code is that of two contracts");
    for address in [one, two] {
        assert_eq!(records.find_verified(address, hash).await.expect("find"), None);
        assert_eq!(records.find_verified_summary(address, hash).await.expect("find"), None);
    }
    assert!(records.find_verified(three, other).await.expect("find").is_some(), "others stay");
    let after = records.count_verifications().await.expect("count");
    assert!(after > before, "caches notice that something has changed");
    assert_eq!(records.remove_verified(hash).await.expect("remove"), 0);
    assert_eq!(records.count_verifications().await.expect("count"), after);
    assert_eq!(records.save_verified(contract(one, hash)).await.expect("keep"), Kept::New);
    assert!(records.find_verified(one, hash).await.expect("find").is_some());
    assert_eq!(records.count_verifications().await.expect("count"), after + 1);
}

fn code(hash: B256, kind: MatchKind, name: &str) -> VerifiedCode {
    VerifiedCode {
        code_hash: hash,
        name: name.to_owned(),
        compiler: "0.8.20+commit.a1b79de6".to_owned(),
        runtime_match: kind,
        license: Some("MIT".to_owned()),
        verified_at: 1_800_000_000_000,
        names_own_address: false,
        file: "contracts/Coin.sol".to_owned(),
        abi: r#"[{"type":"fallback"}]"#.to_owned(),
        settings: "{}".to_owned(),
        sources: vec![
            SourceFile { path: "contracts/Coin.sol".to_owned(), content: "contract Coin {}\r\n\u{e9}".to_owned() },
            SourceFile { path: "../../etc/passwd".to_owned(), content: String::new() },
        ],
        libraries: vec![("a.sol:L".to_owned(), Address::repeat_byte(0x77))],
        artifacts: Artifacts {
            metadata: r#"{"compiler":{}}"#.to_owned(),
            storage_layout: Some(r#"{"storage":[]}"#.to_owned()),
            userdoc: None,
            devdoc: Some("{}".to_owned()),
            input_settings: r#"{"viaIR":true}"#.to_owned(),
        },
        creation: CreationTemplate {
            code: Bytes::from_static(&[0x60, 0x80, 1, 2, 3]),
            links: vec![LibraryOffset { library: "a.sol:L".to_owned(), start: 1 }],
            metadata: std::iter::once(2..5).collect(),
            proves_sources: true,
        },
    }
}

fn at(address: u8, code: VerifiedCode) -> VerifiedContract {
    VerifiedContract { address: Address::repeat_byte(address), twin_of: None, code, deployment: None }
}

fn deployment(build: B256, creation: CreationId, argument: u8) -> Deployment {
    let proof = CreationProof {
        kind: MatchKind::Exact,
        arguments: Bytes::from(vec![argument; 32]),
        libraries: vec![("b.sol:M".to_owned(), Address::repeat_byte(0x78))],
    };
    Deployment { creation, build, proof: Some(proof) }
}

const NOWHERE: CreationId = CreationId { tx_hash: B256::ZERO, block_hash: B256::ZERO };

async fn a_verification_is_stored_completely(records: &dyn VerifiedContracts) {
    let (here, hash) = (Address::repeat_byte(1), B256::repeat_byte(0xc1));
    assert_eq!(records.find_verified(here, hash).await.expect("find"), None);
    assert_eq!(records.find_verified_summary(here, hash).await.expect("find"), None);
    assert_eq!(records.count_verifications().await.expect("count"), 0);

    let contract = at(1, code(hash, MatchKind::Partial, "Coin \u{1f4b0}"));
    let before = records.state();
    assert!(before.is_some());
    assert_eq!(records.save_verified(contract.clone()).await.expect("keep"), Kept::New);
    assert_ne!(records.state(), before, "a stored verification makes a new version");
    assert_eq!(records.find_verified(here, hash).await.expect("find"), Some(contract.clone()));
    let summary = records.find_verified_summary(here, hash).await.expect("find").expect("a summary");
    assert_eq!((summary.name, summary.runtime_match), (contract.code.name.clone(), MatchKind::Partial));
    assert_eq!((summary.build, summary.twin_of), (contract.code.build(), None));

    // The same code at another address has the same sources and is marked as a twin; other code at the address has
    // none.
    let twin = records.find_verified(Address::repeat_byte(9), hash).await.expect("find").expect("a twin");
    assert_eq!((twin.twin_of, twin.code, twin.deployment), (Some(here), contract.code, None));
    assert_eq!(records.find_verified(here, B256::repeat_byte(9)).await.expect("find"), None);

    let mut bare = at(2, code(B256::repeat_byte(0xc2), MatchKind::Exact, "Bare"));
    bare.code.license = None;
    bare.code.libraries.clear();
    bare.code.sources.clear();
    bare.code.artifacts = Artifacts::default();
    bare.code.creation = CreationTemplate::default();
    records.save_verified(bare.clone()).await.expect("keep");
    assert_eq!(records.find_verified(bare.address, bare.code.code_hash).await.expect("find"), Some(bare));
}

async fn name_at(records: &dyn VerifiedContracts, address: u8, hash: B256) -> (String, MatchKind) {
    let found = records.find_verified(Address::repeat_byte(address), hash).await.expect("find").expect("verified");
    let summary = records.find_verified_summary(found.address, hash).await.expect("find").expect("verified");
    assert_eq!((&summary.name, summary.build), (&found.code.name, found.code.build()));
    (found.code.name, found.code.runtime_match)
}

async fn only_more_proof_of_the_running_code_replaces_sources(records: &dyn VerifiedContracts) {
    let hash = B256::repeat_byte(0xc3);
    let (partial, exact) = (MatchKind::Partial, MatchKind::Exact);
    for (address, kind, name, kept, shown) in [
        (3, partial, "first", Kept::New, "first"),
        (3, partial, "second", Kept::Unchanged, "first"),
        (4, partial, "third", Kept::Unchanged, "first"),
        (4, exact, "fourth", Kept::Upgraded, "fourth"),
        (3, partial, "fifth", Kept::Unchanged, "fourth"),
        (5, exact, "sixth", Kept::Unchanged, "fourth"),
    ] {
        let outcome = records.save_verified(at(address, code(hash, kind, name))).await.expect("keep");
        assert_eq!(outcome, kept, "{name}");
        for address in [3, 4, 5, 6] {
            assert_eq!(name_at(records, address, hash).await.0, shown, "at {address} after {name}");
        }
    }
}

async fn a_constructor_is_proven_where_it_ran(records: &dyn VerifiedContracts) {
    let hash = B256::repeat_byte(0xc4);
    let squatter = at(7, code(hash, MatchKind::Partial, "squatter"));
    assert_eq!(records.save_verified(squatter).await.expect("keep"), Kept::New);
    let mut owner = at(8, code(hash, MatchKind::Partial, "owner"));
    owner.deployment = Some(deployment(owner.code.build(), NOWHERE, 1));
    assert_eq!(records.save_verified(owner).await.expect("keep"), Kept::Upgraded);
    assert_eq!(name_at(records, 8, hash).await.0, "owner");
    assert_eq!(name_at(records, 7, hash).await.0, "squatter", "a constructor proves nothing about other deployments");
    // More proof of the runtime code takes precedence at every address.
    let exact = at(9, code(hash, MatchKind::Exact, "exact"));
    assert_eq!(records.save_verified(exact).await.expect("keep"), Kept::Upgraded);
    for address in [7, 8, 9] {
        assert_eq!(name_at(records, address, hash).await, ("exact".to_owned(), MatchKind::Exact));
    }
}

async fn code_that_names_its_own_address_is_not_shared(records: &dyn VerifiedContracts) {
    let hash = B256::repeat_byte(0xc5);
    let mut library = at(10, code(hash, MatchKind::Exact, "library"));
    library.code.names_own_address = true;
    assert_eq!(records.save_verified(library.clone()).await.expect("keep"), Kept::New);
    assert_eq!(records.find_verified(library.address, hash).await.expect("find"), Some(library));
    let copy = Address::repeat_byte(11);
    assert_eq!(records.find_verified(copy, hash).await.expect("find"), None);
    assert_eq!(records.find_verified_summary(copy, hash).await.expect("find"), None);
}

async fn concurrent_verifications_are_not_lost(records: Arc<dyn VerifiedContracts>) {
    let before = records.count_verifications().await.expect("count");
    let keep = |number: u8| {
        let records = Arc::clone(&records);
        async move {
            let code = code(B256::repeat_byte(100 + number), MatchKind::Exact, "many");
            records.save_verified(at(100 + number, code)).await
        }
    };
    let kept = futures::future::join_all((0..20).map(keep)).await;
    assert!(kept.into_iter().all(|kept| kept.expect("keep") == Kept::New));
    assert_eq!(records.count_verifications().await.expect("count"), before + 20);
}

async fn jobs_are_kept_for_a_week(records: &dyn VerifiedContracts) {
    let week = u64::try_from(JOB_RETENTION.as_millis()).expect("fits");
    let now = 10 * week;
    let job = |number: u128, submitted_at, verdict: Option<JobVerdict>| VerificationJob {
        id: JobId::from_random(number << 80 | 7),
        address: Address::repeat_byte(9),
        submitted_at,
        result: verdict.map(|verdict| JobResult {
            finished_at: submitted_at + 5,
            compilation_millis: number.is_multiple_of(2).then_some(3),
            verdict,
            message: format!("job {number} \u{e9}"),
        }),
    };
    let verified =
        |creation| JobVerdict::Verified { name: "Coin".to_owned(), runtime_match: MatchKind::Exact, creation };
    let refused = |reason, creation_match| JobVerdict::Refused { reason, creation_match };
    let verdicts = [
        verified(CreationCheck::Unknown),
        verified(CreationCheck::Differs),
        verified(CreationCheck::Matches(MatchKind::Partial)),
        verified(CreationCheck::Matches(MatchKind::Exact)),
        refused(JobRefusal::Compilation, None),
        refused(JobRefusal::NoMatch, Some(MatchKind::Partial)),
        JobVerdict::Failed(JobFailure::NoCode),
        JobVerdict::Failed(JobFailure::CompilerVersion),
        JobVerdict::Failed(JobFailure::CompilerUnavailable),
        JobVerdict::Failed(JobFailure::NodeUnavailable),
        JobVerdict::Failed(JobFailure::StoreUnavailable),
        JobVerdict::Failed(JobFailure::Internal),
    ];
    let state = records.state();
    let mut kept = Vec::new();
    for (number, verdict) in (1..).zip(verdicts) {
        let (waiting, ended) = (job(number, now, None), job(number, now, Some(verdict)));
        records.save_job(waiting.clone()).await.expect("keep");
        assert_eq!(records.find_job(waiting.id).await.expect("find"), Some(waiting));
        records.save_job(ended.clone()).await.expect("keep");
        kept.push(ended);
    }
    for job in &kept {
        assert_eq!(records.find_job(job.id).await.expect("find").as_ref(), Some(job));
    }
    assert_eq!(records.state(), state, "jobs do not change what responses show");
    records.save_job(job(100, now + week, None)).await.expect("keep");
    assert!(records.find_job(kept[0].id).await.expect("find").is_some(), "a job of exactly a week is kept");
    // Each new job deletes several old ones, so a backlog does not grow.
    for number in 101..=104 {
        records.save_job(job(number, now + week + 1, None)).await.expect("keep");
    }
    for old in &kept {
        assert_eq!(records.find_job(old.id).await.expect("find"), None, "older than a week");
    }
    for number in 100..=104 {
        assert!(records.find_job(job(number, 0, None).id).await.expect("find").is_some());
    }
    assert_eq!(records.find_job(JobId::from_bytes([3; 16])).await.expect("find"), None);
}

/// A contract that the suite verified, in the order of the first verifications.
struct Verified {
    address: Address,
    hash: B256,
    creation: Option<CreationId>,
}

/// Commits and reverts blocks of a random chain with few kinds of code, and verifies contracts in between.
async fn the_list_and_deployments_follow_the_chain(subject: &mut VerifiedSubject, seed: u64) {
    let mut rng = StdRng::seed_from_u64(seed);
    let mut chain = RandomChain::new(seed);
    let (mut blocks, mut verified, mut created) = (Vec::new(), Vec::<Verified>::new(), BTreeSet::new());
    let (mut left, mut came_back, mut lost) = (0, 0, 0);
    let mut last: Vec<Address> = Vec::new();
    for step in 0.. {
        // Ends where a verified contract has its code, so that callers find one after a restart.
        if step >= 400 && !last.is_empty() {
            break;
        }
        assert!(step < 1_000, "no verified contract has its code");
        match rng.random_range(0..10) {
            0..3 => {
                let block = chain.next_block(blocks.last());
                blocks.push(block.block.clone());
                created.extend(block.inner_creations.iter().flatten().map(|creation| creation.created));
                created.extend(block.transactions.iter().filter_map(|tx| tx.created));
                subject.writer.commit(vec![block], Undo::Keep { down_to: 0 }).await.expect("commit");
            }
            3 if blocks.len() > 1 => {
                let target = blocks.len() - 1 - rng.random_range(1..blocks.len().min(6));
                blocks.truncate(target + 1);
                subject.writer.revert_to(blocks[target].number).await.expect("revert");
            }
            4..7 => {
                let pending = subject.writer.list_pending_codes(rng.random_range(1..20)).await.expect("pending");
                let answer = |address| {
                    let code = if rng.random_ratio(1, 5) { vec![] } else { vec![0x60, rng.random_range(0..3)] };
                    (address, Bytes::from(code))
                };
                let codes = pending.into_iter().map(answer).collect();
                let Some(tip) = blocks.last() else { continue };
                subject.writer.save_codes(codes, tip.number).await.expect("codes");
            }
            7..9 => {
                let known: Vec<Address> = created.iter().copied().collect();
                let Some(address) = known.choose(&mut rng).copied() else { continue };
                // At times verify code that is not, or no longer, at the address.
                let hash = subject.reader.find_code_hash(address).await.expect("hash");
                let Some(hash) = hash.or_else(|| rng.random_bool(0.3).then(|| B256::repeat_byte(0xee))) else {
                    continue;
                };
                verify(subject, &mut verified, address, hash, &mut rng).await;
            }
            _ => {}
        }
        let now = check(subject, &verified, &mut rng, step).await;
        left += last.iter().filter(|address| !now.contains(address)).count();
        came_back += now.iter().filter(|address| !last.contains(address)).count();
        last = now;
        for contract in &verified {
            lost += usize::from(!has_verified_creation(subject, contract).await && contract.creation.is_some());
        }
    }
    assert!(left > 3 && came_back > 5 && lost > 5, "{left} left, {came_back} came, {lost} lost their deployment");
}

async fn verify(
    subject: &VerifiedSubject,
    verified: &mut Vec<Verified>,
    address: Address,
    hash: B256,
    rng: &mut StdRng,
) {
    let metadata = subject.reader.find_address(address).await.expect("address");
    let creation = metadata.and_then(|metadata| metadata.creation).map(|creation| creation.id());
    let mut contract = VerifiedContract {
        address,
        twin_of: None,
        code: code(hash, MatchKind::Exact, &format!("Coin {}", hash[31])),
        deployment: None,
    };
    contract.deployment = creation.map(|creation| deployment(contract.code.build(), creation, rng.random()));
    // As the verifier does: first compare the known sources with this deployment.
    if let Some(known) = contract.deployment.clone() {
        subject.records.save_deployment(address, hash, known).await.expect("deployment");
    }
    subject.records.save_verified(contract.clone()).await.expect("keep");
    let found = subject.records.find_verified(address, hash).await.expect("find").expect("verified");
    assert_eq!((found.twin_of, &found.deployment), (None, &contract.deployment));
    verified.retain_mut(|other| {
        if (other.address, other.hash) == (address, hash) {
            other.creation = creation;
        }
        true
    });
    if verified.iter().all(|other| (other.address, other.hash) != (address, hash)) {
        verified.push(Verified { address, hash, creation });
    }
}

async fn has_verified_creation(subject: &VerifiedSubject, contract: &Verified) -> bool {
    let metadata = subject.reader.find_address(contract.address).await.expect("address");
    let now = metadata.and_then(|metadata| metadata.creation).map(|creation| creation.id());
    contract.creation.is_some() && now == contract.creation
}

/// Compares the list with the chain, and returns it, the newest first.
async fn check(subject: &VerifiedSubject, verified: &[Verified], rng: &mut StdRng, step: u32) -> Vec<Address> {
    let mut expected_list = Vec::new();
    for contract in verified {
        if subject.reader.find_code_hash(contract.address).await.expect("hash") == Some(contract.hash) {
            expected_list.push((contract.address, contract.hash));
        }
        let found = subject.records.find_verified(contract.address, contract.hash).await.expect("find");
        let found = found.expect("a verification survives every reorg");
        let shown = found.deployment.map(|deployment| deployment.creation);
        let current = has_verified_creation(subject, contract).await;
        assert_eq!(shown, contract.creation.filter(|_| current), "step {step}: the deployment of another creation");
    }
    let page = subject.records.list_verified(PageRequest { offset: 0, limit: 1_000, order: Order::OldestFirst }).await;
    let page = page.expect("list");
    let listed: Vec<_> = page.items.iter().map(|summary| (summary.address, summary.code_hash)).collect();
    assert_eq!((listed, page.total), (expected_list.clone(), expected_list.len() as u64), "step {step}");
    assert!(page.items.iter().all(|summary| summary.twin_of.is_none()));
    expected_list.reverse();
    let (offset, limit) = (rng.random_range(0..6_u8), rng.random_range(0..5_u8));
    let part = subject.records.list_verified(PageRequest {
        offset: offset.into(),
        limit: limit.into(),
        order: Order::NewestFirst,
    });
    let part = part.await;
    let part: Vec<_> = part.expect("list").items.iter().map(|summary| (summary.address, summary.code_hash)).collect();
    let expected: Vec<_> = expected_list.iter().skip(offset.into()).take(limit.into()).copied().collect();
    assert_eq!(part, expected, "step {step}");
    expected_list.into_iter().map(|(address, _)| address).collect()
}
