//! The contract at an address: its code, sources and read-only functions.

use std::collections::HashSet;

use alloy_json_abi::{Function, StateMutability};
use alloy_primitives::hex;
use contracts::{Interface, calls::Facet, decode::Decoder};
use domain::{Address, Artifacts, B256, VerifiedContract};

use super::tab_request::TabRequest;
use crate::{
    error::PageError,
    pages::contracts::{compiler_name, match_name},
    server_address::ServerAddress,
    verified_names::SameCode,
    view::{AddressLink, FieldRow, Moment, PageNames, sanitize_name, sanitize_text, source_lines},
};

/// Maximum bytes of code on a page.
const SHOWN_CODE: usize = 4 * 1024;
/// Maximum selectors of an unverified facet on a page.
const SHOWN_SELECTORS: usize = 50;
/// Maximum contracts with the same code on a page.
const SHOWN_SIMILAR: usize = 10;
/// Maximum characters of a folder or a file name.
const MAX_PATH: usize = 120;

pub(super) struct ContractView {
    pub(super) code_hash: Option<String>,
    pub(super) code_bytes: usize,
    pub(super) code: String,
    pub(super) is_cut: bool,
    pub(super) verified: Option<VerifiedView>,
    /// Other verified contracts with the same code.
    pub(super) similar: Vec<AddressLink>,
    /// Those that are not shown.
    pub(super) more_similar: usize,
    pub(super) proxy: Option<ProxyView>,
    pub(super) facets: Vec<FacetView>,
    /// Facets that are not shown.
    pub(super) more_facets: usize,
    /// Read-only functions.
    pub(super) functions: Vec<FunctionForm>,
    /// Functions that need a transaction.
    pub(super) writes: Vec<FunctionForm>,
    /// Empty while the node does not respond.
    pub(super) chain_id: String,
    /// Lines for a terminal, with the address of this server.
    pub(super) commands: Vec<CommandLine>,
    pub(super) server: ServerAddress,
}

pub(super) struct CommandLine {
    pub(super) label: &'static str,
    pub(super) command: String,
}

pub(super) struct VerifiedView {
    pub(super) name: String,
    pub(super) compiler: String,
    pub(super) kind: &'static str,
    pub(super) constructor_unproven: bool,
    pub(super) license: String,
    pub(super) time: Moment,
    pub(super) twin_of: Option<AddressLink>,
    pub(super) constructor_arguments: Option<String>,
    /// The decoded constructor arguments, if possible.
    pub(super) constructed_with: Vec<FieldRow>,
    pub(super) settings: String,
    pub(super) abi: String,
    pub(super) downloads: Vec<Download>,
    pub(super) sources: Vec<SourceView>,
}

pub(super) struct Download {
    pub(super) label: &'static str,
    pub(super) href: String,
    pub(super) file: String,
}

pub(super) struct SourceView {
    /// With a slash at the end, or empty.
    pub(super) folder: String,
    pub(super) file: String,
    pub(super) lines: Vec<String>,
}

pub(super) struct ProxyView {
    pub(super) target: AddressLink,
    /// Whether the functions of the target are known.
    pub(super) known: bool,
}

/// A facet of a diamond.
pub(super) struct FacetView {
    pub(super) address: AddressLink,
    /// Empty if it is not verified.
    pub(super) name: String,
    /// Signatures, and selectors without a known name.
    pub(super) functions: Vec<String>,
    pub(super) more_functions: usize,
}

/// A form for a function.
pub(super) struct FunctionForm {
    pub(super) name: String,
    pub(super) signature: String,
    pub(super) inputs: Vec<Input>,
    pub(super) outputs: String,
    /// Whether it takes coins.
    pub(super) is_payable: bool,
}

pub(super) struct Input {
    pub(super) id: String,
    pub(super) label: String,
    pub(super) kind: String,
}

