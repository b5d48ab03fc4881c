//! A builder that signs transactions with the next nonce and submits them.

use alloy_consensus::{
    SignableTransaction, TxEip1559, TxEip2930, TxEip7702, TxEnvelope, TxLegacy, transaction::Recovered,
};
use alloy_eips::{
    eip2930::AccessList,
    eip7702::{Authorization, SignedAuthorization},
};
use alloy_primitives::{Address, B256, Bytes, Signature, TxKind, U256};

use crate::{Call, DevChain, Signer, SubmitError};

/// The default priority fee.
const DEFAULT_TIP: u128 = 1_000_000_000;

/// The gas limit if the call cannot be simulated, for example because it depends on a pending
/// transaction.
const FALLBACK_CALL_GAS: u64 = 1_000_000;
const FALLBACK_CREATION_GAS: u64 = 5_000_000;

/// The transaction type.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum TransactionType {
    /// EIP-1559.
    #[default]
    DynamicFee,
    /// Untyped, with EIP-155 replay protection.
    Legacy,
    /// EIP-2930.
    AccessList(AccessList),
    /// EIP-7702; the recipient must be an address.
    SetCode(Vec<SignedAuthorization>),
}

/// Why a transaction could not be signed or submitted.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    #[error("there is no account {index}, the chain has {accounts}")]
    NoSuchAccount { index: usize, accounts: usize },
    #[error("a set code transaction cannot create a contract")]
    SetCodeCreates,
    #[error("signing failed")]
    Signing(#[from] k256::ecdsa::Error),
    #[error(transparent)]
    Rejected(#[from] SubmitError),
}

/// A transaction builder; [`Draft::submit`] signs and submits it.
#[derive(Debug, Clone)]
#[must_use = "a draft does nothing until it is submitted"]
pub struct Draft<'a> {
    chain: &'a DevChain,
    signer: &'a Signer,
    tx_type: TransactionType,
    to: TxKind,
    value: U256,
    data: Bytes,
    gas_limit: Option<u64>,
    tip: u128,
    nonce: Option<u64>,
}

impl<'a> Draft<'a> {
    pub(crate) fn new(chain: &'a DevChain, signer: &'a Signer) -> Self {
        Self {
            chain,
            signer,
            tx_type: TransactionType::default(),
            to: TxKind::Create,
            value: U256::ZERO,
            data: Bytes::new(),
            gas_limit: None,
            tip: DEFAULT_TIP,
            nonce: None,
        }
    }

    /// The recipient; a draft without one creates a contract.
    pub fn to(mut self, to: Address) -> Self {
        self.to = TxKind::Call(to);
        self
    }

    pub fn kind(mut self, kind: TxKind) -> Self {
        self.to = kind;
        self
    }

    pub fn value(mut self, value: U256) -> Self {
        self.value = value;
        self
    }

    pub fn data(mut self, data: impl Into<Bytes>) -> Self {
        self.data = data.into();
        self
    }

    pub fn tx_type(mut self, tx_type: TransactionType) -> Self {
        self.tx_type = tx_type;
        self
    }

    /// Overrides the gas limit, which is estimated by default.
    pub fn gas_limit(mut self, gas_limit: u64) -> Self {
        self.gas_limit = Some(gas_limit);
        self
    }

    /// The priority fee in wei per gas.
    pub fn tip(mut self, tip: u128) -> Self {
        self.tip = tip;
        self
    }

    /// Overrides the nonce, which is the next free one by default.
    pub fn nonce(mut self, nonce: u64) -> Self {
        self.nonce = Some(nonce);
        self
    }

    /// Signs the transaction and adds it to the pool.
    pub fn submit(self) -> Result<B256, SendError> {
        // Held until the pool has the transaction, so that no other one gets the same nonce.
        let _guard = self.chain.sending();
        let transaction = self.sign()?;
        let transaction = Recovered::new_unchecked(transaction, self.signer.address());
        Ok(self.chain.submit_recovered(transaction)?)
    }

