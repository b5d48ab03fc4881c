use domain::{Address, B256, Bytes};
use store::StoreError;

use super::snapshot::ReadSnapshot;
use crate::{
    keys::{AddressId, Key, Table},
    verified_contracts::code_hash_at,
};

impl ReadSnapshot {
    pub(crate) fn find_code_hash(&self, address: Address) -> Result<Option<B256>, StoreError> {
        match self.address_id(&address)? {
            Some(id) => self.code_hash(id),
            None => Ok(None),
        }
    }

    pub(super) fn code_hash(&self, id: AddressId) -> Result<Option<B256>, StoreError> {
        code_hash_at(&self.view, id)
    }

    pub(super) fn is_code_known(&self, id: AddressId) -> Result<bool, StoreError> {
        Ok(self.view.get(Table::CodeHash, &Key::id(id))?.is_some())
    }

    pub(crate) fn find_code(&self, code_hash: B256) -> Result<Option<Bytes>, StoreError> {
        Ok(self.view.get(Table::Code, &Key::hash(&code_hash))?.map(|code| Bytes::copy_from_slice(&code)))
    }
}