impl TabRequest<'_> {
    pub(super) async fn contract(&self) -> Result<ContractView, PageError> {
        let (app, address, server, names) = (self.app, self.address, self.server, self.names);
        let (code_hash, code) = app.interfaces.code_at(address, &app.node_calls).await?.unzip();
        let code = code.unwrap_or_default();
        let known = self.find_verified(address, code_hash).await?;
        let implementations = app.interfaces.implementations(address, &app.node_calls).await?;
        let target = implementations.first().copied();
        let target_known = match target {
            Some(target) => {
                self.find_verified(target, app.interfaces.code_hash_at(target, &app.node_calls).await?).await?
            }
            None => None,
        };
        let diamond = app.interfaces.diamond(address, &implementations, &app.node_calls).await?;
        let diamond = diamond.as_ref().map(|known| &known.diamond);
        let callable = target_known.as_ref().or(known.as_ref());
        let mut functions = diamond.and_then(|diamond| diamond.interface()).unwrap_or_default().functions;
        functions.extend(callable.map(|known| Interface::read(&known.code.abi).functions).unwrap_or_default());
        let chain_id = app.chain_id().map(|id| id.to_string());
        let shown_chain_id = chain_id.as_deref().unwrap_or("CHAIN_ID");
        let commands = match &known {
            Some(_) => reading_commands(&server.url, shown_chain_id, address),
            None => verifying_commands(&server.url, shown_chain_id, address),
        };
        let similar = match code_hash {
            Some(hash) => app.verified_names.list().await?.with_code(hash, address, SHOWN_SIMILAR),
            None => SameCode { addresses: Vec::new(), total: 0 },
        };
        let shown = code.get(..SHOWN_CODE).unwrap_or(&code);
        Ok(ContractView {
            code_hash: code_hash.map(|hash| format!("{hash:#x}")),
            code_bytes: code.len(),
            code: hex::encode_prefixed(shown),
            is_cut: shown.len() < code.len(),
            more_similar: similar.total - similar.addresses.len(),
            similar: similar.addresses.into_iter().map(|similar| names.address(similar)).collect(),
            functions: forms(&functions, Use::Read),
            writes: forms(&functions, Use::Write),
            chain_id: chain_id.clone().unwrap_or_default(),
            commands,
            server: server.clone(),
            facets: diamond
                .iter()
                .flat_map(|diamond| &diamond.facets)
                .map(|facet| FacetView::new(facet, names))
                .collect(),
            more_facets: diamond.map_or(0, |diamond| diamond.left_out),
            proxy: target.map(|target| ProxyView { target: names.address(target), known: target_known.is_some() }),
            verified: known.map(|known| VerifiedView::new(known, names)),
        })
    }

    /// None as well if the code is not known. A record that cannot be read is no unverified contract.
    async fn find_verified(
        &self,
        address: Address,
        code_hash: Option<B256>,
    ) -> Result<Option<VerifiedContract>, PageError> {
        let Some(code_hash) = code_hash else { return Ok(None) };
        Ok(self.app.verified_deployments.find(address, code_hash).await?)
    }
}

impl FacetView {
    fn new(facet: &Facet, names: &PageNames) -> Self {
        let known = facet.verified.as_ref();
        let named: Vec<&Function> = known.into_iter().flat_map(|known| &known.interface.functions).collect();
        let is_named = |selector: &[u8; 4]| named.iter().any(|function| function.selector().0 == *selector);
        let unnamed: Vec<&[u8; 4]> = facet.selectors.iter().filter(|selector| !is_named(selector)).collect();
        let shown = unnamed.iter().take(SHOWN_SELECTORS).map(hex::encode_prefixed);
        Self {
            address: names.address(facet.address),
            name: known.map(|known| sanitize_name(&known.name)).unwrap_or_default(),
            functions: named.iter().map(|function| function.signature()).chain(shown).collect(),
            more_functions: unnamed.len().saturating_sub(SHOWN_SELECTORS),
        }
    }
}

impl VerifiedView {
    fn new(contract: VerifiedContract, names: &PageNames) -> Self {
        let arguments = contract.constructor_arguments().cloned();
        let constructor_unproven = contract.creation_match().is_none();
        let VerifiedContract { address, twin_of, code, .. } = contract;
        let language = code.language();
        let decoder = Decoder::new(Interface::read(&code.abi));
        let constructed_with = arguments.as_ref().and_then(|arguments| decoder.creation(arguments)).unwrap_or_default();
        Self {
            constructed_with: constructed_with.iter().map(|field| FieldRow::new(field, names)).collect(),
            name: sanitize_name(&code.name),
            compiler: compiler_name(&code.compiler),
            kind: match_name(code.runtime_match),
            constructor_unproven,
            license: code.license.as_deref().map(sanitize_name).unwrap_or_default(),
            time: Moment::of(code.verified_at / 1000),
            twin_of: twin_of.map(|twin| names.address(twin)),
            constructor_arguments: arguments.map(hex::encode_prefixed),
            settings: pretty(&code.settings),
            abi: pretty(&code.abi),
            downloads: downloads(address, &code.artifacts),
            sources: code
                .sources
                .into_iter()
                .map(|source| {
                    let (folder, file) = split_path(&source.path);
                    SourceView { folder, file, lines: source_lines(&source.content, language) }
                })
                .collect(),
        }
    }
}

