use std::sync::Arc;

use domain::{Address, ApiKey, NewApiKey, UnixMillis};
use futures::future::BoxFuture;
use node::NodeClient;
use store::{AddKeyError, UserRecords};

use super::{
    contract_wallet::{self, WalletResponse},
    proof::{Proof, Signer},
    proof_error::ProofError,
    signature::SignatureBytes,
    text::KeyText,
};
use crate::error::ApiError;

/// The rate limit of a new key.
pub const REQUESTS_PER_MINUTE: u32 = 100;

/// Issues keys to callers that prove that they own an address.
pub(crate) struct KeyIssuer {
    records: Arc<dyn UserRecords>,
    node: NodeClient,
}

/// A new key with its secret text, which is shown only once.
#[derive(Debug)]
pub struct IssuedKey {
    pub key: ApiKey,
    pub text: KeyText,
}

impl KeyIssuer {
    pub(crate) fn new(records: Arc<dyn UserRecords>, node: NodeClient) -> Self {
        Self { records, node }
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
        let signer = proof.signer(signature);
        if signer == Signer::Owner {
            return Ok(());
        }
        let digest = proof.digests().personal;
        let response = contract_wallet::check(&self.node, proof.owner, digest, signature.as_bytes()).await;
        let error = match (response.map_err(ApiError::WalletUnavailable)?, signer) {
            (WalletResponse::Valid, _) => return Ok(()),
            (WalletResponse::NoContract, Signer::Other(error)) => error,
            (WalletResponse::NoContract, _) => ProofError::NotDeployable,
            (WalletResponse::Rejected, _) => ProofError::RejectedByContract,
        };
        Err(error.into())
    }
}

/// Creates and stores a key. The operator may create one without a proof.
pub fn issue_key(
    records: &dyn UserRecords,
    owner: Address,
    label: String,
    proof: Option<UnixMillis>,
    now: UnixMillis,
) -> BoxFuture<'_, Result<IssuedKey, AddKeyError>> {
    Box::pin(async move {
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
    })
}
