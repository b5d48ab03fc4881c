//! Verified contracts of the demo: their sources and the output of the compiler are part of the program, so that no compiler
//! is needed. What does not match the chain is not recorded.

use std::collections::BTreeMap;

use devchain::traffic::{Contract, SOURCES, compiler_settings};
use domain::{Address, UnixMillis};
use futures::future::join_all;
use verification::{Compilation, CompilationError, CompilationRecorder};

/// Records these contracts as verified. Without one of them, the demo is still worth seeing.
pub(super) async fn record(recorder: &CompilationRecorder, contracts: Vec<(Address, Contract)>, now: UnixMillis) {
    let recorded = contracts.into_iter().map(async |(address, contract)| {
        let result: anyhow::Result<_> = async {
            let compilation = compilation(&contract.compiler_output())?;
            Ok(recorder.record(address, &compilation, now).await?)
        }
        .await;
        if let Err(error) = result {
            tracing::warn!(%address, ?contract, error = format!("{error:#}"), "a contract of the demo is not verified");
        }
    });
    join_all(recorded).await;
}

fn compilation(output: &str) -> Result<Compilation, CompilationError> {
    let sources: BTreeMap<_, _> = SOURCES.map(|(path, text)| (path.to_owned(), text.to_owned())).into();
    Compilation::read(output, sources, compiler_settings())
}

#[cfg(test)]
mod tests {
    use std::{net::SocketAddr, sync::Arc, time::Duration};

    use alloy_primitives::keccak256;
    use devchain::{DevChain, DevChainConfig, RpcServer, traffic::Traffic};
    use domain::MatchKind;
    use node::{NodeClient, NodeConfig};
    use serde_json::Value;
    use store::VerifiedContracts;
    use tempfile::TempDir;
    use tokio_util::sync::CancellationToken;
    use verification::NotRecorded;

    use super::*;
    use crate::{
        config::{
            location::LocationOptions, node::NodeOptions, roles::RoleOptions, run_options::RunOptions,
            service_config::ServiceConfig,
        },
        logging::LogFilter,
        service::Service,
    };

    const NOW: UnixMillis = 1_700_000_000_000;

    /// A chain with contracts, and its index.
    struct Indexed {
        chain: DevChain,
        contracts: devchain::traffic::DeployedContracts,
        recorder: CompilationRecorder,
        records: Arc<dyn VerifiedContracts>,
        service: Service,
        cancel: CancellationToken,
        rpc: RpcServer,
        _folder: TempDir,
    }

    impl Indexed {
        async fn start() -> Self {
            let chain = DevChain::new(DevChainConfig::default());
            let contracts = Traffic::new(chain.clone(), 1).deploy().unwrap().clone();
            let listen = SocketAddr::from(([127, 0, 0, 1], 0));
            let rpc = chain.serve(listen).await.unwrap();
            let folder = tempfile::tempdir().unwrap();
            let (url, data) = (rpc.url().parse().unwrap(), Some(folder.path().to_owned()));
            let options = RunOptions {
                node: NodeOptions { rpc: vec![url] },
                location: LocationOptions { data, ..LocationOptions::default() },
                roles: RoleOptions { listen: Some(listen), ..RoleOptions::default() },
                ..RunOptions::default()
            };
            let (config, cancel) = (ServiceConfig::new(options).unwrap(), CancellationToken::new());
            let service = Service::start(config, LogFilter::new("info").unwrap().0, cancel.clone()).await.unwrap();
            let (mut sync, head) = (service.sync(), chain.head().number);
            let synced = sync.wait_for(|status| status.tip.is_some_and(|tip| tip.number >= head));
            drop(tokio::time::timeout(Duration::from_secs(60), synced).await.unwrap().unwrap());
            let records = service.store().verified_contracts();
            let recorder = CompilationRecorder {
                node: NodeClient::new(NodeConfig::new(vec![rpc.url().parse().unwrap()])).unwrap(),
                chain: service.store().reader(),
                records: Arc::clone(&records),
            };
            Self { chain, contracts, recorder, records, service, cancel, rpc, _folder: folder }
        }

