//! Fetches every release of the compiler that the npm registry has, and asks each what it is.
//!
//! `cargo run --release -p contracts --example check_pinned_compilers`: some 90 packages, 400 MB over the network, minutes.
//! Run it when `npm_packages.txt` changes. A package that hashes to something else than is written there, or holds another
//! compiler than its name says, is told, and the program fails.
#![expect(clippy::print_stdout, reason = "a program that is read by whoever runs it")]

use std::{process::ExitCode, time::Duration};

use contracts::{CompilerConfig, CompilerSource, Compilers};

#[tokio::main]
async fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let folder = std::env::temp_dir().join(format!("explorer-pinned-compilers-{}", std::process::id()));
    let mut config = CompilerConfig::new(folder.clone(), CompilerSource::Npm);
    // One at a time is enough.
    config.folder_bytes = 0;
    config.idle.time = Duration::ZERO;
    config.idle.workers = 0;
    let compilers = Compilers::new(config);
    let mut available = compilers.available().await?;
    available.reverse();
    let mut bad = 0;
    for one in &available {
        match compilers.check(&one.version).await {
            Ok(own) if own == one.version => println!("{own}: right"),
            Ok(own) => println!("{}: not pinned, and says that it is {own}", one.version),
            Err(error) => {
                bad += 1;
                println!("{}: {error}", one.version);
            }
        }
    }
    println!("{} releases, {bad} of them not what they say", available.len());
    let _ = std::fs::remove_dir_all(folder);
    Ok(if bad == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
