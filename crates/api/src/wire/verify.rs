use std::collections::BTreeMap;

use alloy_primitives::{Bytes, hex};
use domain::{JobResult, JobVerdict};
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::{
    ToSchema,
    openapi::{Object, ObjectBuilder, Type, schema::SchemaType},
};
use verification::{CompilerVersion, OptimizerChoice, Sources, VerifyError, is_license, settings::EvmVersion};

use super::{Address, AnyCaseAddress, MatchKind};
use crate::{
    error::ApiError,
    params::{Fields, FromBody, parse_address},
};

const MAX_LIBRARIES: usize = 256;
const MAX_ARGUMENTS: usize = 128 * 1024;

/// The source code of the contract at an address.
///
/// Compiler settings are optional: missing ones are inferred, given ones are tried. They may have the names and values of Etherscan's
/// API.
#[derive(Debug, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct VerifyRequest {
    #[schema(value_type = AnyCaseAddress)]
    pub(crate) address: domain::Address,
    /// One of: a single Solidity or Vyper file; several files as `{"A.sol":{"content":"..."}}`; standard JSON input, optionally in a
    /// second pair of braces; the compiler's metadata.json with the content of its sources; or metadata.json and sources as
    /// `{"metadata.json":{...},"A.sol":{"content":"..."}}`.
    #[schema(value_type = String, pattern = r"\S", example = "contract A { uint256 public x; }")]
    pub(crate) source_code: Sources,
    /// Of a Vyper compiler, with the prefix `vyper:` or with standard JSON input of that language.
    #[schema(
        value_type = String,
        pattern = r"^\s*(vyper[:-])?v?[0-9]{1,4}\.[0-9]{1,4}\.[0-9]{1,4}(-?[0-9A-Za-z.]{1,40})?(\+commit\.[0-9a-fA-F]{7,}([.+_-].*)?)?\s*$",
        example = "v0.8.20+commit.a1b79de6"
    )]
    pub(crate) compiler_version: CompilerVersion,
    /// An SPDX identifier, used if the source has none.
    #[schema(value_type = Option<String>, max_length = 64, pattern = "^[A-Za-z0-9.+() -]*$", example = "MIT")]
    pub(crate) license: Option<String>,
    /// `Name` or `file:Name`, if the source has several contracts; by default the one that matches.
    #[schema(value_type = Option<String>, example = "Token")]
    pub(crate) contract_name: Option<String>,
    #[schema(value_type = Option<bool>, example = true)]
    pub(crate) optimizer: Option<bool>,
    #[schema(schema_with = optimization_used_schema)]
    pub(crate) optimization_used: Option<bool>,
    #[schema(schema_with = runs_schema)]
    pub(crate) runs: Option<u32>,
    /// `default` is as if it were missing.
    #[schema(value_type = Option<String>, example = "shanghai")]
    pub(crate) evm_version: Option<EvmVersion>,
    #[serde(rename = "viaIR")]
    #[schema(value_type = Option<bool>, example = false)]
    pub(crate) via_ir: Option<bool>,
    /// Addresses of external libraries by `Name` or `file:Name`; by default read from the code.
    #[schema(value_type = Option<BTreeMap<String, AnyCaseAddress>>)]
    pub(crate) libraries: BTreeMap<String, domain::Address>,
    /// ABI-encoded, in hexadecimal; by default read from the creation transaction.
    #[schema(value_type = Option<String>, pattern = "^(0x)?([0-9a-fA-F]{2})*$", example = "0x")]
    pub(crate) constructor_arguments: Option<Bytes>,
}

fn optimization_used_schema() -> Object {
    let flags = [json!(true), json!(false), json!(1), json!(0)];
    let texts = ["1", "0", "true", "false", ""].map(Value::from);
    let values = flags.into_iter().chain(texts).chain([Value::Null]);
    ObjectBuilder::new()
        .schema_type(SchemaType::AnyValue)
        .enum_values(Some(values))
        .description(Some("Another name of `optimizer`, which is used if both are given."))
        .examples(["1"])
        .build()
}

fn runs_schema() -> Object {
    ObjectBuilder::new()
        .schema_type(SchemaType::from_iter([Type::Integer, Type::String, Type::Null]))
        .minimum(Some(0))
        .maximum(Some(u32::MAX))
        .pattern(Some("^[0-9]{0,10}$"))
        .examples([200])
        .description(Some("As a number or a string of digits."))
        .build()
}

impl FromBody for VerifyRequest {
    const MAX_BYTES: usize = 2 * 1024 * 1024;

