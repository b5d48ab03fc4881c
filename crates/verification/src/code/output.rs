use std::collections::BTreeMap;

use domain::Language;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{CompiledCode, CompiledContract, OutputArtifacts, Span, VyperFooter, artifacts::text};

/// Compiler errors that are passed on, and characters of each.
const SHOWN_ERRORS: usize = 3;
const SHOWN_CHARACTERS: usize = 600;

/// Far more than the longest code.
const MAX_IMMUTABLES: usize = 1 << 20;

/// The output for standard JSON input.
#[derive(Debug, Default)]
pub(crate) struct CompilerOutput {
    pub(crate) contracts: Vec<CompiledContract>,
}

/// Why an output has no contracts.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OutputError {
    #[error("{0}")]
    Source(String),
    /// An internal error of the compiler, on a valid source.
    #[error("{0}")]
    Internal(String),
    #[error("the compiler's output is not valid JSON")]
    Unreadable(#[source] serde_json::Error),
    #[error("the compiler's output contains invalid bytecode")]
    BadCode,
}

#[derive(Deserialize)]
struct RawOutput<'a> {
    #[serde(default)]
    errors: Vec<RawError>,
    #[serde(default, borrow)]
    contracts: BTreeMap<String, BTreeMap<String, RawContract<'a>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawError {
    #[serde(default)]
    severity: String,
    #[serde(default, rename = "type")]
    kind: String,
    #[serde(default)]
    message: String,
    formatted_message: Option<String>,
}

#[derive(Deserialize)]
struct RawContract<'a> {
    #[serde(borrow)]
    abi: Option<&'a RawValue>,
    metadata: Option<String>,
    evm: Option<RawEvm>,
    #[serde(borrow)]
    userdoc: Option<&'a RawValue>,
    #[serde(borrow)]
    devdoc: Option<&'a RawValue>,
    /// The intermediate representation of a Vyper contract.
    #[serde(borrow)]
    ir: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawEvm {
    bytecode: Option<RawCode>,
    deployed_bytecode: Option<RawCode>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawCode {
    #[serde(default)]
    object: String,
    #[serde(default)]
    link_references: BTreeMap<String, BTreeMap<String, Vec<RawSpan>>>,
    #[serde(default)]
    immutable_references: BTreeMap<String, Vec<RawSpan>>,
}

#[derive(Deserialize)]
struct RawSpan {
    start: usize,
    length: usize,
}

impl RawSpan {
    fn span(&self) -> Option<Span> {
        Some(self.start..self.start.checked_add(self.length)?)
    }
}

impl CompilerOutput {
    pub(crate) fn read(json: &str, language: Language) -> Result<Self, OutputError> {
        let output: RawOutput<'_> = serde_json::from_str(json).map_err(OutputError::Unreadable)?;
        let errors: Vec<&RawError> = output.errors.iter().filter(|error| error.severity == "error").collect();
        if !errors.is_empty() {
            let internal = |error: &&RawError| {
                matches!(error.kind.as_str(), "InternalCompilerError" | "Exception" | "CompilerPanic" | "CodegenPanic")
            };
            let text = summary(&errors);
            return Err(if errors.iter().all(internal) {
                OutputError::Internal(text)
            } else {
                OutputError::Source(text)
            });
        }
        let mut contracts = Vec::new();
        for (file, defined) in output.contracts {
            for (name, raw) in defined {
                contracts.push(match language {
                    Language::Solidity => read_contract(file.clone(), name, raw)?,
                    Language::Vyper => read_vyper(file.clone(), name, raw)?,
                });
            }
        }
        Ok(Self { contracts })
    }
}

fn read_contract(file: String, name: String, raw: RawContract<'_>) -> Result<CompiledContract, OutputError> {
    let mut contract = CompiledContract {
        // Compilers before about 0.4.12 prefix the name with the file.
        name: name.rsplit(':').next().unwrap_or(&name).to_owned(),
        file,
        abi: raw.abi.map_or_else(|| "[]".to_owned(), |abi| abi.get().to_owned()),
        metadata: raw.metadata.unwrap_or_default(),
        ..CompiledContract::default()
    };
    if let Some(evm) = raw.evm {
        if let Some(code) = evm.bytecode {
            contract.creation = read_code(&code)?;
        }
        if let Some(code) = evm.deployed_bytecode {
            contract.runtime = read_code(&code)?;
            for (id, spans) in &code.immutable_references {
                let spans: Option<Vec<Span>> = spans.iter().map(RawSpan::span).collect();
                let spans = spans.ok_or(OutputError::BadCode)?;
                if spans.iter().any(|span| span.end > contract.runtime.bytes.len()) {
                    return Err(OutputError::BadCode);
                }
                contract.immutables.push((id.clone(), spans));
            }
        }
    }
    Ok(contract)
}

fn read_code(raw: &RawCode) -> Result<CompiledCode, OutputError> {
    let mut code = CompiledCode::from_text(&raw.object).ok_or(OutputError::BadCode)?;
    for (file, libraries) in &raw.link_references {
        for (library, spans) in libraries {
            for link in &mut code.links {
                if spans.iter().any(|span| span.start == link.span.start) {
                    link.library = format!("{file}:{library}");
                }
            }
        }
    }
    Ok(code)
}

/// A contract of Vyper, with the place of its immutable variables behind the end of the code.
fn read_vyper(file: String, name: String, raw: RawContract<'_>) -> Result<CompiledContract, OutputError> {
    let artifacts = OutputArtifacts { storage_layout: None, userdoc: text(raw.userdoc), devdoc: text(raw.devdoc) };
    let ir = raw.ir;
    let mut contract =
        CompiledContract { language: Language::Vyper, artifacts: Some(artifacts), ..read_contract(file, name, raw)? };
    let end = contract.runtime.bytes.len();
    let immutables = match VyperFooter::at_end_of(&contract.creation.bytes) {
        Some(footer) if footer.runtime == end => footer.immutables,
        _ => ir.and_then(|ir| immutables_in_ir(ir.get())).unwrap_or_default(),
    };
    if immutables > MAX_IMMUTABLES {
        return Err(OutputError::BadCode);
    }
    if immutables > 0 {
        contract.immutables = vec![("immutables".to_owned(), std::iter::once(end..end + immutables).collect())];
    }
    Ok(contract)
}

/// One node of the intermediate representation copies the runtime code and the immutable variables:
/// `{"deploy": [memory, code, immutables]}`. Read without recursion, since the code may be nested deeply.
fn immutables_in_ir(ir: &str) -> Option<usize> {
    let (_, node) = ir.split_once("{\"deploy\":")?;
    let arguments = node.trim_start().strip_prefix('[')?;
    let (mut depth, mut last, mut is_text, mut is_escaped) = (0_u32, 0, false, false);
    for (index, character) in arguments.char_indices() {
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' if is_text => is_escaped = true,
            '"' => is_text = !is_text,
            _ if is_text => {}
            '[' | '{' => depth += 1,
            ']' if depth == 0 => return arguments.get(last..index)?.trim().parse().ok(),
            ']' | '}' => depth = depth.checked_sub(1)?,
            ',' if depth == 0 => last = index + 1,
            _ => {}
        }
    }
    None
}

