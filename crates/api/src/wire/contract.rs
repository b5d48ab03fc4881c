use std::collections::BTreeMap;

use alloy_primitives::hex;
use contracts::calls::Delegation;
use domain::Page;
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::{Address, Hash, Timestamp, list::list};
use crate::Paging;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
pub enum Language {
    Solidity,
    Vyper,
}

impl From<domain::Language> for Language {
    fn from(language: domain::Language) -> Self {
        match language {
            domain::Language::Solidity => Self::Solidity,
            domain::Language::Vyper => Self::Vyper,
        }
    }
}

/// How well the source matches the code on the chain; `exact` includes the metadata hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum MatchKind {
    /// The code matches, including the metadata hash over all sources and settings.
    Exact,
    /// The code matches, but not the metadata hash: comments and names in the source are unproven.
    Partial,
}

impl From<domain::MatchKind> for MatchKind {
    fn from(kind: domain::MatchKind) -> Self {
        match kind {
            domain::MatchKind::Exact => Self::Exact,
            domain::MatchKind::Partial => Self::Partial,
        }
    }
}

#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContractSummary {
    pub address: Address,
    pub name: String,
    pub language: Language,
    #[schema(example = "0.8.20+commit.a1b79de6")]
    pub compiler_version: String,
    /// The same as `runtimeMatch`, which verifies a contract.
    #[serde(rename = "match")]
    pub kind: MatchKind,
    pub runtime_match: MatchKind,
    /// Null if the creation code is unknown or does not match: then the constructor is unproven.
    #[schema(required = true)]
    pub creation_match: Option<MatchKind>,
    #[schema(required = true)]
    pub license: Option<String>,
    /// Keccak-256 of the verified code.
    pub code_hash: Hash,
    pub verified_at: Timestamp,
}

impl From<domain::VerifiedSummary> for ContractSummary {
    fn from(summary: domain::VerifiedSummary) -> Self {
        let (language, compiler_version) = domain::Language::of_compiler(&summary.compiler);
        Self {
            language: language.into(),
            compiler_version: compiler_version.to_owned(),
            address: summary.address.into(),
            kind: summary.runtime_match.into(),
            runtime_match: summary.runtime_match.into(),
            creation_match: summary.creation_match.map(MatchKind::from),
            code_hash: summary.code_hash.into(),
            verified_at: Timestamp::from_unix_millis(summary.verified_at),
            name: summary.name,
            license: summary.license,
        }
    }
}

list! {
    pub struct ContractList {
        contracts: ContractSummary,
        total,
    }
}

