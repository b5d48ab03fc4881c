//! Processes that run what nobody trusts.

use std::{
    ffi::OsStr,
    path::Path,
    process::{ExitStatus, Stdio},
    time::Duration,
};

use tokio::{
    process::{Child, Command},
    time::sleep,
};

/// How often the memory of a process is looked at.
const LOOK: Duration = Duration::from_millis(50);

/// What a process may use before the system itself ends it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    /// Also ends a process whose parent was killed and can no longer end it.
    pub(super) cpu: Duration,
    /// None where a program reserves far more than it uses.
    pub(super) address_space: Option<u64>,
}

/// A command under bounds, with nothing of our environment but where programs are, killed when it is dropped.
pub(super) fn bounded(program: &Path, arguments: &[impl AsRef<OsStr>], bounds: Bounds) -> Command {
    let mut limits = format!("ulimit -c 0; ulimit -t {}", bounds.cpu.as_secs().max(1));
    if let Some(bytes) = bounds.address_space {
        limits.push_str(&format!("; ulimit -v {}", bytes >> 10));
    }
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(format!("{limits}; exec \"$@\"")).arg("sh").arg(program).args(arguments);
    command.env_clear().current_dir("/").kill_on_drop(true);
    if let Some(path) = std::env::var_os("PATH") {
        command.env("PATH", path);
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    command
}

/// Returns when the process uses more memory than this; never where that cannot be seen.
pub(super) async fn over_memory(process: u32, limit: u64) {
    loop {
        match resident(process) {
            Some(bytes) if bytes > limit => return,
            Some(_) => sleep(LOOK).await,
            // Ended, or on a system without such files: others watch over that.
            None => std::future::pending().await,
        }
    }
}

fn resident(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? << 10)
}

/// Ends a process and waits until it is gone.
pub(super) async fn end(mut child: Child) {
    let _ = child.kill().await;
}

/// How a process ended, in words.
pub(super) fn tell(status: ExitStatus) -> String {
    #[cfg(unix)]
    {
        use std::os::unix::process::ExitStatusExt;
        if let Some(signal) = status.signal() {
            return format!("it was ended by signal {signal}");
        }
    }
    match status.code() {
        // How a shell says that there is no such program.
        Some(127) => "the program is not there".to_owned(),
        Some(code) => format!("it ended with status {code}"),
        None => "it ended".to_owned(),
    }
}
