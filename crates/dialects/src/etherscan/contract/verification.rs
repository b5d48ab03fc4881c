//! Verification: a submission returns the id of a job, which is then polled.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use api::dialect::verify_client;
use domain::{Address, CreationCheck, JobVerdict};
use node::CallBlock;
use verification::{
    CompilerVersion, JobStatus, OptimizerChoice, Sources, VerifyError, VerifyRequest, is_license, settings::EvmVersion,
};

use crate::{
    app::App,
    etherscan::{
        answer::{Answer, Failure},
        params::Params,
        sender::Sender,
    },
};

/// A poll waits this long for the end of its job: tools sleep much longer between two polls.
const MAX_WAIT: Duration = Duration::from_secs(10);
const MAX_LIBRARIES: usize = 10;

/// Etherscan's numbers of licenses, from 1.
const LICENSES: [&str; 14] = [
    "None",
    "Unlicense",
    "MIT",
    "GPL-2.0",
    "GPL-3.0",
    "LGPL-2.1",
    "LGPL-3.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "MPL-2.0",
    "OSL-3.0",
    "Apache-2.0",
    "AGPL-3.0",
    "BUSL-1.1",
];

pub(super) async fn submit(app: &Arc<App>, sender: Sender, params: &Params) -> Result<Answer, Failure> {
    let request = read_request(params)?;
    let address = request.address;
    let missing = || Failure::text(format!("Unable to locate ContractCode at {address:#x}"));
    if app.services.node.code(address, CallBlock::Latest).await?.is_empty() {
        return Err(missing());
    }
    let client = verify_client(sender.client, sender.owner);
    match app.services.jobs.submit(client, request).await {
        Ok(job) => Ok(Answer::text(job.id().to_string())),
        Err(VerifyError::NoCode) => Err(missing()),
        Err(error @ (VerifyError::ClientLimitReached | VerifyError::Busy)) => {
            Err(Failure::text(format!("Max rate limit reached, please respect the rate limit: {error}")))
        }
        Err(VerifyError::Node(error)) => Err(error.into()),
        Err(VerifyError::Store(error)) => Err(error.into()),
        Err(error) => Err(Failure::text(format!("Error! {error}"))),
    }
}

pub(in crate::etherscan) fn read_request(params: &Params) -> Result<VerifyRequest, Failure> {
    let address = params.address("contractaddress")?;
    let format = params.find("codeformat").unwrap_or("solidity-single-file").to_ascii_lowercase();
    let version = params.get("compilerversion")?;
    let source = params.find_verbatim("sourcecode").ok_or_else(|| Failure::text("Error! Missing sourceCode"))?;
    let sources = Sources::read(source).map_err(|error| Failure::text(format!("Error! sourceCode {error}")))?;
    // In standard JSON input, the settings are those of the input.
    let is_single = !format.contains("json");
    let single = |name: &str| if is_single { params.find(name) } else { None };
    let spelled = ["constructorarguements", "constructorarguments"];
    let arguments = spelled.iter().find_map(|name| params.find_bytes(name).transpose()).transpose()?;
    Ok(VerifyRequest {
        address,
        compiler: compiler(&sources, &format, version)?,
        sources,
        license: params.find("licensetype").and_then(license),
        contract_name: params.find("contractname").map(str::to_owned),
        optimizer: OptimizerChoice {
            enabled: match single("optimizationused") {
                None => None,
                Some("1" | "true") => Some(true),
                Some("0" | "false") => Some(false),
                Some(_) => return Err(Failure::invalid("optimizationUsed", "must be 0 or 1")),
            },
            runs: match single("runs") {
                None => None,
                Some(runs) => Some(runs.parse().map_err(|_| Failure::invalid("runs", "must be a 32-bit number"))?),
            },
        },
        evm_version: match single("evmversion").filter(|name| !name.eq_ignore_ascii_case("default")) {
            None => None,
            Some(name) => {
                Some(EvmVersion::from_name(name).ok_or_else(|| Failure::invalid("evmversion", "is not known"))?)
            }
        },
        via_ir: match single("viair").map(str::to_ascii_lowercase).as_deref() {
            None => None,
            Some("true" | "1") => Some(true),
            Some("false" | "0") => Some(false),
            Some(_) => return Err(Failure::invalid("viaIR", "must be true or false")),
        },
        libraries: libraries(params)?,
        constructor_arguments: arguments,
    })
}

