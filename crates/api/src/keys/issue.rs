use std::sync::Arc;

use domain::{Address, ApiKey, NewApiKey, UnixMillis};
use node::NodeClient;
use store::{AddKeyError, UserRecords};
use tokio::sync::Semaphore;

use super::{
    contract_wallet::{self, Verdict},
    fault::ProofFault,
    proof::Proof,
    signature::{Finding, SignatureBytes},
    text::KeyText,
};
use crate::error::ApiError;

/// How often a new key may be used.
const REQUESTS_PER_MINUTE: u32 = 100;
/// Questions to contract wallets at once: they cost the node more than any other.
const WALLETS_AT_ONCE: usize = 8;

/// Gives keys to those who prove that an address is theirs.
pub(crate) struct KeyIssuer {
    records: Arc<dyn UserRecords>,
    node: NodeClient,
    wallets: Semaphore,
}

/// A new key, with its text for the only time.
#[derive(Debug)]
pub struct IssuedKey {
    pub key: ApiKey,
    pub text: KeyText,
}

impl KeyIssuer {
    pub(crate) fn new(records: Arc<dyn UserRecords>, node: NodeClient) -> Self {
        Self { records, node, wallets: Semaphore::new(WALLETS_AT_ONCE) }
    }

    pub(crate) async fn issue(
        &self,
        proof: Proof,
        signature: &SignatureBytes,
        label: String,
        now: UnixMillis,
    ) -> Result<IssuedKey, ApiError> {
        proof.check_time(now)?;
        self.check_signature(&proof, signature).await?;
        Ok(issue_key(&*self.records, proof.owner, label, Some(proof.signed_at), now).await?)
    }

    async fn check_signature(&self, proof: &Proof, signature: &SignatureBytes) -> Result<(), ApiError> {
        let finding = signature.judge(proof);
        if finding == Finding::ByOwner {
            return Ok(());
        }
        let verdict = {
            let _turn = self.wallets.acquire().await;
            let digest = proof.digests().personal;
            contract_wallet::ask(&self.node, proof.owner, digest, signature.as_bytes()).await
        };
        let fault = match (verdict.map_err(ApiError::WalletUnknown)?, finding) {
            (Verdict::Valid, _) => return Ok(()),
            (Verdict::NoContract, Finding::NotByOwner(fault)) => fault,
            (Verdict::NoContract, _) => ProofFault::NotDeployable,
            (Verdict::Refused, _) => ProofFault::RefusedByContract,
        };
        Err(fault.into())
    }
}

/// Makes a key and keeps it. Without a proof, it is the operator who answers for it.
pub async fn issue_key(
    records: &dyn UserRecords,
    owner: Address,
    label: String,
    proof: Option<UnixMillis>,
    now: UnixMillis,
) -> Result<IssuedKey, AddKeyError> {
    let text = KeyText::generate();
    let new = NewApiKey {
        digest: text.digest(),
        owner,
        prefix: text.prefix().to_owned(),
        label,
        requests_per_minute: REQUESTS_PER_MINUTE,
        created_at: now,
        proof,
    };
    let key = records.add_key(new).await?;
    Ok(IssuedKey { key, text })
}
