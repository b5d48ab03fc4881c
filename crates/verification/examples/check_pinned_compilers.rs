//! Downloads every compiler release of the npm registry and checks the version that it reports.
//!
//! `cargo run --release -p contracts --example check_pinned_compilers`: about 90 packages, 400 MB of downloads, some minutes.
//! Run it when `npm_packages.txt` changes. It fails if a package has another hash than pinned, or contains another compiler.
#![expect(clippy::print_stdout, reason = "a command line program")]

use std::{process::ExitCode, time::Duration};

use verification::{CompilerConfig, CompilerSource, Compilers};

#[tokio::main]
async fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let folder = std::env::temp_dir().join(format!("explorer-pinned-compilers-{}", std::process::id()));
    let mut config = CompilerConfig::new(folder.clone(), CompilerSource::Npm);
    // Keep only one compiler on disk at a time.
    config.folder_bytes = 0;
    config.idle.time = Duration::ZERO;
    config.idle.workers = 0;
    let compilers = Compilers::new(config);
    let mut available = compilers.available().await?;
    available.reverse();
    let mut bad = 0;
    for one in &available {
        match compilers.check(&one.version).await {
            Ok(own) if own == one.version => println!("{own}: ok"),
            Ok(own) => println!("{}: not pinned, reports version {own}", one.version),
            Err(error) => {
                bad += 1;
                println!("{}: {error}", one.version);
            }
        }
    }
    println!("{} releases, {bad} of them failed", available.len());
    let _ = std::fs::remove_dir_all(folder);
    Ok(if bad == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
