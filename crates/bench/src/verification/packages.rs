//! Compilers and contracts from the configured npm registry.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde_json::Value;
use tokio::process::Command;

use super::script::run_script;

const GATHER: &str = include_str!("gather.cjs");
const CONTRACTS: [&str; 3] = ["@openzeppelin/contracts@5.7.0", "@uniswap/v2-core@1.0.1", "@uniswap/v3-core@1.0.1"];

pub(super) struct Packages {
    modules: PathBuf,
}

impl Packages {
    /// Installs the packages that are missing in the folder.
    pub(super) async fn fetch(folder: &Path, releases: &[String]) -> anyhow::Result<Self> {
        let packages = Self { modules: folder.join("node_modules") };
        let missing = |version: &&String| !packages.compiler(version).join("soljson.js").is_file();

        let mut missing_packages: Vec<String> =
            releases.iter().filter(missing).map(|version| package_of(version)).collect();
        let is_missing = |package: &&&str| {
            let name = package.rsplit_once('@').map_or(**package, |(name, _)| name);
            !packages.modules.join(name).is_dir()
        };
        missing_packages.extend(CONTRACTS.iter().filter(is_missing).map(|package| (*package).to_owned()));
        if !missing_packages.is_empty() {
            let mut npm = Command::new("npm");
            npm.args(["install", "--no-audit", "--no-fund", "--silent", "--ignore-scripts", "--prefix"]).arg(folder);
            let fetched = npm.args(missing_packages).output().await.context("cannot run npm")?;
            if !fetched.status.success() {
                bail!("npm failed to install compilers: {}", String::from_utf8_lossy(&fetched.stderr).trim());
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

    /// The files with all their imports.
    pub(super) async fn gather(&self, files: &Value) -> anyhow::Result<Value> {
        let printed = run_script(GATHER, &self.modules, files).await?;
        serde_json::from_slice(&printed).context("imports of the contracts were not found")
    }
}

/// The npm package of a release: that of 0.8.7 is corrupt and was republished under another version.
fn package_of(version: &str) -> String {
    let published = if version == "0.8.7" { "0.8.7-fixed" } else { version };
    format!("solc-{version}@npm:solc@{published}")
}
