//! Verifies a contract: reads its code from the chain, searches for the settings, and stores the match.

use std::{
    collections::HashSet,
    fmt,
    net::IpAddr,
    sync::{Arc, Mutex, PoisonError},
};

use alloy_primitives::Address;
use contracts::minimal_proxy_target;
use domain::{Language, MatchKind, UnixMillis, VerifiedContract};
use node::NodeClient;
use store::{ChainReader, Kept, VerifiedContracts};

use crate::{
    Auxdata, CompilerVersion, Compilers, MetadataHash,
    code::vyper_version_at_end_of,
    compilers::CpuBudget,
    config::VerifierConfig,
    error::VerifyError,
    on_chain::{self, FetchedCode},
    queue::{Queue, QueueEntry, VerifyClient},
    record,
    request::VerifyRequest,
    search::{Refusal, SearchResult, SoliditySearch, VyperSearch, compile_artifacts, describe_match},
    shortened,
};

/// Dependencies of a verifier.
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
    running: Arc<Mutex<HashSet<(IpAddr, Address)>>>,
}

/// A verification that has joined the queue. It leaves when this is dropped.
#[derive(Debug)]
pub(crate) struct Enqueued {
    _running: RunningGuard,
    entry: QueueEntry,
}

/// What a verification waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VerifyStage {
    /// The node's answer.
    Chain,
    /// The compiler of this version, which may have to be downloaded.
    Compiler(String),
    /// A free slot.
    Slot,
    /// Its own compilations.
    Compilation,
    /// Another process, which runs it or an equal one.
    OtherProcess,
}

impl fmt::Display for VerifyStage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Chain => f.write_str("the node, for the code of the contract"),
            Self::Compiler(version) => write!(f, "the compiler {version}, which is downloaded if it is missing"),
            Self::Slot => f.write_str("other verifications to finish"),
            Self::Compilation => f.write_str("the compiler, which compiles the source"),
            Self::OtherProcess => f.write_str("another process of this service, which verifies the source"),
        }
    }
}

/// The result of a verification.
#[derive(Debug)]
pub enum Verdict {
    Verified { contract: Box<VerifiedContract>, kept: Kept, note: Option<String> },
    Refused(Refusal),
}

impl Verdict {
    /// The match, or what differs, as shown to users.
    #[must_use]
    pub fn message(&self) -> String {
        let (contract, kept, note) = match self {
            Self::Refused(refusal) => return refusal.to_string(),
            Self::Verified { contract, kept, note } => (contract, kept, note),
        };
        let (name, file) = (shortened(&contract.code.name), shortened(&contract.code.file));
        let mut message = match contract.code.runtime_match {
            MatchKind::Exact => {
                format!("Exact match: {name} of {file} compiles to the code, including the metadata hash.")
            }
            MatchKind::Partial if contract.code.language() == Language::Vyper => {
                describe_match(&name, contract.creation_match())
            }
            MatchKind::Partial => format!(
                "Partial match: {name} compiles to the code, but the metadata hash differs or is missing: comments and names in the source are unproven."
            ),
        };
        if let Some(note) = note {
            message.push(' ');
            message.push_str(note);
        }
        if *kept == Kept::Unchanged {
            message.push_str(" It was already verified and is unchanged.");
        }
        message
    }
}

