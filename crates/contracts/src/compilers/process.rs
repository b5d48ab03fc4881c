//! Processes that run what nobody trusts, or what must not outlive this program.
//!
//! A shell stands between us and the program. It holds the reading end of a pipe, the lifeline, whose writing end is ours
//! alone: when that closes, because we drop it or because this process is gone, however it went, the shell kills the program.

use std::{
    ffi::OsStr,
    io::{self, PipeWriter},
    path::Path,
    process::{ExitStatus, Output, Stdio},
    time::Duration,
};

use tokio::{
    io::AsyncReadExt,
    process::{Child, ChildStdin, ChildStdout, Command},
};

/// Runs `"$@"` and ends with its status; kills it when the lifeline, file 3, closes.
const SUPERVISE: &str = "worker=$!
exec 4<&- >&- 2>&-
{ read _ <&3; kill -9 $worker; } &
guard=$!
wait $worker
status=$?
kill -9 $guard
exit $status";
/// Compilers stand behind the threads that serve requests.
const NICENESS: u8 = 10;

/// What a process may use before the system itself ends it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    pub(super) cpu: Duration,
    /// None where a program reserves far more than it uses.
    pub(super) address_space: Option<u64>,
}

/// A process that ends when this is dropped.
#[derive(Debug)]
pub(super) struct Process {
    id: u32,
    shell: Child,
    lifeline: PipeWriter,
}

