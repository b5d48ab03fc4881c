use std::sync::Arc;

use alloy_primitives::{Address, hex, keccak256};
use api::wire::StandardJsonInput;
use axum::{
    Json,
    extract::{RawQuery, State},
    http::StatusCode,
    response::{IntoResponse, Redirect, Response},
};
use contracts::Interface;
use domain::{B256, Language, MatchKind, UtcTime, VerifiedContract};
use serde_json::{Map, Value, json};

use super::{error::SourcifyError, fields::Fields, paths::ContractPath};
use crate::{app::App, settings::add_libraries};

/// All fields beside those that are always there.
const FIELDS: [&str; 13] = [
    "creationBytecode",
    "runtimeBytecode",
    "deployment",
    "sources",
    "compilation",
    "abi",
    "userdoc",
    "devdoc",
    "storageLayout",
    "metadata",
    "stdJsonInput",
    "signatures",
    "proxyResolution",
];

const ALWAYS: [&str; 7] = ["match", "creationMatch", "runtimeMatch", "chainId", "address", "verifiedAt", "matchId"];

/// What is always shown of a contract.
#[derive(Debug, Clone)]
pub(super) struct Match {
    pub(super) address: Address,
    pub(super) runtime: Option<MatchKind>,
    pub(super) creation: Option<MatchKind>,
    /// When and as what it was verified.
    pub(super) verified: Option<(u64, B256)>,
}

impl Match {
    pub(super) fn of(contract: &VerifiedContract) -> Self {
        Self {
            address: contract.address,
            runtime: Some(contract.code.runtime_match),
            creation: contract.creation_match(),
            verified: Some((contract.code.verified_at, contract.code.code_hash)),
        }
    }

    pub(super) fn none(address: Address) -> Self {
        Self { address, runtime: None, creation: None, verified: None }
    }