    fn from_json(json: &[u8]) -> Result<Self, ApiError> {
        let invalid = |field, rule: String| ApiError::InvalidContractField { field, rule };
        Fields::read(json, |fields| {
            let address = parse_address("address", &fields.text("address")?)?;
            let source = fields.text("sourceCode")?;
            let compiler = fields.text("compilerVersion")?;
            let runs = fields.find_digits("runs")?;
            let mut find_filled = |field| -> Result<Option<String>, ApiError> {
                Ok(fields.find_text(field)?.filter(|text| !text.is_empty()))
            };
            let evm_version = find_filled("evmVersion")?.filter(|name| !name.eq_ignore_ascii_case("default"));
            let arguments = find_filled("constructorArguments")?;
            let contract_name = find_filled("contractName")?;
            let sources = Sources::read(&source).map_err(|error| invalid("sourceCode", error.to_string()))?;
            let request = Self {
                address,
                compiler_version: sources.compiler(&compiler).map_err(VerifyError::Version)?,
                source_code: sources,
                license: fields.find_text("license")?.map(license).transpose()?,
                contract_name,
                optimizer: fields.find_bool("optimizer")?,
                optimization_used: fields.find_flag("optimizationUsed")?,
                runs: match runs.map(u32::try_from) {
                    None => None,
                    Some(Ok(runs)) => Some(runs),
                    Some(Err(_)) => return Err(invalid("runs", "must not be more than 4294967295".to_owned())),
                },
                evm_version: match evm_version {
                    None => None,
                    Some(name) => Some(EvmVersion::from_name(&name).ok_or_else(|| {
                        let known: Vec<&str> = EvmVersion::ALL.iter().map(|version| version.name()).collect();
                        invalid("evmVersion", format!("must be one of {}", known.join(", ")))
                    })?),
                },
                via_ir: fields.find_bool("viaIR")?,
                libraries: libraries(fields)?,
                constructor_arguments: match arguments {
                    None => None,
                    Some(text) => Some(parse_arguments(&text).ok_or_else(|| {
                        invalid("constructorArguments", "must be an even number of hexadecimal digits".to_owned())
                    })?),
                },
            };
            Ok(request)
        })
    }
}

fn license(text: String) -> Result<String, ApiError> {
    if is_license(&text) {
        return Ok(text);
    }
    Err(ApiError::InvalidParameter { field: "license", rule: "must be an SPDX identifier of at most 64 characters" })
}

fn libraries(fields: &mut Fields<'_>) -> Result<BTreeMap<String, domain::Address>, ApiError> {
    const FIELD: &str = "libraries";
    let object = fields.find_object(FIELD)?.unwrap_or_default();
    if object.len() > MAX_LIBRARIES {
        return Err(ApiError::InvalidParameter { field: FIELD, rule: "must not have more than 256 libraries" });
    }
    let parse = |(name, address): (String, Value)| {
        let address = address.as_str().unwrap_or_default();
        Ok((name, parse_address(FIELD, address)?))
    };
    object.into_iter().map(parse).collect()
}

fn parse_arguments(text: &str) -> Option<Bytes> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    // The decoder would pass over a second 0x.
    if digits.len() > MAX_ARGUMENTS || digits.starts_with("0x") {
        return None;
    }
    hex::decode(digits).ok().map(Bytes::from)
}

impl From<VerifyRequest> for verification::VerifyRequest {
    fn from(request: VerifyRequest) -> Self {
        Self {
            address: request.address,
            sources: request.source_code,
            compiler: request.compiler_version,
            license: request.license,
            contract_name: request.contract_name,
            optimizer: OptimizerChoice { enabled: request.optimizer.or(request.optimization_used), runs: request.runs },
            evm_version: request.evm_version,
            via_ir: request.via_ir,
            libraries: request.libraries,
            constructor_arguments: request.constructor_arguments,
        }
    }
}

#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct VerifyResponse {
    /// Whether the source compiles to the code at the address.
    pub success: bool,
    /// The match, or what differs.
    pub message: String,
    pub address: Address,
    /// The same as `runtimeMatch`.
    #[serde(rename = "match")]
    #[schema(required = true)]
    pub kind: Option<MatchKind>,
    /// The one of the source that matches, or null.
    #[schema(required = true, example = "Token")]
    pub contract_name: Option<String>,
    /// It decides the verification; null if the runtime code does not match.
    #[schema(required = true)]
    pub runtime_match: Option<MatchKind>,
    /// Null if the creation code is unknown or does not match: then the constructor is unproven. It does not verify a
    /// contract on its own.
    #[schema(required = true)]
    pub creation_match: Option<MatchKind>,
}

