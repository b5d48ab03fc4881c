//! From a request to a verdict: the code is read off the chain, the settings are searched for, what is found is kept.

mod build;
#[cfg(feature = "fuzzing")]
pub(crate) mod fuzzing;
mod license;
mod queue;
mod record;
mod refusal;
mod request;
mod search;
mod selectors;
mod sources;
#[cfg(test)]
mod truth;

use std::{
    collections::HashSet,
    net::IpAddr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use alloy_primitives::{Address, B256, Bytes};
use domain::{Code, UnixMillis, VerifiedContract};
use node::{CallBlock, NodeClient, NodeError};
pub use queue::{Allowance, QueueConfig, VerifyClient};
pub use refusal::{Refusal, Stopped, Tried};
pub use request::{OptimizerChoice, VerifyRequest};
pub use selectors::FunctionsDiffer;
pub use sources::{MissingSource, Sources, SourcesError};
use store::{ChainReader, Kept, StoreError, VerifiedContracts};

use self::{
    queue::Queue,
    search::{Found, Match, Search},
};
use crate::{
    Auxdata, CompileError, CompilerConfig, Compilers, CompilersError, VersionError,
    code::{OutputArtifacts, minimal_proxy_target},
    compilers::{CpuBudget, Session},
    deployment::KnownCreation,
    matching::Deployed,
};

/// How much is verified at once.
#[derive(Debug, Clone)]
pub struct VerifierConfig {
    pub compilers: CompilerConfig,
    /// Who is verified when; each verification compiles one thing after the other.
    pub queue: QueueConfig,
    /// Processor time for all compilations of one verification.
    pub cpu_time: Duration,
    /// For the search for settings, once the compiler is there.
    pub search_time: Duration,
    /// Full compilations that a search may make.
    pub search_compilations: u32,
}

impl VerifierConfig {
    #[must_use]
    pub fn new(compilers: CompilerConfig) -> Self {
        Self {
            compilers,
            queue: QueueConfig::default(),
            cpu_time: Duration::from_secs(45),
            search_time: Duration::from_secs(60),
            search_compilations: 24,
        }
    }
}

/// What a verifier works with.
#[expect(missing_debug_implementations, reason = "traits without Debug")]
pub struct VerifierParts {
    pub node: NodeClient,
    pub chain: Arc<dyn ChainReader>,
    pub records: Arc<dyn VerifiedContracts>,
    pub config: VerifierConfig,
}

/// Verifies contracts.
pub struct Verifier {
    node: NodeClient,
    chain: Arc<dyn ChainReader>,
    records: Arc<dyn VerifiedContracts>,
    config: VerifierConfig,
    compilers: Compilers,
    queue: Queue,
    under_way: Mutex<HashSet<(IpAddr, Address)>>,
}

/// What came of a request.
#[derive(Debug)]
pub enum Verdict {
    Verified { contract: Box<VerifiedContract>, kept: Kept, note: Option<String> },
    Refused(Refusal),
}

/// Why there is no verdict.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    #[error("there is no contract's code at the address")]
    NoCode,
    #[error("compilerVersion {0}")]
    Version(VersionError),
    #[error("you have a verification of this address running already: wait for its answer")]
    UnderWay,
    /// The client's own others are to be waited for.
    #[error("you have as many verifications running and waiting as one may have: wait for one of them to end")]
    TooManyOfOneClient,
    #[error("too many verifications are waiting")]
    Busy,
    /// The service lacks something; the text says what to install.
    #[error("{0}")]
    NoCompiler(String),
    #[error("a compiler could not be got or run")]
    Compilers(#[source] CompilersError),
    #[error(transparent)]
    Node(#[from] NodeError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<CompilersError> for VerifyError {
    fn from(error: CompilersError) -> Self {
        match error {
            CompilersError::Version(error) => Self::Version(error),
            CompilersError::Missing(what) | CompilersError::Run(CompileError::Missing(what)) => Self::NoCompiler(what),
            error => Self::Compilers(error),
        }
    }
}

/// What stands on the chain at the address of a request.
struct OnChain {
    runtime: Bytes,
    creation: Option<KnownCreation>,
}

impl Verifier {
    #[must_use]
    pub fn new(parts: VerifierParts) -> Self {
        let VerifierParts { node, chain, records, config } = parts;
        Self {
            compilers: Compilers::new(config.compilers.clone()),
            queue: Queue::new(config.queue),
            under_way: Mutex::default(),
            node,
            chain,
            records,
            config,
        }
    }

    /// The compilers that sources are verified with.
    #[must_use]
    pub fn compilers(&self) -> &Compilers {
        &self.compilers
    }

    /// Finds out whether sources give the code at an address, and keeps them if they do.
    pub async fn verify(
        &self,
        client: VerifyClient,
        request: VerifyRequest,
        now: UnixMillis,
    ) -> Result<Verdict, VerifyError> {
        let _only_one = self.begin(client, request.address)?;
        let place = self.queue.join(client)?;
        let on_chain = self.read_chain(request.address).await?;
        if let Some(target) = minimal_proxy_target(&on_chain.runtime) {
            return Ok(Verdict::Refused(Refusal::MinimalProxy { target }));
        }
        // Before anything is fetched or compiled: the code itself names its compiler.
        if let Some(refusal) = refuse_compiler(&request, &on_chain.runtime) {
            return Ok(Verdict::Refused(refusal));
        }
        let compiler = self.compilers.get(&request.compiler).await?;
        place.turn().await;
        let session = self.compilers.session(compiler, CpuBudget::new(self.config.cpu_time));
        let chain = Deployed {
            address: request.address,
            runtime: &on_chain.runtime,
            creation: on_chain.creation.as_ref().map(|creation| creation.code.as_ref()),
        };
        let search = Search::new(&session, &request, chain, &self.config);
        let found = match search.run().await? {
            Found::Match(found) => found,
            Found::Nothing(refusal) => return Ok(Verdict::Refused(refusal)),
        };
        let note = record::note(&found.comparison, &on_chain, &request);
        let artifacts = artifacts(&session, &found).await;
        let context =
            record::Context { request: &request, compiler: session.version(), on_chain: &on_chain, artifacts, now };
        let contract = record::contract(&found, context);
        self.wait_for_code(contract.address, contract.code.code_hash).await?;
        let kept = record::keep(&*self.records, contract.clone(), on_chain.creation.as_ref()).await?;
        Ok(Verdict::Verified { contract: Box::new(contract), kept, note })
    }

    /// Lists follow the index's word on code, which comes a moment after the block. Whoever is told that a contract is verified
    /// finds it there.
    async fn wait_for_code(&self, address: Address, code_hash: B256) -> Result<(), StoreError> {
        const LONGEST: u32 = 60;
        for _ in 0..LONGEST {
            let is_known = self.chain.find_address(address).await?.is_some();
            if !is_known || self.chain.find_code_hash(address).await? == Some(code_hash) {
                break;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok(())
    }

    /// One verification of an address at a time for each client. Another client need not wait for it: its source may be
    /// one that never compiles.
    fn begin(&self, client: VerifyClient, address: Address) -> Result<UnderWay<'_>, VerifyError> {
        let mut under_way = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        let what = (client.site, address);
        if !under_way.insert(what) {
            return Err(VerifyError::UnderWay);
        }
        Ok(UnderWay { all: &self.under_way, what })
    }

    async fn read_chain(&self, address: Address) -> Result<OnChain, VerifyError> {
        let runtime = self.node.code(address, CallBlock::Latest).await?;
        if !Code::from_bytes(&runtime).is_contract() {
            return Err(VerifyError::NoCode);
        }
        // A contract that another one made, and nobody called since, may stand in no block of the index.
        let facts = self.chain.find_address(address).await?;
        let Some(creation) = facts.and_then(|facts| facts.creation) else {
            return Ok(OnChain { runtime, creation: None });
        };
        let id = creation.id();
        let code = self.node.find_creation_code(address, id).await?;
        Ok(OnChain { runtime, creation: code.map(|code| KnownCreation { id, code }) })
    }
}

impl std::fmt::Debug for Verifier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Verifier").field("config", &self.config).finish_non_exhaustive()
    }
}

/// Takes the address off the list again, however the verification ends.
struct UnderWay<'a> {
    all: &'a Mutex<HashSet<(IpAddr, Address)>>,
    what: (IpAddr, Address),
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.all.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.what);
    }
}