    fn sign(&self) -> Result<TxEnvelope, SendError> {
        let chain_id = self.chain.chain_id();
        let nonce = self.nonce.unwrap_or_else(|| self.chain.next_nonce(self.signer.address()));
        let gas_limit = self.gas_limit.unwrap_or_else(|| self.estimated_gas_limit());
        // Twice the base fee is enough for several full blocks in a row.
        let max_fee = u128::from(self.chain.next_base_fee()) * 2 + self.tip;
        let gas_price = u128::from(self.chain.next_base_fee()) + self.tip;
        let (to, value, input) = (self.to, self.value, self.data.clone());
        Ok(match self.tx_type.clone() {
            TransactionType::DynamicFee => self.signed(TxEip1559 {
                chain_id,
                nonce,
                gas_limit,
                max_fee_per_gas: max_fee,
                max_priority_fee_per_gas: self.tip,
                to,
                value,
                access_list: AccessList::default(),
                input,
            })?,
            TransactionType::Legacy => {
                self.signed(TxLegacy { chain_id: Some(chain_id), nonce, gas_price, gas_limit, to, value, input })?
            }
            TransactionType::AccessList(access_list) => {
                self.signed(TxEip2930 { chain_id, nonce, gas_price, gas_limit, to, value, access_list, input })?
            }
            TransactionType::SetCode(authorization_list) => self.signed(TxEip7702 {
                chain_id,
                nonce,
                gas_limit,
                max_fee_per_gas: max_fee,
                max_priority_fee_per_gas: self.tip,
                to: to.into_to().ok_or(SendError::SetCodeCreates)?,
                value,
                access_list: AccessList::default(),
                authorization_list,
                input,
            })?,
        })
    }

    fn signed<T>(&self, transaction: T) -> Result<TxEnvelope, SendError>
    where
        T: SignableTransaction<Signature>,
        TxEnvelope: From<alloy_consensus::Signed<T>>,
    {
        let signature = self.signer.sign_hash(&transaction.signature_hash())?;
        Ok(transaction.into_signed(signature).into())
    }

    /// Enough gas even if transactions before it change the state.
    fn estimated_gas_limit(&self) -> u64 {
        const TRANSFER: u64 = 21_000;
        let (access_list, authorizations) = match &self.tx_type {
            TransactionType::DynamicFee | TransactionType::Legacy => Default::default(),
            TransactionType::AccessList(list) => (list.clone(), Vec::new()),
            TransactionType::SetCode(list) => (AccessList::default(), list.clone()),
        };
        let call = Call {
            from: self.signer.address(),
            to: self.to,
            value: self.value,
            data: self.data.clone(),
            gas: None,
            access_list,
            authorizations,
        };
        match self.chain.gas_used_by(&call) {
            Ok(TRANSFER) => TRANSFER,
            Ok(used) => used * 2 + 50_000,
            Err(_) if self.to.is_create() => FALLBACK_CREATION_GAS,
            Err(_) => FALLBACK_CALL_GAS,
        }
        .min(self.chain.block_gas_limit())
    }
}

impl DevChain {
    /// Sends an EIP-1559 transaction from the account with this index.
    pub fn send(&self, from: usize, to: TxKind, value: U256, data: impl Into<Bytes>) -> Result<B256, SendError> {
        self.draft(from)?.kind(to).value(value).data(data).submit()
    }

    /// A transaction builder for the account with this index.
    pub fn draft(&self, from: usize) -> Result<Draft<'_>, SendError> {
        let accounts = self.accounts();
        let signer = accounts.get(from).ok_or(SendError::NoSuchAccount { index: from, accounts: accounts.len() })?;
        Ok(self.draft_as(signer))
    }

    /// A transaction builder for any signer.
    pub(crate) fn draft_as<'a>(&'a self, signer: &'a Signer) -> Draft<'a> {
        Draft::new(self, signer)
    }

    /// Signs an EIP-7702 authorization that delegates the account with this index to `code_of`.
    ///
    /// The nonce is the account's next one, which is right if another account sends the transaction.
    pub fn authorize(&self, from: usize, code_of: Address) -> Result<SignedAuthorization, SendError> {
        let accounts = self.accounts();
        let signer = accounts.get(from).ok_or(SendError::NoSuchAccount { index: from, accounts: accounts.len() })?;
        let authorization = Authorization {
            chain_id: U256::from(self.chain_id()),
            address: code_of,
            nonce: self.next_nonce(signer.address()),
        };
        let signature = signer.sign_hash(&authorization.signature_hash())?;
        Ok(authorization.into_signed(signature))
    }
}