impl VerifyResponse {
    /// The answer of a job with a verdict.
    #[must_use]
    pub fn new(address: domain::Address, result: &JobResult) -> Self {
        let (contract_name, runtime_match, creation_match) = match &result.verdict {
            JobVerdict::Verified { name, runtime_match, creation } => {
                (Some(name.clone()), Some(*runtime_match), creation.kind())
            }
            JobVerdict::Refused { creation_match, .. } => (None, None, *creation_match),
            JobVerdict::Failed(_) => (None, None, None),
        };
        Self {
            success: runtime_match.is_some(),
            message: result.message.clone(),
            address: address.into(),
            kind: runtime_match.map(MatchKind::from),
            contract_name,
            runtime_match: runtime_match.map(MatchKind::from),
            creation_match: creation_match.map(MatchKind::from),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(more: &str) -> Result<VerifyRequest, (u16, Option<String>)> {
        let address = "0x".to_owned() + &"11".repeat(20);
        let json =
            format!(r#"{{"address":"{address}","sourceCode":"contract A {{}}","compilerVersion":"0.8.20"{more}}}"#);
        VerifyRequest::from_json(json.as_bytes()).map_err(|error| {
            let problem = error.problem();
            (problem.status, problem.field.map(|field| field.into_owned()))
        })
    }

    #[test]
    fn optional_fields_may_be_missing_or_given() {
        let request = read("").unwrap();
        assert_eq!((request.optimizer, request.runs, request.libraries.len()), (None, None, 0));
        let library = "0x".to_owned() + &"22".repeat(20);
        let request = read(&format!(
            r#","license":"GPL-3.0-or-later","contractName":"A","optimizer":true,"runs":4294967295,
               "evmVersion":"Paris","viaIR":false,"libraries":{{"L":"{library}"}},"constructorArguments":"00ff""#
        ))
        .unwrap();
        assert_eq!((request.runs, request.evm_version), (Some(u32::MAX), Some(EvmVersion::Paris)));
        assert_eq!(request.constructor_arguments, Some(Bytes::from_static(&[0, 0xff])));
        assert_eq!(request.libraries["L"], domain::Address::repeat_byte(0x22));
    }

    #[test]
    fn settings_may_be_written_as_for_etherscan() {
        let choice = |more: &str| verification::VerifyRequest::from(read(more).unwrap());
        let request = choice(
            r#","optimizationUsed":"1","runs":"200","evmVersion":"Default","contractName":"","constructorArguments":"""#,
        );
        assert_eq!(request.optimizer, OptimizerChoice { enabled: Some(true), runs: Some(200) });
        assert_eq!((request.evm_version, request.contract_name, request.constructor_arguments), (None, None, None));
        for (written, used) in
            [("0", Some(false)), ("1", Some(true)), ("\"0\"", Some(false)), ("false", Some(false)), ("\"\"", None)]
        {
            let request = choice(&format!(r#","optimizationUsed":{written},"runs":"""#));
            assert_eq!(request.optimizer, OptimizerChoice { enabled: used, runs: None }, "{written}");
        }
        let both = choice(r#","optimizationUsed":"0","optimizer":true"#);
        assert_eq!(both.optimizer.enabled, Some(true));
    }

    #[test]
    fn the_language_of_the_source_decides_what_the_version_means() {
        let read = |version: &str| {
            let source = r#"{"language":"Vyper","sources":{"a.vy":{"content":"x: uint256"}}}"#;
            let address = "0x".to_owned() + &"11".repeat(20);
            let body = serde_json::json!({ "address": address, "sourceCode": source, "compilerVersion": version });
            VerifyRequest::from_json(body.to_string().as_bytes()).map(|request| request.compiler_version.to_string())
        };
        assert_eq!(read("v0.3.10+commit.91361694").unwrap(), "vyper:0.3.10+commit.91361694");
        assert_eq!(read("vyper:0.3.10").unwrap(), "vyper:0.3.10");
        assert_eq!(read("latest").unwrap_err().problem().field.as_deref(), Some("compilerVersion"));
    }

    #[test]
    fn every_error_has_its_field() {
        for (more, field) in [
            (r#","license":"<b>""#, "license"),
            (r#","optimizer":"yes""#, "optimizer"),
            (r#","runs":4294967296"#, "runs"),
            (r#","runs":-1"#, "runs"),
            (r#","runs":"4294967296""#, "runs"),
            (r#","runs":"2e2""#, "runs"),
            (r#","optimizationUsed":2"#, "optimizationUsed"),
            (r#","optimizationUsed":"yes""#, "optimizationUsed"),
            (r#","evmVersion":"frontier""#, "evmVersion"),
            (r#","viaIR":1"#, "viaIR"),
            (r#","libraries":{"L":"0x12"}"#, "libraries"),
            (r#","libraries":[]"#, "libraries"),
            (r#","constructorArguments":"0x1""#, "constructorArguments"),
            (r#","constructorArguments":"0x0x12""#, "constructorArguments"),
            (r#","constructor":"0x1""#, "constructor"),
        ] {
            assert_eq!(read(more).unwrap_err(), (400, Some(field.to_owned())), "{more}");
        }
        let field = |json: &str| VerifyRequest::from_json(json.as_bytes()).unwrap_err().problem().field;
        let address = "0x".to_owned() + &"11".repeat(20);
        let version = format!(r#"{{"address":"{address}","sourceCode":"x","compilerVersion":"latest"}}"#);
        assert_eq!(field(&version).as_deref(), Some("compilerVersion"));
        let source = format!(r#"{{"address":"{address}","sourceCode":" ","compilerVersion":"0.8.20"}}"#);
        assert_eq!(field(&source).as_deref(), Some("sourceCode"));
    }
}