/// What the compiler tells beside the code of the contract that was found. A match is one without.
async fn artifacts(session: &Session, found: &Match) -> OutputArtifacts {
    let (file, name) = (&found.compiled.file, &found.compiled.name);
    let input = build::input(&found.files, &found.settings, build::Wanted::Artifacts { file, name });
    match session.compile(input).await {
        Ok(output) => OutputArtifacts::read(&output, file, name),
        Err(error) => {
            tracing::info!(%error, "no documentation of a verified contract");
            OutputArtifacts::default()
        }
    }
}

fn refuse_compiler(request: &VerifyRequest, runtime: &[u8]) -> Option<Refusal> {
    /// The first compiler that names itself, and hashes in another way.
    const NAMES_ITSELF: (u16, u16, u16) = (0, 5, 9);
    let tail = Auxdata::at_end_of(runtime)?;
    let on_chain = match tail.compiler() {
        Some(name) if request.compiler.is_named(&name) => return None,
        Some(name) => name,
        None => match tail.hash()? {
            crate::MetadataHash::Bzzr0(_) if request.compiler.release() >= NAMES_ITSELF => {
                "one before 0.5.9".to_owned()
            }
            _ => return None,
        },
    };
    Some(Refusal::OtherCompiler { asked: request.compiler.short(), on_chain })
}
