//! Describes the machine.

use std::process::Command;

use crate::explorer::Explorer;

/// Hardware, system, compiler, binary and load before the measurements.
pub(crate) async fn describe() -> anyhow::Result<String> {
    let file = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let field = |text: &str, name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or("unknown");
        line.trim_start_matches([' ', '\t', ':']).to_owned()
    };
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let model = field(&file("/proc/cpuinfo"), "model name");
    let memory = field(&file("/proc/meminfo"), "MemTotal:");
    let kernel = file("/proc/sys/kernel/osrelease");
    let load = file("/proc/loadavg");
    let load = load.split(' ').next().unwrap_or("unknown");
    let rustc = Command::new("rustc").arg("--version").output();
    let rustc = rustc.map_or_else(|_| "unknown compiler".to_owned(), |out| String::from_utf8_lossy(&out.stdout).into());
    Ok(format!(
        "Machine: {cores} cores, {model}, {memory} of memory, Linux {}; {}, {}; load {load} at the start.\n",
        kernel.trim(),
        Explorer::version().await?,
        rustc.trim(),
    ))
}