/// The first errors as the compiler formats them, truncated.
fn summary(errors: &[&RawError]) -> String {
    let mut text = String::new();
    for error in errors.iter().take(SHOWN_ERRORS) {
        let message = error.formatted_message.as_deref().unwrap_or(&error.message).trim();
        let short: String = message.chars().take(SHOWN_CHARACTERS).collect();
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&short);
        if short.len() < message.len() {
            text.push_str(" ...");
        }
    }
    if errors.len() > SHOWN_ERRORS {
        text.push_str(&format!("\n... and {} more errors", errors.len() - SHOWN_ERRORS));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<CompilerOutput, OutputError> {
        CompilerOutput::read(json, Language::Solidity)
    }

    #[test]
    fn errors_are_truncated_and_warnings_are_ignored() {
        let error = |text: &str| format!(r#"{{"severity":"error","message":"{text}"}}"#);
        let warning = r#"{"severity":"warning","message":"mind"}"#;
        let json =
            format!(r#"{{"errors":[{warning},{}]}}"#, [error("a"), error("b"), error("c"), error("d")].join(","));
        let Err(OutputError::Source(text)) = read(&json) else { panic!("no error") };
        assert_eq!(text, "a\nb\nc\n... and 1 more errors");
        let long = format!(r#"{{"errors":[{}]}}"#, error(&"x".repeat(5_000)));
        let Err(OutputError::Source(text)) = read(&long) else { panic!("no error") };
        assert!(text.len() < 700);
        assert!(read(&format!(r#"{{"errors":[{warning}]}}"#)).unwrap().contracts.is_empty());
    }

    #[test]
    fn internal_compiler_errors_are_distinguished_from_source_errors() {
        let error =
            |kind: &str| format!(r#"{{"severity":"error","type":"{kind}","message":"Compiled contract not found."}}"#);
        let read = |errors: &[&str]| {
            let errors: Vec<String> = errors.iter().map(|kind| error(kind)).collect();
            read(&format!(r#"{{"errors":[{}]}}"#, errors.join(","))).unwrap_err()
        };
        assert!(matches!(read(&["InternalCompilerError"]), OutputError::Internal(_)));
        assert!(matches!(read(&["Exception"]), OutputError::Internal(_)));
        assert!(matches!(read(&["TypeError"]), OutputError::Source(_)));
        assert!(matches!(read(&["TypeError", "InternalCompilerError"]), OutputError::Source(_)));
    }

    #[test]
    fn a_contract_is_parsed_with_its_links_and_immutables() {
        let json = r#"{"contracts":{"a.sol":{"A":{"abi":[ {"type":"fallback"} ],"metadata":"{}","evm":{
            "bytecode":{"object":"6001","linkReferences":{}},
            "deployedBytecode":{"object":"73__$aaf4f569e6914efaed2a07e0ebcf2e3a6b$__00000000",
              "linkReferences":{"l.sol":{"L":[{"start":1,"length":20}]}},
              "immutableReferences":{"7":[{"start":21,"length":2}]}}}}}}}"#;
        let output = read(json).unwrap();
        let [contract] = &output.contracts[..] else { panic!("{output:?}") };
        assert_eq!((contract.file.as_str(), contract.name.as_str()), ("a.sol", "A"));
        assert_eq!(contract.abi, r#"[ {"type":"fallback"} ]"#);
        assert_eq!(contract.runtime.links[0].library, "l.sol:L");
        assert_eq!(contract.immutables, [("7".to_owned(), std::iter::once(21..23).collect())]);
    }

    #[test]
    fn an_immutable_outside_of_the_code_is_rejected() {
        let json = r#"{"contracts":{"a.sol":{"A":{"evm":{"deployedBytecode":{"object":"00",
            "immutableReferences":{"7":[{"start":1,"length":32}]}}}}}}}"#;
        assert!(matches!(read(json), Err(OutputError::BadCode)));
    }

    #[test]
    fn immutables_of_vyper_are_behind_the_end_of_the_code() {
        let output = |creation: &str, ir: &str| {
            let json = format!(
                r#"{{"contracts":{{"a.vy":{{"a":{{"abi":[],"devdoc":{{"license":"MIT"}},"userdoc":null{ir},"evm":{{
                   "bytecode":{{"object":"{creation}"}},"deployedBytecode":{{"object":"0x6001"}}}}}}}}}}}}"#
            );
            CompilerOutput::read(&json, Language::Vyper).map(|mut output| output.contracts.remove(0))
        };
        // [2, [], 64, {"vyper": [0, 3, 10]}]
        let contract = output("0x600084028018 40a16576797065728300030a0012".replace(' ', "").as_str(), "").unwrap();
        assert_eq!((contract.language, &contract.runtime.bytes[..]), (Language::Vyper, &[0x60, 1][..]));
        assert_eq!(contract.immutables, [("immutables".to_owned(), std::iter::once(2..66).collect())]);
        assert_eq!(contract.artifacts.unwrap().devdoc.as_deref(), Some(r#"{"license":"MIT"}"#));

        let ir = |immutables: usize| format!(r#","ir":{{"seq":[1,{{"deploy": [160, {{"seq":[2]}}, {immutables}]}}]}}"#);
        let contract = output("0x6000", &ir(160)).unwrap();
        assert_eq!(contract.immutables, [("immutables".to_owned(), std::iter::once(2..162).collect())]);
        // Internal functions follow if the constructor calls them.
        let ir_text = r#"{"seq": [{"deploy": [1, ["]", "\"", {"a": [2, 3]}], 64]}, {"label": ["f", 5, 6]}]}"#;
        assert_eq!(immutables_in_ir(ir_text), Some(64));
        assert_eq!(immutables_in_ir(r#"{"deploy": [1, [2}"#), None);
        assert!(output("0x6000", &ir(0)).unwrap().immutables.is_empty());
        assert!(output("0x6000", r#","ir":{"seq":[{"return":[0, 32]}]}"#).unwrap().immutables.is_empty());
        assert!(matches!(output("0x6000", &ir(usize::MAX)), Err(OutputError::BadCode)));
    }
}
