//! Compilers and contracts out of the npm registry that npm is set up for.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde_json::Value;
use tokio::process::Command;

use super::compiling::run_script;
use super::subjects;

const GATHER: &str = include_str!("gather.cjs");
const CONTRACTS: [&str; 3] = ["@openzeppelin/contracts@5.7.0", "@uniswap/v2-core@1.0.1", "@uniswap/v3-core@1.0.1"];

pub(super) struct Packages {
    modules: PathBuf,
}

impl Packages {
    /// Installs what the folder does not hold yet.
    pub(super) async fn fetch(folder: &Path) -> anyhow::Result<Self> {
        let packages = Self { modules: folder.join("node_modules") };
        let missing = |version: &&String| !packages.compiler(version).join("soljson.js").is_file();
        let releases = subjects::releases();
        let mut wanted: Vec<String> = releases.iter().filter(missing).map(|version| package_of(version)).collect();
        let is_missing = |package: &&&str| {
            let name = package.rsplit_once('@').map_or(**package, |(name, _)| name);
            !packages.modules.join(name).is_dir()
        };
        wanted.extend(CONTRACTS.iter().filter(is_missing).map(|package| (*package).to_owned()));
        if !wanted.is_empty() {
            let mut npm = Command::new("npm");
            npm.args(["install", "--no-audit", "--no-fund", "--silent", "--ignore-scripts", "--prefix"]).arg(folder);
            let fetched = npm.args(wanted).output().await.context("npm cannot be run")?;
            if !fetched.status.success() {
                bail!("npm fetched no compilers: {}", String::from_utf8_lossy(&fetched.stderr).trim());
            }
        }
        Ok(packages)
    }

    pub(super) fn modules(&self) -> &Path {
        &self.modules
    }

    pub(super) fn compiler(&self, version: &str) -> PathBuf {
        self.modules.join(format!("solc-{version}"))
    }

    /// All files that some files import, with these.
    pub(super) async fn gather(&self, files: &Value) -> anyhow::Result<Value> {
        let printed = run_script(GATHER, &self.modules, files).await?;
        serde_json::from_slice(&printed).context("what the contracts import was not found")
    }
}

/// Where npm has a release: the package of 0.8.7 is corrupt, and was published again under another name.
fn package_of(version: &str) -> String {
    let published = if version == "0.8.7" { "0.8.7-fixed" } else { version };
    format!("solc-{version}@npm:solc@{published}")
}
