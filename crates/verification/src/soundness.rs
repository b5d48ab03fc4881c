//! Property test: no sequence of submissions makes the service claim more about a contract than a direct comparison of its
//! code proves.
//!
//! Contracts are deployed, copied, deployed again and reverted by reorgs, and any source is submitted for any of them. The
//! compiled contracts are hand-made; matching, records and store are the real ones.

use std::collections::{BTreeMap, BTreeSet};

use alloy_primitives::{Address, B256, Bytes, U256, hex, keccak256};
use domain::{Block, BlockChanges, CreationId, Involvement, MatchKind, Order, PageRequest, Transaction};
use proptest::prelude::*;
use serde_json::Map;
use store::{AddressReader, IndexWriter, Undo, VerifiedContracts};
use store_embedded::{EmbeddedStore, StoreOptions};

use crate::{
    CompiledCode, CompiledContract, LibraryLink, MetadataHash,
    code::{HashKind, OutputArtifacts, hash_metadata},
    deployment::{CreationCode, prove_deployment},
    matching::{Comparison, DeployedCode, compare},
    on_chain::FetchedCode,
    record,
    search::Match,
};

const ADDRESSES: u8 = 5;

fn address(number: u8) -> Address {
    Address::repeat_byte(0xa0 + number)
}

fn auxdata(metadata: &str) -> Vec<u8> {
    let Some(MetadataHash::Ipfs(hash)) = hash_metadata(HashKind::Ipfs, metadata.as_bytes()) else { panic!("no hash") };
    [&hex!("a2646970667358221220")[..], hash.as_slice(), &hex!("64736f6c63430008140033")].concat()
}