impl Verifier {
    #[must_use]
    pub fn new(parts: VerifierParts) -> Self {
        let VerifierParts { node, chain, records, config } = parts;
        Self {
            compilers: Compilers::new(config.compilers.clone()),
            queue: Queue::new(config.queue),
            running: Arc::default(),
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

    /// Joins the queue, unless the client or the whole queue has reached its limit.
    pub(crate) fn enqueue(&self, client: VerifyClient, address: Address) -> Result<Enqueued, VerifyError> {
        Ok(Enqueued { _running: self.begin(client, address)?, entry: self.queue.join(client)? })
    }

    /// Checks whether sources compile to the code at an address, and stores them if they do.
    pub(crate) async fn verify(
        &self,
        enqueued: Enqueued,
        request: &VerifyRequest,
        now: UnixMillis,
        report: &(dyn Fn(VerifyStage) + Send + Sync),
    ) -> Result<Verdict, VerifyError> {
        tracing::debug!(address = %request.address, "verification queued");
        report(VerifyStage::Chain);
        let on_chain = FetchedCode::read(&self.node, &*self.chain, request.address).await?;
        if let Some(target) = minimal_proxy_target(&on_chain.runtime) {
            return Ok(Verdict::Refused(Refusal::MinimalProxy { target }));
        }
        // The code names its compiler, so a wrong one is rejected before anything is downloaded or compiled.
        if let Some(refusal) = refuse_compiler(request, &on_chain.runtime) {
            return Ok(Verdict::Refused(refusal));
        }
        report(VerifyStage::Compiler(request.compiler.to_string()));
        let compiler = self.compilers.get(&request.compiler).await?;
        report(VerifyStage::Slot);
        enqueued.entry.wait_until_running().await?;
        report(VerifyStage::Compilation);
        let session = self.compilers.session(compiler, CpuBudget::new(self.config.cpu_time));
        let chain = on_chain.deployed_at(request.address);
        let searched = match request.compiler.language() {
            Language::Solidity => SoliditySearch::new(&session, request, chain, &self.config).run().await?,
            Language::Vyper => VyperSearch::new(&session, request, chain, &self.config).run().await?,
        };
        let found = match searched {
            SearchResult::Match(found) => found,
            SearchResult::NoMatch(refusal) => return Ok(Verdict::Refused(refusal)),
        };
        let note = record::note(&found.comparison, &on_chain, request);
        let artifacts = compile_artifacts(&session, &found).await;
        let (address, license) = (request.address, request.license.as_deref());
        let compiler = session.version();
        let context = record::Context { address, license, compiler, on_chain: &on_chain, artifacts, now };
        let contract = record::contract(&found, context);
        on_chain::wait_until_indexed(&*self.chain, address, contract.code.code_hash).await?;
        let kept = record::store(&*self.records, contract.clone(), on_chain.creation.as_ref()).await?;
        Ok(Verdict::Verified { contract: Box::new(contract), kept, note })
    }

    /// Allows one verification per client and address at a time. Other clients are not blocked by it, since its source may never
    /// compile.
    fn begin(&self, client: VerifyClient, address: Address) -> Result<RunningGuard, VerifyError> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (client.network, address);
        if !running.insert(key) {
            return Err(VerifyError::AlreadyRunning);
        }
        drop(running);
        Ok(RunningGuard { all: Arc::clone(&self.running), key })
    }
}

impl std::fmt::Debug for Verifier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Verifier").field("config", &self.config).finish_non_exhaustive()
    }
}

/// Removes the entry when the verification ends in any way.
#[derive(Debug)]
struct RunningGuard {
    all: Arc<Mutex<HashSet<(IpAddr, Address)>>>,
    key: (IpAddr, Address),
}

impl Drop for RunningGuard {
    fn drop(&mut self) {
        self.all.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.key);
    }
}

fn refuse_compiler(request: &VerifyRequest, runtime: &[u8]) -> Option<Refusal> {
    /// The first compiler that writes its version into the auxdata, and uses bzzr1.
    const WRITES_VERSION: (u16, u16, u16) = (0, 5, 9);
    let is_vyper = request.compiler.language() == Language::Vyper;
    let on_chain = if let Some(version) = vyper_version_at_end_of(runtime) {
        let named = CompilerVersion::parse(&version, Language::Vyper);
        if is_vyper && named.is_ok_and(|named| named.release() == request.compiler.release()) {
            return None;
        }
        format!("{}{version}", Language::VYPER_PREFIX)
    } else {
        let tail = Auxdata::at_end_of(runtime)?;
        match tail.compiler() {
            Some(name) if is_vyper => format!("solc {name}"),
            Some(name) if request.compiler.is_named(&name) => return None,
            Some(name) => name,
            None => match tail.hash()? {
                _ if is_vyper => "solc".to_owned(),
                MetadataHash::Bzzr0(_) if request.compiler.release() >= WRITES_VERSION => "one before 0.5.9".to_owned(),
                _ => return None,
            },
        }
    };
    Some(Refusal::OtherCompiler { requested: request.compiler.short(), on_chain })
}
