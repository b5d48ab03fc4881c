//! Verified contracts, so that pages decode calls and logs.

use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use devchain::traffic::{COMPILER_VERSION, SOURCES, compiler_settings};
use serde_json::{Map, Value, json};

use super::Browser;

/// Code is read from the node behind the index.
const MAX_WAIT: Duration = Duration::from_secs(120);

impl Browser {
    /// Verifies the contracts of the traffic that are at these addresses; the compiler is downloaded first.
    pub(super) async fn verify(&self, addresses: &[&str]) -> anyhow::Result<()> {
        let sources: Map<String, Value> =
            SOURCES.into_iter().map(|(path, text)| (path.to_owned(), json!({ "content": text }))).collect();
        let input = json!({ "language": "Solidity", "sources": sources, "settings": compiler_settings() }).to_string();
        for address in addresses {
            self.verify_one(address, &input).await.with_context(|| format!("cannot verify {address}"))?;
        }
        Ok(())
    }

    async fn verify_one(&self, address: &str, input: &str) -> anyhow::Result<()> {
        let body = json!({ "address": address, "compilerVersion": COMPILER_VERSION, "sourceCode": input }).to_string();
        let started = Instant::now();
        loop {
            let request =
                self.client.post(format!("{}/api/v1/verify", self.url)).header("content-type", "application/json");
            let response = request.body(body.clone()).send().await?;
            // No code is indexed yet.
            let is_early = response.status() == reqwest::StatusCode::NOT_FOUND;
            let verdict: Value = serde_json::from_slice(&response.bytes().await?)?;
            if verdict["success"] == true {
                return Ok(());
            }
            if !is_early || started.elapsed() > MAX_WAIT {
                bail!("{verdict}");
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }
}
