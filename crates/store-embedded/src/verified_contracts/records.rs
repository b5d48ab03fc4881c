//! Verified code and its deployments, as rows.

use domain::{Address, B256, CreationId, Deployment, VerifiedCode, VerifiedSummary};
use store::StoreError;

use super::row::{self, CodeRow};
use crate::{
    engine::{Batch, View},
    keys::{Key, Table, number_in_key},
    rows::{BlockRow, CreationRow, TransactionRow},
};

pub(super) const INVALID_KEY: StoreError = StoreError::Corrupt("an invalid key of verified code");

/// Reads an address and the code hash after it.
pub(super) fn contract_in(bytes: &[u8]) -> Result<(Address, B256), StoreError> {
    let (address, hash) = bytes.split_at_checked(Address::len_bytes()).ok_or(INVALID_KEY)?;
    let address = Address::try_from(address).map_err(|_| INVALID_KEY)?;
    Ok((address, B256::try_from(hash).map_err(|_| INVALID_KEY)?))
}

/// Verified code that applies to an address.
#[derive(Debug)]
pub(super) struct Record {
    key: Key,
    pub(super) row: CodeRow,
}

/// The sources that prove the most of some code at an address.
pub(super) fn find(view: &View, address: &Address, code_hash: &B256) -> Result<Option<Record>, StoreError> {
    let read = |key: Key| -> Result<Option<Record>, StoreError> {
        let row = view.get(Table::VerifiedCode, &key)?.map(|row| CodeRow::from_row(&row)).transpose()?;
        Ok(row.map(|row| Record { key, row }))
    };
    let (shared, own) = (read(Key::hash(code_hash))?, read(Key::code_at(code_hash, address))?);
    Ok(match (shared, own) {
        (Some(shared), Some(own)) if shared.row.runtime_match > own.row.runtime_match => Some(shared),
        (shared, own) => own.or(shared),
    })
}

impl Record {
    pub(super) fn detail(self, view: &View, code_hash: B256) -> Result<VerifiedCode, StoreError> {
        let detail = view.get(Table::VerifiedCodeDetail, &self.key)?;
        row::read_detail(code_hash, self.row, &detail.ok_or(StoreError::Corrupt("verified code without its sources"))?)
    }

    /// What was derived about the deployment at an address, if it belongs to the current creation and to this code.
    pub(super) fn deployment(
        &self,
        view: &View,
        address: &Address,
        code_hash: &B256,
    ) -> Result<Option<Deployment>, StoreError> {
        let row = view.get(Table::VerifiedDeployment, &Key::contract(address, code_hash))?;
        let Some(deployment) = row.map(|row| row::read_deployment(&row)).transpose()? else { return Ok(None) };
        if deployment.build != self.row.build {
            return Ok(None);
        }
        let is_current = find_creation(view, address)? == Some(deployment.creation);
        Ok(is_current.then_some(deployment))
    }

    pub(super) fn summary(
        self,
        address: Address,
        code_hash: B256,
        deployment: Option<&Deployment>,
        twin_of: Option<Address>,
    ) -> VerifiedSummary {
        VerifiedSummary {
            address,
            code_hash,
            build: self.row.build,
            name: self.row.name,
            compiler: self.row.compiler,
            runtime_match: self.row.runtime_match,
            creation_match: deployment.and_then(|deployment| deployment.proof.as_ref()).map(|proof| proof.kind),
            license: self.row.license,
            verified_at: self.row.verified_at,
            twin_of,
        }
    }
}

/// The addresses that verified code applies to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    /// Every address with this code.
    Everywhere,
    ThisAddress,
}

pub(super) fn put(batch: &mut Batch, scope: Scope, address: Address, code: &VerifiedCode) {
    let key = match scope {
        Scope::Everywhere => Key::hash(&code.code_hash),
        Scope::ThisAddress => Key::code_at(&code.code_hash, &address),
    };
    batch.put(Table::VerifiedCode, &key, CodeRow::of(address, code).to_row());
    batch.put(Table::VerifiedCodeDetail, &key, row::write_detail(code));
}

pub(super) fn put_deployment(batch: &mut Batch, address: &Address, code_hash: &B256, deployment: &Deployment) {
    batch.put(Table::VerifiedDeployment, &Key::contract(address, code_hash), row::write_deployment(deployment));
}

/// The creation of a contract that the index names.
fn find_creation(view: &View, address: &Address) -> Result<Option<CreationId>, StoreError> {
    const MISSING: StoreError = StoreError::Corrupt("the transaction of a creation is missing");
    let Some(id) = view.get(Table::AddressId, &Key::address(address))? else { return Ok(None) };
    let row = view.get(Table::Creation, &Key::id(number_in_key(&id, 0)?))?;
    let Some(creation) = row.map(|row| CreationRow::from_row(&row)).transpose()? else { return Ok(None) };
    let tx = view.get(Table::Transaction, &Key::id(creation.tx))?.ok_or(MISSING)?;
    let tx = TransactionRow::from_row(&tx)?;
    let block = BlockRow::from_row(&view.get(Table::Block, &Key::block(tx.block_number))?.ok_or(MISSING)?)?;
    Ok(Some(CreationId { tx_hash: tx.hash, block_hash: block.hash }))
}