fn compiled(name: &str, init: &[u8], body: &[u8], is_exact: bool) -> CompiledContract {
    let metadata = format!(r#"{{"settings":{{}},"sources":{{"{name}.sol":{{}}}}}}"#);
    let tail = if is_exact { auxdata(&metadata) } else { hex!("a164736f6c6343000814000a").to_vec() };
    let runtime = [body, &[0xfe], &tail].concat();
    CompiledContract {
        file: format!("{name}.sol"),
        name: name.to_owned(),
        abi: r#"[{"type":"constructor","stateMutability":"payable","inputs":[{"name":"x","type":"uint256"}]}]"#
            .to_owned(),
        metadata,
        creation: CompiledCode { bytes: [init, &runtime].concat(), links: vec![] },
        runtime: CompiledCode { bytes: runtime, links: vec![] },
        immutables: vec![],
        ..CompiledContract::default()
    }
}

/// Contracts, some of which differ only in a name, a constructor, an immutable value, a link or the metadata hash.
fn sources() -> Vec<CompiledContract> {
    let (init, other_init) = (hex!("6080604052"), hex!("6080604053"));
    let (body, other_body) = (hex!("600160026003"), hex!("600160026004"));
    let library_body = [&[0x73][..], &[0; 20], &hex!("30146080")].concat();
    let open_body = [&[0x7f][..], &[0; 32], &[0x73], &[0; 20], &[0x00]].concat();
    let mut open = compiled("Open", &init, &open_body, false);
    open.immutables = vec![("7".to_owned(), std::iter::once(1..33).collect())];
    let link = |at: usize| LibraryLink { library: "l.sol:L".to_owned(), span: at..at + 20 };
    open.runtime.links = vec![link(34)];
    open.creation.links = vec![link(34 + init.len())];
    vec![
        compiled("Honest", &init, &body, true),
        compiled("Renamed", &init, &body, true),
        compiled("OtherConstructor", &other_init, &body, true),
        compiled("Bare", &init, &body, false),
        compiled("BareOtherConstructor", &other_init, &body, false),
        compiled("Other", &init, &other_body, true),
        compiled("Library", &init, &library_body, true),
        open,
        CompiledContract { name: "Abstract".to_owned(), abi: "[]".to_owned(), ..CompiledContract::default() },
    ]
}

/// An action of an untrusted user.
#[derive(Debug, Clone)]
enum Step {
    /// Creates a contract from its source.
    Deploy {
        at: u8,
        source: usize,
        argument: u8,
        fill: u8,
    },
    /// Creates a contract whose constructor returns the code of another one.
    Copy {
        at: u8,
        constructor: usize,
        of: u8,
    },
    /// Creates a contract with extra bytes after its code.
    Lengthen {
        at: u8,
        source: usize,
    },
    /// Reverts this many blocks.
    Reorg {
        blocks: u8,
    },
    Submit {
        at: u8,
        source: usize,
    },
    /// A submission while the node cannot trace, so that the creation code is unknown.
    SubmitWithoutTrace {
        at: u8,
        source: usize,
    },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let (at, source) = (0..ADDRESSES, 0..sources().len());
    let step = prop_oneof![
        3 => (at.clone(), source.clone(), 0_u8..3, 0_u8..2)
            .prop_map(|(at, source, argument, fill)| Step::Deploy { at, source, argument, fill }),
        2 => (at.clone(), source.clone(), at.clone()).prop_map(|(at, constructor, of)| Step::Copy { at, constructor, of }),
        1 => (at.clone(), source.clone()).prop_map(|(at, source)| Step::Lengthen { at, source }),
        2 => (1_u8..4).prop_map(|blocks| Step::Reorg { blocks }),
        6 => (at.clone(), source.clone()).prop_map(|(at, source)| Step::Submit { at, source }),
        1 => (at, source).prop_map(|(at, source)| Step::SubmitWithoutTrace { at, source }),
    ];
    proptest::collection::vec(step, 1..40)
}

#[derive(Debug, Clone)]
struct DeployedContract {
    runtime: Bytes,
    creation: CreationCode,
}

/// A chain, the store of the service, and everything that was ever proven.
struct World {
    store: EmbeddedStore,
    writer: Box<dyn IndexWriter>,
    records: std::sync::Arc<dyn VerifiedContracts>,
    /// Each block with the contracts that exist after it.
    blocks: Vec<(Block, BTreeMap<Address, DeployedContract>)>,
    blocks_made: u64,
    sources: Vec<CompiledContract>,
    /// Address and code hash of every successful submission, in the order of the first of each.
    proven: Vec<(Address, B256)>,
    best: BTreeMap<B256, MatchKind>,
    _folder: tempfile::TempDir,
}

impl World {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = EmbeddedStore::open(folder.path(), StoreOptions::default()).unwrap();
        let (writer, records) = (Box::new(store.writer()), std::sync::Arc::new(store.verified_contracts()));
        let sources = sources();
        let (proven, best) = (Vec::new(), BTreeMap::new());
        let mut world =
            Self { store, writer, records, blocks: Vec::new(), blocks_made: 0, sources, proven, best, _folder: folder };
        world.add_block(None).await;
        world
    }

    fn deployed(&self) -> BTreeMap<Address, DeployedContract> {
        self.blocks.last().map(|(_, deployed)| deployed.clone()).unwrap_or_default()
    }

    async fn add_block(&mut self, created: Option<(Address, Bytes, Bytes)>) {
        self.blocks_made += 1;
        let parent = self.blocks.last().map(|(block, _)| block.clone());
        let block = Block {
            number: parent.as_ref().map_or(0, |parent| parent.number + 1),
            hash: keccak256(self.blocks_made.to_be_bytes()),
            parent_hash: parent.map_or(B256::ZERO, |parent| parent.hash),
            timestamp: 1_700_000_000 + self.blocks_made,
            miner: Address::ZERO,
            tx_count: u32::from(created.is_some()),
            ..Block::sample()
        };
        let mut deployed = self.deployed();
        let transactions: Vec<Transaction> = created
            .iter()
            .map(|(address, _, _)| Transaction {
                hash: keccak256([&b"tx"[..], &self.blocks_made.to_be_bytes()].concat()),
                block_number: block.number,
                block_hash: block.hash,
                index: 0,
                timestamp: block.timestamp,
                from: Address::repeat_byte(1),
                to: None,
                created: Some(*address),
                value: U256::ZERO,
                method: None,
                input: None,
                ..Transaction::sample()
            })
            .collect();
        for ((address, runtime, creation), tx) in created.into_iter().zip(&transactions) {
            let id = CreationId { tx_hash: tx.hash, block_hash: block.hash };
            deployed.insert(address, DeployedContract { runtime, creation: CreationCode { id, code: creation } });
        }
        let involved =
            transactions.iter().filter_map(|tx| Some(Involvement { tx_index: 0, address: tx.created? })).collect();
        let changes =
            BlockChanges { transactions, involved, inner_creations: Some(vec![]), ..BlockChanges::of(block.clone()) };
        self.writer.commit(vec![changes], Undo::Keep { down_to: 0 }).await.unwrap();
        self.blocks.push((block, deployed));
        self.fetch_pending_codes().await;
    }

    /// Stores the codes that the index requests, as the indexer does.
    async fn fetch_pending_codes(&mut self) {
        let (deployed, tip) = (self.deployed(), self.blocks[self.blocks.len() - 1].0.number);
        let addresses = self.writer.list_pending_codes(100).await.unwrap();
        let code =
            |address: &Address| deployed.get(address).map(|deployed| deployed.runtime.clone()).unwrap_or_default();
        let codes = addresses.iter().map(|address| (*address, code(address))).collect();
        self.writer.save_codes(codes, tip).await.unwrap();
    }

    async fn apply(&mut self, step: Step) {
        let argument = |number: u8| B256::with_last_byte(number);
        match step {
            Step::Deploy { at, source, argument: number, fill } => {
                let source = self.sources[source].clone();
                if source.runtime.bytes.is_empty() {
                    return;
                }
                let (mut runtime, mut creation) = (source.runtime.bytes.clone(), source.creation.bytes.clone());
                if source.name == "Library" {
                    runtime[1..21].copy_from_slice(address(at).as_slice());
                }
                for span in source.immutables.iter().flat_map(|(_, spans)| spans) {
                    runtime[span.clone()].fill(fill);
                }
                for (links, code) in [(&source.runtime.links, &mut runtime), (&source.creation.links, &mut creation)] {
                    for link in links {
                        code[link.span.clone()].fill(0x77);
                    }
                }
                let creation = [&creation[..], argument(number).as_slice()].concat();
                self.add_block(Some((address(at), runtime.into(), creation.into()))).await;
            }
            Step::Copy { at, constructor, of } => {
                let Some(copied) = self.deployed().get(&address(of)).cloned() else { return };
                let creation = [&self.sources[constructor].creation.bytes[..], argument(9).as_slice()].concat();
                self.add_block(Some((address(at), copied.runtime, creation.into()))).await;
            }
            Step::Lengthen { at, source } => {
                let code = &self.sources[source];
                let (runtime, creation) = (code.runtime.bytes.clone(), code.creation.bytes.clone());
                let extended = |code: Vec<u8>| Bytes::from([&code[..], &[0x00, 0x01]].concat());
                self.add_block(Some((address(at), extended(runtime), extended(creation)))).await;
            }
            Step::Reorg { blocks } => {
                let stay = self.blocks.len().saturating_sub(usize::from(blocks)).max(1);
                self.blocks.truncate(stay);
                self.writer.revert_to(self.blocks[stay - 1].0.number).await.unwrap();
                self.fetch_pending_codes().await;
                self.add_block(None).await;
            }
            Step::Submit { at, source } => self.submit(address(at), source, true).await,
            Step::SubmitWithoutTrace { at, source } => self.submit(address(at), source, false).await,
        }
    }

    /// What the service does with a compiled submission.
    async fn submit(&mut self, address: Address, source: usize, traces: bool) {
        let Some(deployed) = self.deployed().get(&address).cloned() else { return };
        let compiled = self.sources[source].clone();
        let on_chain =
            FetchedCode { runtime: deployed.runtime.clone(), creation: traces.then(|| deployed.creation.clone()) };
        let creation = on_chain.creation.as_ref().map(|creation| creation.code.as_ref());
        let comparison = compare(&compiled, None, DeployedCode { address, runtime: &on_chain.runtime, creation });
        let Ok(runtime) = comparison.runtime.clone() else { return };
        let hash = keccak256(&deployed.runtime);
        if !self.proven.contains(&(address, hash)) {
            self.proven.push((address, hash));
        }
        if !runtime.names_own_address {
            let best = self.best.entry(hash).or_insert(runtime.kind);
            *best = (*best).max(runtime.kind);
        }
        let files = BTreeMap::from([(compiled.file.clone(), format!("contract {} {{}}", compiled.name))]);
        let found = Match { runtime, comparison, compiled, altered: None, files, settings: Map::new() };
        let context = record::Context {
            address,
            license: None,
            compiler: &"0.8.20+commit.a1b79de6".parse().unwrap(),
            on_chain: &on_chain,
            artifacts: OutputArtifacts::default(),
            now: 1_800_000_000_000 + self.blocks_made,
        };
        let contract = record::contract(&found, context);
        record::store(&*self.records, contract, on_chain.creation.as_ref()).await.unwrap();
    }

    fn direct(&self, name: &str, address: Address, deployed: &DeployedContract) -> Comparison {
        let source = self.sources.iter().find(|source| source.name == name).unwrap();
        let creation = Some(deployed.creation.code.as_ref());
        compare(source, None, DeployedCode { address, runtime: &deployed.runtime, creation })
    }

    /// Compares everything that the service claims with a direct comparison.
    async fn check(&self) {
        let deployed = self.deployed();
        for number in 0..ADDRESSES {
            let address = address(number);
            let Some(deployed) = deployed.get(&address) else { continue };
            let hash = keccak256(&deployed.runtime);
            let found = self.records.find_verified(address, hash).await.unwrap();
            let Some(found) = found else {
                assert!(!self.best.contains_key(&hash), "proven, but not found: {address}");
                continue;
            };
            let direct = self.direct(&found.code.name, address, deployed);
            assert_eq!(direct.verdict(), Some(found.code.runtime_match), "{} at {address}", found.code.name);
            assert!(
                Some(&found.code.runtime_match) >= self.best.get(&hash),
                "a weaker match than was proven for {address}"
            );
            let direct_proof =
                direct.creation.and_then(Result::ok).map(|(creation, arguments)| (creation.kind, arguments));
            let shown = match &found.deployment {
                Some(deployment) => deployment.clone(),
                // As the pages do.
                None => prove_deployment(&found.code, &deployed.creation),
            };
            assert_eq!(shown.creation, deployed.creation.id, "the deployment of another creation at {address}");
            assert_eq!(shown.proof.map(|proof| (proof.kind, proof.arguments)), direct_proof, "{address}");
            let summary = self.records.find_verified_summary(address, hash).await.unwrap().unwrap();
            assert_eq!((&summary.name, summary.runtime_match), (&found.code.name, found.code.runtime_match));
            assert_eq!(summary.twin_of.is_none(), self.proven.contains(&(address, hash)));
            assert_eq!(found.code.sources.len(), 1);
        }
        let all = PageRequest { offset: 0, limit: 100, order: Order::OldestFirst };
        let listed = self.records.list_verified(all).await.unwrap();
        let listed: Vec<(Address, B256)> = listed.items.iter().map(|row| (row.address, row.code_hash)).collect();
        let exists = |(address, hash): &&(Address, B256)| {
            deployed.get(address).is_some_and(|deployed| keccak256(&deployed.runtime) == *hash)
        };
        let expected: Vec<(Address, B256)> = self.proven.iter().filter(exists).copied().collect();
        assert_eq!(listed, expected);
        let reader = self.store.reader();
        for (address, hash) in expected {
            assert_eq!(reader.find_code_hash(address).await.unwrap(), Some(hash));
        }
    }
}

