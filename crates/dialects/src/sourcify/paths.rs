use std::sync::Arc;

use alloy_primitives::{Address, hex};
use axum::{
    extract::{FromRequestParts, Path},
    http::{StatusCode, request::Parts},
};

use super::error::SourcifyError;
use crate::app::App;

/// A contract in a path: a chain id, which must be ours, and an address.
#[derive(Debug, Clone, Copy)]
pub(super) struct ContractPath {
    pub(super) chain_id: u64,
    pub(super) address: Address,
}

/// The id of our chain in a path.
#[derive(Debug, Clone, Copy)]
pub(super) struct ChainPath(pub(super) u64);

/// An address in a path.
#[derive(Debug, Clone, Copy)]
pub(super) struct AddressPath(pub(super) Address);

impl FromRequestParts<Arc<App>> for ContractPath {
    type Rejection = SourcifyError;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, SourcifyError> {
        let Path((chain, address)) = segments::<(String, String)>(parts).await?;
        Ok(Self { chain_id: parse_chain(app, &chain).await?, address: parse_address(&address)? })
    }
}

impl FromRequestParts<Arc<App>> for ChainPath {
    type Rejection = SourcifyError;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, SourcifyError> {
        let Path(chain) = segments::<String>(parts).await?;
        parse_chain(app, &chain).await.map(Self)
    }
}

impl FromRequestParts<Arc<App>> for AddressPath {
    type Rejection = SourcifyError;

    async fn from_request_parts(parts: &mut Parts, _: &Arc<App>) -> Result<Self, SourcifyError> {
        let Path(address) = segments::<String>(parts).await?;
        parse_address(&address).map(Self)
    }
}

async fn segments<T: serde::de::DeserializeOwned + Send>(parts: &mut Parts) -> Result<Path<T>, SourcifyError> {
    Path::from_request_parts(parts, &()).await.map_err(|_| SourcifyError::invalid("The path is not valid UTF-8"))
}

async fn parse_chain(app: &App, text: &str) -> Result<u64, SourcifyError> {
    let chain_id = app.chain_id().await?;
    match text.parse::<u64>() {
        Ok(given) if given == chain_id => Ok(chain_id),
        Ok(given) => Err(SourcifyError::new(
            StatusCode::NOT_FOUND,
            "unsupported_chain",
            format!("The chain with chainId {given} is not served here: this is chain {chain_id}"),
        )),
        Err(_) => Err(SourcifyError::invalid("The chain id must be a number")),
    }
}

fn parse_address(text: &str) -> Result<Address, SourcifyError> {
    let digits = text.strip_prefix("0x").filter(|digits| digits.len() == 40);
    let address = digits.and_then(|digits| hex::decode_to_array(digits).ok());
    address.map(Address::new).ok_or_else(|| SourcifyError::invalid("The address must be 0x and 40 hexadecimal digits"))
}