impl ContractList {
    #[must_use]
    pub fn new(page: Page<domain::VerifiedSummary>, paging: Paging) -> Self {
        Self::of(page.map(ContractSummary::from), paging)
    }
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct VerifiedContract {
    pub address: Address,
    /// Where the same code was verified, if not here. Constructor arguments and creation match are always of this
    /// deployment.
    #[schema(required = true)]
    pub twin_of: Option<Address>,
    pub name: String,
    /// The source file that defines it.
    #[schema(example = "contracts/Token.sol")]
    pub file: String,
    pub language: Language,
    #[schema(example = "0.8.20+commit.a1b79de6")]
    pub compiler_version: String,
    /// The same as `runtimeMatch`, which verifies a contract.
    #[serde(rename = "match")]
    pub kind: MatchKind,
    pub runtime_match: MatchKind,
    /// Null if the creation code is unknown or does not match: then the constructor is unproven.
    #[schema(required = true)]
    pub creation_match: Option<MatchKind>,
    #[schema(required = true)]
    pub license: Option<String>,
    /// Keccak-256 of the verified code.
    pub code_hash: Hash,
    pub verified_at: Timestamp,
    #[schema(value_type = Vec<Object>)]
    pub abi: Box<RawValue>,
    /// Of the metadata; of a Vyper contract, those of the compiler's input.
    #[schema(value_type = Object)]
    pub settings: Box<RawValue>,
    pub sources: Vec<ContractSource>,
    /// By `file:Name`.
    pub libraries: BTreeMap<String, Address>,
    /// ABI-encoded; null if the creation code is unknown or does not match.
    #[schema(required = true, pattern = "^0x([0-9a-f]{2})*$")]
    pub constructor_arguments: Option<String>,
    /// False if the node did not say whether the contract is a proxy or a diamond: then `proxy` and `facets` are unknown.
    pub proxy_known: bool,
    /// Null if the contract is no proxy.
    #[schema(required = true)]
    pub proxy: Option<ContractProxy>,
    /// The first 128 of a diamond (EIP-2535).
    pub facets: Vec<ContractFacet>,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ContractFacet {
    pub address: Address,
    /// Null if it is not verified.
    #[schema(required = true)]
    pub name: Option<String>,
    /// As far as its ABI is known.
    #[schema(example = json!(["owner()"]))]
    pub functions: Vec<String>,
    #[schema(example = json!(["0x8da5cb5b"]))]
    pub selectors: Vec<String>,
}

impl From<&contracts::calls::Facet> for ContractFacet {
    fn from(facet: &contracts::calls::Facet) -> Self {
        let (name, functions) = match &facet.verified {
            Some(verified) => {
                let signatures = verified.interface.functions.iter().map(|function| function.signature()).collect();
                (Some(verified.name.clone()), signatures)
            }
            None => (None, Vec::new()),
        };
        Self {
            address: facet.address.into(),
            name,
            functions,
            selectors: facet.selectors.iter().map(hex::encode_prefixed).collect(),
        }
    }
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ContractSource {
    /// As the compiler sees it.
    #[schema(example = "contracts/Token.sol")]
    pub path: String,
    pub content: String,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ContractProxy {
    pub kind: ProxyKind,
    pub implementation: Address,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
pub enum ProxyKind {
    #[serde(rename = "eip1167")]
    Eip1167,
    #[serde(rename = "eip1967")]
    Eip1967,
    #[serde(rename = "eip1967-beacon")]
    Eip1967Beacon,
    #[serde(rename = "eip1822")]
    Eip1822,
    #[serde(rename = "zeppelinos")]
    ZeppelinOs,
    #[serde(rename = "safe")]
    Safe,
}

impl From<contracts::calls::ProxyKind> for ProxyKind {
    fn from(kind: contracts::calls::ProxyKind) -> Self {
        use contracts::calls::ProxyKind as Kind;
        match kind {
            Kind::Minimal => Self::Eip1167,
            Kind::Slot => Self::Eip1967,
            Kind::Beacon => Self::Eip1967Beacon,
            Kind::Proxiable => Self::Eip1822,
            Kind::Zeppelin => Self::ZeppelinOs,
            Kind::Safe => Self::Safe,
        }
    }
}

impl VerifiedContract {
    #[must_use]
    pub fn new(contract: domain::VerifiedContract, delegation: Option<&Delegation>) -> Self {
        let proxy_known = delegation.is_some();
        let diamond = delegation.and_then(|delegation| delegation.diamond.as_ref());
        let proxy = delegation.and_then(|delegation| delegation.proxy);
        let kind = contract.code.runtime_match.into();
        let creation_match = contract.creation_match().map(MatchKind::from);
        let domain::VerifiedContract { address, twin_of, code, deployment } = contract;
        let proof = deployment.and_then(|deployment| deployment.proof);
        let (language, compiler_version) = domain::Language::of_compiler(&code.compiler);
        let creation_libraries = proof.iter().flat_map(|proof| proof.libraries.clone());
        Self {
            address: address.into(),
            twin_of: twin_of.map(Address::from),
            kind,
            runtime_match: kind,
            creation_match,
            name: code.name,
            file: code.file,
            language: language.into(),
            compiler_version: compiler_version.to_owned(),
            license: code.license,
            code_hash: code.code_hash.into(),
            verified_at: Timestamp::from_unix_millis(code.verified_at),
            abi: json_or_null(code.abi),
            settings: json_or_null(code.settings),
            sources: code
                .sources
                .into_iter()
                .map(|source| ContractSource { path: source.path, content: source.content })
                .collect(),
            libraries: creation_libraries.chain(code.libraries).map(|(name, address)| (name, address.into())).collect(),
            constructor_arguments: proof.map(|proof| hex::encode_prefixed(proof.arguments)),
            facets: diamond.map(|diamond| diamond.facets.iter().map(ContractFacet::from).collect()).unwrap_or_default(),
            proxy_known,
            proxy: proxy
                .map(|proxy| ContractProxy { kind: proxy.kind.into(), implementation: proxy.implementation.into() }),
        }
    }
}

/// Null if the stored text is not JSON, which would invalidate the whole response.
pub(crate) fn json_or_null(text: String) -> Box<RawValue> {
    RawValue::from_string(text).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

#[cfg(test)]
mod tests {
    use contracts::{
        Interface,
        calls::{Diamond, Facet, Proxy, ProxyKind, VerifiedFacet},
    };
    use domain::{
        Address, Artifacts, B256, Bytes, CreationId, CreationProof, CreationTemplate, Deployment, SourceFile,
        VerifiedCode,
    };

    use super::*;

    #[test]
    fn a_verified_contract_has_the_documented_names_and_types() {
        let proof = CreationProof {
            kind: domain::MatchKind::Partial,
            arguments: Bytes::from_static(&[1]),
            libraries: vec![("Token.sol:M".to_owned(), Address::repeat_byte(6))],
        };
        let creation = CreationId { tx_hash: B256::ZERO, block_hash: B256::ZERO };
        let contract = domain::VerifiedContract {
            address: Address::repeat_byte(4),
            twin_of: Some(Address::repeat_byte(1)),
            code: VerifiedCode {
                code_hash: B256::repeat_byte(2),
                name: "Token".to_owned(),
                compiler: "0.8.20+commit.a1b79de6".to_owned(),
                runtime_match: domain::MatchKind::Exact,
                license: Some("MIT".to_owned()),
                verified_at: 1_794_700_800_123,
                names_own_address: false,
                file: "Token.sol".to_owned(),
                abi: "[]".to_owned(),
                settings: r#"{"optimizer":{"enabled":true,"runs":200}}"#.to_owned(),
                sources: vec![SourceFile { path: "Token.sol".to_owned(), content: "contract Token {}".to_owned() }],
                libraries: vec![("Token.sol:L".to_owned(), Address::repeat_byte(3))],
                artifacts: Artifacts::default(),
                creation: CreationTemplate::default(),
            },
            deployment: Some(Deployment { creation, build: B256::ZERO, proof: Some(proof) }),
        };
        let proxy = Proxy { kind: ProxyKind::Beacon, implementation: Address::repeat_byte(5) };
        let owner = r#"[{"type":"function","name":"owner","inputs":[],"outputs":[],"stateMutability":"view"}]"#;
        let verified = VerifiedFacet { name: "OwnershipFacet".to_owned(), interface: Interface::read(owner) };
        let facets = vec![
            Facet {
                address: Address::repeat_byte(6),
                selectors: vec![[0x8d, 0xa5, 0xcb, 0x5b]],
                verified: Some(verified),
            },
            Facet { address: Address::repeat_byte(7), selectors: vec![[1, 2, 3, 4]], verified: None },
        ];
        let delegation = Delegation { proxy: Some(proxy), diamond: Some(Diamond { facets, left_out: 0 }) };
        insta::assert_json_snapshot!(VerifiedContract::new(contract, Some(&delegation)));
    }
}