fn run(steps: Vec<Step>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut world = World::new().await;
        for step in steps {
            world.apply(step).await;
            world.check().await;
        }
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn no_claim_exceeds_what_the_code_proves(steps in steps()) {
        run(steps);
    }
}

#[test]
fn every_case_occurs() {
    // The sources must cover all kinds of matches, else the property proves nothing.
    let sources = sources();
    let kinds: BTreeSet<Option<MatchKind>> = sources
        .iter()
        .map(|source| {
            let honest = &sources[0];
            compare(source, None, DeployedCode { address: address(0), runtime: &honest.runtime.bytes, creation: None })
                .verdict()
        })
        .collect();
    assert_eq!(kinds.len(), 3, "exact, partial and none");
    run(vec![
        // A constructor that returns somebody else's code, submitted under another name.
        Step::Deploy { at: 0, source: 0, argument: 1, fill: 0 },
        Step::Copy { at: 1, constructor: 5, of: 0 },
        Step::Submit { at: 1, source: 5 },
        Step::Submit { at: 0, source: 5 },
        // An unproven name, then the proven one, then the first again.
        Step::Submit { at: 0, source: 1 },
        Step::Submit { at: 0, source: 0 },
        Step::Submit { at: 1, source: 1 },
        // A library, and a copy of it.
        Step::Deploy { at: 2, source: 6, argument: 1, fill: 0 },
        Step::Submit { at: 2, source: 6 },
        Step::Copy { at: 3, constructor: 6, of: 2 },
        Step::Submit { at: 3, source: 6 },
        // Two constructors that return the same code.
        Step::Deploy { at: 0, source: 3, argument: 1, fill: 0 },
        Step::SubmitWithoutTrace { at: 0, source: 4 },
        Step::Deploy { at: 1, source: 4, argument: 1, fill: 0 },
        Step::Submit { at: 0, source: 3 },
        Step::Submit { at: 1, source: 4 },
        // Reverted, and deployed again with another argument.
        Step::Reorg { blocks: 3 },
        Step::Deploy { at: 0, source: 3, argument: 2, fill: 0 },
        Step::Deploy { at: 4, source: 7, argument: 1, fill: 1 },
        Step::Submit { at: 4, source: 7 },
    ]);
}