        async fn is_recorded(&self, address: Address) -> bool {
            let code_hash = keccak256(self.chain.code(address));
            self.records.find_verified(address, code_hash).await.unwrap().is_some()
        }

        async fn stop(self) {
            self.cancel.cancel();
            self.service.finish().await.unwrap();
            self.rpc.shutdown().await;
        }
    }

    /// The output for the vault with another byte, at this distance from the end of a code.
    fn with_other_byte(code: &str, from_end: usize) -> String {
        let mut output: Value = serde_json::from_str(&Contract::Vault.compiler_output()).unwrap();
        let object = &mut output["contracts"]["other/Vault.sol"]["Vault"]["evm"][code]["object"];
        let mut text = object.as_str().unwrap().to_owned();
        let at = text.len() - from_end;
        let other = if &text[at..=at] == "0" { "1" } else { "0" };
        text.replace_range(at..=at, other);
        *object = text.into();
        output.to_string()
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_contract_is_recorded_only_if_every_byte_of_its_code_matches() {
        let indexed = Indexed::start().await;
        let vault = indexed.contracts.vault;
        // In the code, and in the metadata hash at its end.
        for from_end in [400, 40] {
            let changed = compilation(&with_other_byte("deployedBytecode", from_end)).unwrap();
            let refused = indexed.recorder.record(vault, &changed, NOW).await;
            assert!(matches!(refused, Err(NotRecorded::Differs(_))), "{refused:?}");
            assert!(!indexed.is_recorded(vault).await);
        }
        // The code of another contract.
        record(&indexed.recorder, vec![(indexed.contracts.counter, Contract::Vault)], NOW).await;
        assert!(!indexed.is_recorded(indexed.contracts.counter).await);

        // The creation code is compared by itself, and proves the constructor.
        let changed = compilation(&with_other_byte("bytecode", 700)).unwrap();
        let verified = indexed.recorder.record(vault, &changed, NOW).await.unwrap();
        assert_eq!((verified.code.runtime_match, verified.creation_match()), (MatchKind::Exact, None));
        indexed.stop().await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn every_published_contract_matches_exactly_with_its_constructor_arguments() {
        let indexed = Indexed::start().await;
        let published = indexed.contracts.published();
        record(&indexed.recorder, published.clone(), NOW).await;
        for (address, contract) in published {
            let code_hash = keccak256(indexed.chain.code(address));
            let verified = indexed.records.find_verified(address, code_hash).await.unwrap().unwrap();
            assert_eq!(verified.code.name, format!("{contract:?}"));
            assert_eq!(verified.code.runtime_match, MatchKind::Exact, "{contract:?}");
            assert_eq!(verified.creation_match(), Some(MatchKind::Exact), "{contract:?}");
            assert!(verified.code.sources.iter().any(|source| source.path == verified.code.file), "{contract:?}");
            assert_eq!(verified.code.license.as_deref(), Some("MIT"));
            let arguments = verified.deployment.and_then(|deployment| deployment.proof).unwrap().arguments;
            let has_arguments = matches!(
                contract,
                Contract::PlainToken | Contract::Collectible | Contract::V2Router | Contract::V3Pool
            );
            assert_eq!(!arguments.is_empty(), has_arguments, "{contract:?}");
        }
        // The other pairs have the same code.
        assert!(indexed.is_recorded(indexed.contracts.v2_pairs[1].address).await);
        assert!(!indexed.is_recorded(indexed.contracts.look_alike).await);
        indexed.stop().await;
    }

    #[test]
    fn a_source_that_was_not_compiled_is_refused() {
        let mut sources: BTreeMap<_, _> = SOURCES.map(|(path, text)| (path.to_owned(), text.to_owned())).into();
        sources.get_mut("other/Vault.sol").unwrap().push(' ');
        let read = Compilation::read(&Contract::Vault.compiler_output(), sources, compiler_settings());
        assert!(matches!(read, Err(CompilationError::OtherSource(path)) if path == "other/Vault.sol"));
    }
}