impl Process {
    /// Starts a program under bounds, with nothing of our environment but where programs are.
    pub(super) async fn start(
        program: &Path,
        arguments: &[impl AsRef<OsStr>],
        bounds: Bounds,
        folder: &Path,
    ) -> io::Result<(Self, ChildStdin, ChildStdout)> {
        let mut limits = format!("ulimit -c 0; ulimit -t {}", bounds.cpu.as_secs().max(1));
        if let Some(bytes) = bounds.address_space {
            limits.push_str(&format!("; ulimit -v {}", bytes >> 10));
        }
        let limited = format!("{limits}; echo $$; exec nice -n {NICENESS} \"$@\"");
        let script = format!(
            "limited=$1; shift; exec 3<&2 2>/dev/null 4<&0 </dev/null\n/bin/sh -c \"$limited\" sh \"$@\" <&4 3<&- 4<&- &\n{SUPERVISE}"
        );
        let (lifeline, ours) = io::pipe()?;
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(script).arg("sh").arg(limited).arg(program).args(arguments);
        command.env_clear().current_dir(folder).process_group(0);
        if let Some(path) = std::env::var_os("PATH") {
            command.env("PATH", path);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(lifeline);
        let mut shell = command.spawn()?;
        let (Some(stdin), Some(mut stdout)) = (shell.stdin.take(), shell.stdout.take()) else {
            return Err(io::Error::other("the process has no input or output"));
        };
        let id = read_id(&mut stdout).await?;
        Ok((Self { id, shell, lifeline: ours }, stdin, stdout))
    }

    pub(super) fn id(&self) -> u32 {
        self.id
    }

    pub(super) fn is_running(&mut self) -> bool {
        matches!(self.shell.try_wait(), Ok(None))
    }

    /// Waits until it has ended by itself.
    pub(super) async fn ended(&mut self) -> io::Result<ExitStatus> {
        self.shell.wait().await
    }

    /// Ends it and waits until it is gone.
    pub(super) async fn end(self) {
        let Self { mut shell, lifeline, .. } = self;
        drop(lifeline);
        let _ = shell.wait().await;
    }
}

/// The program's own id is the first line of its output.
async fn read_id(stdout: &mut ChildStdout) -> io::Result<u32> {
    let mut digits = String::new();
    loop {
        match stdout.read_u8().await? {
            b'\n' => return digits.parse().map_err(io::Error::other),
            byte if byte.is_ascii_digit() && digits.len() < 10 => digits.push(char::from(byte)),
            _ => return Err(io::Error::other("the process did not tell its id")),
        }
    }
}

/// Runs a program of the operator's to its end, in his environment. It ends with us, and when this is dropped.
pub(super) async fn output(program: &Path, arguments: &[&str], folder: &Path) -> io::Result<Output> {
    let script = format!("exec 3<&0 </dev/null\nnice -n {NICENESS} \"$@\" 3<&- &\n{SUPERVISE}");
    let (lifeline, ours) = io::pipe()?;
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(script).arg("sh").arg(program).args(arguments);
    command.current_dir(folder).process_group(0).stdin(lifeline).stdout(Stdio::piped()).stderr(Stdio::piped());
    let output = command.spawn()?.wait_with_output().await;
    drop(ours);
    output
}

/// How a shell says that there is no such program.
pub(super) fn is_missing(status: ExitStatus) -> bool {
    status.code() == Some(127)
}

/// How a process ended, in words.
pub(super) fn tell(status: ExitStatus) -> String {
    /// What a shell adds to the number of the signal that ended a program.
    const SIGNALLED: i32 = 128;
    match status.code() {
        Some(127) => "the program is not there".to_owned(),
        Some(code) if code > SIGNALLED => format!("it was ended by signal {}", code - SIGNALLED),
        Some(code) => format!("it ended with status {code}"),
        None => "it ended".to_owned(),
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use tokio::io::AsyncWriteExt;

    use super::*;

    const BOUNDS: Bounds = Bounds { cpu: Duration::from_secs(60), address_space: None };

    async fn start(script: &str) -> (Process, ChildStdin, ChildStdout) {
        Process::start(Path::new("/bin/sh"), &["-c", script], BOUNDS, Path::new("/")).await.expect("a shell starts")
    }

    async fn gone(process: u32) {
        for _ in 0..600 {
            let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
            if stat.is_empty() || stat.contains(") Z ") {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("process {process} is still there");
    }

    #[tokio::test]
    async fn a_process_is_told_by_its_own_id_and_stands_behind_others() {
        let (mut process, mut stdin, mut stdout) = start("read line; echo $$ $line; nice").await;
        assert!(process.is_running());
        stdin.write_all(b"hello\n").await.unwrap();
        let mut said = String::new();
        stdout.read_to_string(&mut said).await.unwrap();
        assert_eq!(said.lines().next().unwrap(), format!("{} hello", process.id()));
        assert!(said.lines().nth(1).unwrap().parse::<u8>().unwrap() >= NICENESS, "{said}");
        assert!(process.ended().await.unwrap().success());
    }

    #[tokio::test]
    async fn a_process_ends_when_its_owner_lets_it_go() {
        let (process, _stdin, _stdout) = start("while :; do :; done").await;
        let id = process.id();
        drop(process);
        gone(id).await;
        let (process, _stdin, _stdout) = start("while :; do :; done").await;
        let id = process.id();
        process.end().await;
        gone(id).await;
    }

    #[tokio::test]
    async fn how_a_process_ended_is_told() {
        let ended = async |script: &str| {
            let (mut process, _stdin, _stdout) = start(script).await;
            tell(process.ended().await.unwrap())
        };
        assert_eq!(ended("exit 3").await, "it ended with status 3");
        assert_eq!(ended("kill -9 $$").await, "it was ended by signal 9");
        assert_eq!(ended("exec /nowhere/program").await, "the program is not there");
    }

    #[tokio::test]
    async fn a_program_of_the_operator_s_ends_with_whoever_waits_for_it() {
        let said =
            output(Path::new("/bin/sh"), &["-c", "echo out; echo err >&2; exit 4"], Path::new("/")).await.unwrap();
        assert_eq!((said.stdout.as_slice(), said.stderr.as_slice()), (&b"out\n"[..], &b"err\n"[..]));
        assert_eq!(said.status.code(), Some(4));
        assert!(is_missing(output(Path::new("/nowhere/program"), &[], Path::new("/")).await.unwrap().status));

        let folder = tempfile::tempdir().unwrap();
        let script = "echo $$ > id.new; mv id.new id; while :; do :; done";
        let arguments = ["-c", script];
        let endless = output(Path::new("/bin/sh"), &arguments, folder.path());
        let started = async {
            loop {
                if let Ok(id) = std::fs::read_to_string(folder.path().join("id")) {
                    return id.trim().parse().unwrap();
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let id = tokio::select! {
            _ = endless => panic!("it does not end"),
            id = started => id,
        };
        gone(id).await;
    }
}