/// `v0.8.20+commit.a1b79de6`, `vyper:0.3.10`, or a version without that prefix and `vyper` in the format of the code.
fn compiler(sources: &Sources, format: &str, version: &str) -> Result<CompilerVersion, Failure> {
    let named = if format.contains("vyper") && !version.starts_with("vyper") {
        sources.compiler(&format!("vyper:{version}"))
    } else {
        sources.compiler(version)
    };
    named.map_err(|error| Failure::text(format!("Error! compilerversion {error}")))
}

fn license(text: &str) -> Option<String> {
    match text.parse::<usize>() {
        Ok(number) => {
            LICENSES.get(number.checked_sub(1)?).filter(|name| **name != "None").map(|name| (*name).to_owned())
        }
        Err(_) => is_license(text).then(|| text.to_owned()),
    }
}

fn libraries(params: &Params) -> Result<BTreeMap<String, Address>, Failure> {
    let mut libraries = BTreeMap::new();
    for number in 1..=MAX_LIBRARIES {
        let Some(name) = params.find(&format!("libraryname{number}")) else { continue };
        libraries.insert(name.to_owned(), params.address(&format!("libraryaddress{number}"))?);
    }
    Ok(libraries)
}

pub(super) async fn check(app: &App, params: &Params) -> Result<Answer, Failure> {
    let unknown = || Failure::text("Unknown UID");
    let id = params.get("guid")?.parse().map_err(|_| unknown())?;
    let status = app.services.jobs.find(id, MAX_WAIT).await?.ok_or_else(unknown)?;
    describe(&status)
}

fn describe(status: &JobStatus) -> Result<Answer, Failure> {
    let failed = |reason: &str| Failure::text(format!("Fail - Unable to verify. {reason}"));
    let Some(result) = &status.job.result else {
        return Err(match status.is_interrupted() {
            true => failed("The server was restarted before the verification ended: submit it again."),
            false => Failure::text("Pending in queue"),
        });
    };
    match &result.verdict {
        JobVerdict::Verified { creation: CreationCheck::Differs, .. } => {
            Err(failed(&format!("Only the runtime code matches. {}", result.message)))
        }
        JobVerdict::Verified { .. } => Ok(Answer::text("Pass - Verified")),
        JobVerdict::Refused { .. } | JobVerdict::Failed(_) => Err(failed(&result.message)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_format_or_the_version_says_that_the_source_is_vyper() {
        let vyper = r#"{"language":"Vyper","sources":{"a.vy":{"content":"x: uint256"}}}"#;
        let read = |source: &str, format, version| {
            let compiler = compiler(&Sources::read(source).unwrap(), format, version);
            compiler.map(|compiler| compiler.to_string()).ok()
        };
        assert_eq!(read(vyper, "vyper-json", "vyper:0.3.10").as_deref(), Some("vyper:0.3.10"));
        assert_eq!(
            read(vyper, "vyper-json", "v0.3.10+commit.91361694").as_deref(),
            Some("vyper:0.3.10+commit.91361694")
        );
        assert_eq!(read("x: uint256", "vyper-single-file", "0.4.3").as_deref(), Some("vyper:0.4.3"));
        assert_eq!(read("contract A {}", "solidity-single-file", "v0.8.20").as_deref(), Some("0.8.20"));
        assert_eq!(read(r#"{"language":"Solidity","sources":{"a.sol":{"content":""}}}"#, "vyper-json", "0.4.3"), None);
    }

    #[test]
    fn licenses_are_numbers_or_names() {
        assert_eq!(["1", "3", "14"].map(license), [None, Some("MIT".to_owned()), Some("BUSL-1.1".to_owned())]);
        assert_eq!(["0", "15", "<b>"].map(license), [None, None, None]);
        assert_eq!(license("GPL-3.0-or-later").as_deref(), Some("GPL-3.0-or-later"));
    }
}