    pub(super) fn to_json(&self, chain_id: u64) -> Map<String, Value> {
        let id = self.verified.map(|(_, hash)| match_id(self.address, hash));
        let time = self.verified.map(|(at, _)| UtcTime::from_unix_millis(at).to_string());
        let fields = [
            ("match", match_text(self.runtime.max(self.creation.filter(|_| self.runtime.is_some())))),
            ("creationMatch", match_text(self.creation)),
            ("runtimeMatch", match_text(self.runtime)),
            ("chainId", chain_id.to_string().into()),
            ("address", self.address.to_checksum(None).into()),
            ("verifiedAt", time.map_or(Value::Null, Value::from)),
            ("matchId", id.map_or(Value::Null, Value::from)),
        ];
        fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

fn match_text(kind: Option<MatchKind>) -> Value {
    match kind {
        Some(MatchKind::Exact) => "exact_match".into(),
        Some(MatchKind::Partial) => "match".into(),
        None => Value::Null,
    }
}

/// A number that identifies the verified code at an address, as text.
pub(super) fn match_id(address: Address, code_hash: B256) -> String {
    let digest = keccak256([address.as_slice(), code_hash.as_slice()].concat());
    let [a, b, c, d, e, f, g, ..] = digest.0;
    let number = u64::from_be_bytes([0, a, b, c, d, e, f, g]);
    // Below 2^53, so that clients may read it as a number.
    (number >> 3).to_string()
}

/// `GET v2/contract/{chainId}/{address}`. An unverified contract is a 404 with the same keys.
pub(super) async fn get_contract(
    State(app): State<Arc<App>>,
    ContractPath { chain_id, address }: ContractPath,
    RawQuery(query): RawQuery,
) -> Result<Response, SourcifyError> {
    let fields = Fields::read(query.as_deref())?;
    fields.check(&[FIELDS.as_slice(), &ALWAYS].concat())?;
    let Some(contract) = app.find_contract(address).await? else {
        let unverified = Match::none(address).to_json(chain_id);
        return Ok((StatusCode::NOT_FOUND, Json(unverified)).into_response());
    };
    let mut body = Match::of(&contract).to_json(chain_id);
    if fields.wants_more() {
        for field in FIELDS.into_iter().filter(|field| fields.wants(field)) {
            let value = field_of(&app, chain_id, &contract, field).await?;
            body.insert(field.to_owned(), fields.narrow(field, value));
        }
    }
    Ok(Json(body).into_response())
}

async fn field_of(app: &App, chain_id: u64, contract: &VerifiedContract, field: &str) -> Result<Value, SourcifyError> {
    let code = &contract.code;
    let parsed = |text: &str| serde_json::from_str::<Value>(text).unwrap_or(Value::Null);
    let optional = |text: &Option<String>| text.as_deref().map_or(Value::Null, parsed);
    Ok(match field {
        "abi" => parsed(&code.abi),
        "metadata" => parsed(&code.artifacts.metadata),
        "userdoc" => optional(&code.artifacts.userdoc),
        "devdoc" => optional(&code.artifacts.devdoc),
        "storageLayout" => optional(&code.artifacts.storage_layout),
        "sources" => {
            let source = |file: &domain::SourceFile| (file.path.clone(), json!({ "content": file.content }));
            code.sources.iter().map(source).collect::<Map<_, _>>().into()
        }
        "compilation" => json!({
            "language": code.language().name(),
            "compiler": match code.language() {
                Language::Solidity => "solc",
                Language::Vyper => "vyper",
            },
            "compilerVersion": Language::of_compiler(&code.compiler).1,
            "compilerSettings": input(contract).settings,
            "name": code.name,
            "fullyQualifiedName": format!("{}:{}", code.file, code.name),
        }),
        "stdJsonInput" => serde_json::to_value(input(contract)).unwrap_or_default(),
        "signatures" => signatures(&Interface::read(&code.abi)),
        "creationBytecode" => json!({
            "recompiledBytecode": hex::encode_prefixed(&code.creation.code),
            "transformationValues": {
                "constructorArguments": contract.constructor_arguments().map(hex::encode_prefixed),
            },
        }),
        "runtimeBytecode" => {
            let on_chain = app.services.chain.find_code(code.code_hash).await?;
            json!({ "onchainBytecode": on_chain.map(hex::encode_prefixed) })
        }
        "deployment" => deployment(app, chain_id, contract.address).await?,
        "proxyResolution" => proxy(app, contract.address).await?,
        _ => Value::Null,
    })
}

/// The input that compiles to the contract.
pub(super) fn input(contract: &VerifiedContract) -> StandardJsonInput {
    let mut input = StandardJsonInput::from(contract.code.clone());
    add_libraries(&mut input.settings, &contract.code.libraries);
    input
}

fn signatures(interface: &Interface) -> Value {
    let entry = |signature: String, hash: B256| {
        let [a, b, c, d, ..] = hash.0;
        json!({
            "signature": signature,
            "signatureHash32": format!("{hash:#x}"),
            "signatureHash4": hex::encode_prefixed([a, b, c, d]),
        })
    };
    let of = |signature: String| {
        let hash = keccak256(&signature);
        entry(signature, hash)
    };
    json!({
        "function": interface.functions.iter().map(|one| of(one.signature())).collect::<Vec<_>>(),
        "event": interface.events.iter().map(|one| of(one.signature())).collect::<Vec<_>>(),
        "error": interface.errors.iter().map(|one| of(one.signature())).collect::<Vec<_>>(),
    })
}

async fn deployment(app: &App, chain_id: u64, address: Address) -> Result<Value, SourcifyError> {
    let chain = &app.services.chain;
    let creation = chain.find_address(address).await?.and_then(|summary| summary.creation);
    let transaction = match creation {
        Some(creation) => chain.find_transaction(creation.tx_hash).await?,
        None => None,
    };
    Ok(json!({
        "transactionHash": transaction.as_ref().map(|tx| format!("{:#x}", tx.hash)),
        "blockNumber": transaction.as_ref().map(|tx| tx.block_number.to_string()),
        "transactionIndex": transaction.as_ref().map(|tx| tx.index.to_string()),
        "deployer": creation.map(|creation| creation.creator.to_checksum(None)),
        "chainId": chain_id.to_string(),
        "address": address.to_checksum(None),
    }))
}

async fn proxy(app: &App, address: Address) -> Result<Value, SourcifyError> {
    let Some(proxy) = app.services.delegations.find_proxy(address).await? else {
        return Ok(json!({ "isProxy": false, "proxyType": null, "implementations": [] }));
    };
    let name = app.find_contract(proxy.implementation).await?.map(|implementation| implementation.code.name);
    let implementation = json!({ "address": proxy.implementation.to_checksum(None), "name": name });
    Ok(json!({ "isProxy": true, "proxyType": proxy.kind.name(), "implementations": [implementation] }))
}

/// Where tools send people: our page of the contract.
pub(super) async fn show_contract(ContractPath { address, .. }: ContractPath) -> Redirect {
    Redirect::to(&format!("/address/{address:#x}?tab=contract#code"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_match_id_is_a_small_stable_number() {
        let one = match_id(Address::repeat_byte(1), B256::repeat_byte(2));
        assert_eq!(one, match_id(Address::repeat_byte(1), B256::repeat_byte(2)));
        assert_ne!(one, match_id(Address::repeat_byte(2), B256::repeat_byte(2)));
        assert!(one.parse::<u64>().is_ok_and(|number| number < 1 << 53));
    }

    #[test]
    fn an_unverified_contract_has_all_keys() {
        let body = Match::none(Address::ZERO).to_json(7);
        assert_eq!(
            Value::from(body),
            json!({
                "match": null, "creationMatch": null, "runtimeMatch": null, "chainId": "7",
                "address": "0x0000000000000000000000000000000000000000", "verifiedAt": null, "matchId": null,
            })
        );
    }
}
