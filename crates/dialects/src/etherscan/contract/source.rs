use api::wire::StandardJsonInput;
use domain::{Language, VerifiedContract};
use serde_json::{Map, Value, json};

use crate::{
    app::App,
    etherscan::{
        answer::{Answer, Failure, NOT_VERIFIED},
        params::Params,
    },
    settings::add_libraries,
};

pub(super) async fn get_source_code(app: &App, params: &Params) -> Result<Answer, Failure> {
    let address = params.address("address")?;
    let contract = app.find_contract(address).await?;
    // The sources are useful even if the node cannot resolve the proxy now: then both fields are empty.
    let proxy = app.services.delegations.find_proxy(address).await;
    let proxy = proxy.inspect_err(|error| tracing::debug!(%error, "proxy unknown")).ok();
    let mut source = match contract {
        Some(contract) => describe(contract)?,
        None => unverified(),
    };
    let is_proxy = match &proxy {
        Some(Some(_)) => "1",
        Some(None) => "0",
        None => "",
    };
    source.insert("Proxy".to_owned(), is_proxy.into());
    let implementation = proxy.flatten().map(|proxy| format!("{:#x}", proxy.implementation)).unwrap_or_default();
    source.insert("Implementation".to_owned(), implementation.into());
    Ok(Answer::Result(json!([source])))
}

fn unverified() -> Map<String, Value> {
    let texts = [
        ("SourceCode", ""),
        ("ABI", NOT_VERIFIED),
        ("ContractName", ""),
        ("CompilerVersion", ""),
        ("OptimizationUsed", ""),
        ("Runs", ""),
        ("ConstructorArguments", ""),
        ("EVMVersion", "Default"),
        ("Library", ""),
        ("LicenseType", "Unknown"),
        ("SwarmSource", ""),
        ("SimilarMatch", ""),
    ];
    texts.into_iter().map(|(name, text)| (name.to_owned(), text.into())).collect()
}

/// `v0.8.20+commit.a1b79de6`, or `vyper:0.3.10+commit.91361694`.
fn compiler_version(compiler: &str) -> String {
    match Language::of_compiler(compiler).0 {
        Language::Solidity => format!("v{compiler}"),
        Language::Vyper => compiler.to_owned(),
    }
}

fn describe(contract: VerifiedContract) -> Result<Map<String, Value>, Failure> {
    let arguments = contract.constructor_arguments().map(alloy_primitives::hex::encode).unwrap_or_default();
    let VerifiedContract { twin_of, code, .. } = contract;
    let settings: Value = serde_json::from_str(&code.artifacts.input_settings).unwrap_or_default();
    // Vyper optimizes unless the settings disable it.
    let is_optimized = match code.language() {
        Language::Solidity => settings.pointer("/optimizer/enabled").and_then(Value::as_bool).unwrap_or(false),
        Language::Vyper => settings.get("optimize").is_none_or(|level| *level != "none" && *level != false),
    };
    let runs = settings.pointer("/optimizer/runs").and_then(Value::as_u64).unwrap_or(200);
    let evm_version = settings.get("evmVersion").and_then(Value::as_str).unwrap_or("Default");
    let library = |(name, address): &(String, domain::Address)| {
        format!("{}:{address:#x}", name.rsplit(':').next().unwrap_or_default())
    };
    let libraries: Vec<String> = code.libraries.iter().map(library).collect();
    let license = code.license.clone().unwrap_or_else(|| "None".to_owned());
    let fields = [
        ("ABI", code.abi.clone()),
        ("ContractName", code.name.clone()),
        ("CompilerVersion", compiler_version(&code.compiler)),
        ("OptimizationUsed", u8::from(is_optimized).to_string()),
        ("Runs", runs.to_string()),
        ("ConstructorArguments", arguments),
        ("EVMVersion", evm_version.to_owned()),
        ("Library", libraries.join(";")),
        ("LicenseType", license),
        ("SwarmSource", String::new()),
        ("SimilarMatch", twin_of.map(|twin| format!("{twin:#x}")).unwrap_or_default()),
    ];
    let linked = code.libraries.clone();
    let mut input = StandardJsonInput::from(code);
    add_libraries(&mut input.settings, &linked);
    let input = serde_json::to_string(&input).map_err(|_| Failure::text("Error! The source cannot be written"))?;
    let mut source: Map<String, Value> =
        fields.into_iter().map(|(name, text)| (name.to_owned(), text.into())).collect();
    // Etherscan marks standard JSON input with a second pair of braces.
    source.insert("SourceCode".to_owned(), format!("{{{input}}}").into());
    Ok(source)
}