/// The folder of a source, with a slash at the end, and its file name.
fn split_path(path: &str) -> (String, String) {
    let start = path.rfind('/').map_or(0, |slash| slash + 1);
    let (folder, file) = path.split_at(start);
    (sanitize_text(folder, MAX_PATH), sanitize_text(file, MAX_PATH))
}

fn verifying_commands(server: &str, chain_id: &str, address: Address) -> Vec<CommandLine> {
    let forge = format!(
        "forge verify-contract --verifier custom --verifier-url {server}/api --chain {chain_id} --watch {address:#x} src/Contract.sol:Contract"
    );
    let hardhat = format!(
        "# chainDescriptors: {{ {chain_id}: {{ name: 'live', blockExplorers: {{ etherscan: {{ url: '{server}', apiUrl: '{server}/v2/api' }} }} }} }}\n\
         npx hardhat verify etherscan --network live {address:#x}"
    );
    let curl = format!(
        "jq -n --rawfile source Contract.sol '{{ address: \"{address:#x}\", compilerVersion: \"0.8.20\", sourceCode: $source }}' |\n  \
         curl -H 'Content-Type: application/json' -d @- {server}/api/v1/verify"
    );
    vec![
        CommandLine { label: "Verify with Foundry", command: forge },
        CommandLine { label: "Verify with Hardhat 3", command: hardhat },
        CommandLine { label: "Verify with curl", command: curl },
    ]
}

fn reading_commands(server: &str, chain_id: &str, address: Address) -> Vec<CommandLine> {
    let cast = format!(
        "cast source --explorer-api-url {server}/api --explorer-url {server} --chain {chain_id} -e none {address:#x}"
    );
    let curl = format!("curl '{server}/api?module=contract&action=getsourcecode&address={address:#x}'");
    vec![
        CommandLine { label: "Read the source with Foundry", command: cast },
        CommandLine { label: "Read the source with curl", command: curl },
    ]
}

/// The compiler output that the API offers.
fn downloads(address: Address, artifacts: &Artifacts) -> Vec<Download> {
    let all = [
        ("Metadata", "metadata", !artifacts.metadata.is_empty()),
        ("Storage layout", "storage-layout", artifacts.storage_layout.is_some()),
        ("User documentation", "userdoc", artifacts.userdoc.is_some()),
        ("Developer documentation", "devdoc", artifacts.devdoc.is_some()),
        ("Standard JSON input", "standard-json", true),
    ];
    let available = all.into_iter().filter(|(_, _, is_available)| *is_available);
    let download = |(label, name, _): (&'static str, &str, bool)| Download {
        label,
        href: format!("/api/v1/contracts/{address:#x}/{name}"),
        file: format!("{address:#x}-{name}.json"),
    };
    available.map(download).collect()
}

fn pretty(json: &str) -> String {
    let value = serde_json::from_str::<serde_json::Value>(json);
    value.and_then(|value| serde_json::to_string_pretty(&value)).unwrap_or_else(|_| json.to_owned())
}

/// What a function is called for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Use {
    Read,
    Write,
}

impl Use {
    fn of(function: &Function) -> Self {
        match function.state_mutability {
            StateMutability::View | StateMutability::Pure => Self::Read,
            StateMutability::NonPayable | StateMutability::Payable => Self::Write,
        }
    }
}

/// A form per function of a use; only the first of several with the same selector.
fn forms(functions: &[Function], wanted: Use) -> Vec<FunctionForm> {
    let mut seen = HashSet::new();
    let mut is_new = |function: &&Function| Use::of(function) == wanted && seen.insert(function.selector());
    let form = |(number, function): (usize, &Function)| FunctionForm {
        name: sanitize_name(&function.name),
        signature: function.signature(),
        inputs: function
            .inputs
            .iter()
            .enumerate()
            .map(|(index, input)| {
                let kind = input.selector_type().into_owned();
                let label = sanitize_name(&format!("{kind} {}", input.name));
                Input { id: format!("{wanted:?}-{number}-{index}").to_lowercase(), label, kind }
            })
            .collect(),
        outputs: function
            .outputs
            .iter()
            .map(|output| output.selector_type().into_owned())
            .collect::<Vec<_>>()
            .join(", "),
        is_payable: function.state_mutability == StateMutability::Payable,
    };
    functions.iter().filter(&mut is_new).enumerate().map(form).collect()
}
