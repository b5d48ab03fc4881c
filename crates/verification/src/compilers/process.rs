//! Child processes that run untrusted code, or must not outlive this process.
//!
//! A shell supervises the program. It holds the reading end of a pipe, the lifeline, whose writing end only this process
//! has: when that closes, because it is dropped or because this process died in any way, the shell kills the program and
//! all that it has started.

use std::{
    ffi::OsStr,
    io::{self, PipeWriter},
    os::unix::process::ExitStatusExt,
    path::Path,
    process::{ExitStatus, Output, Stdio},
    time::Duration,
};

use tokio::{
    io::AsyncReadExt,
    process::{Child, ChildStdin, ChildStdout, Command},
};

/// Waits for the program and exits with its status; kills it when the lifeline, file descriptor 3, closes. What the program
/// has started ends with it: killed if it was killed, else terminated. Some programs unpack themselves and run a second
/// process. The program itself is reaped here, since this process may be one that does not reap orphans.
const SUPERVISE: &str = "worker=$!
exec 4<&- >&- 2>&-
{ read _ <&3; kill -9 $worker; } &
guard=$!
wait $worker
status=$?
trap '' TERM
kill -9 $guard
[ $status -ne 137 ] || kill -9 0
kill -15 0
exit $status";
/// Compilers get less CPU priority than the threads that serve requests.
const NICENESS: u8 = 10;

/// Resource limits enforced by the kernel (ulimit).
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    pub(super) cpu: Duration,
    /// None for programs that reserve far more than they use.
    pub(super) address_space: Option<u64>,
}

/// A process that is killed when this is dropped.
#[derive(Debug)]
pub(super) struct Process {
    id: u32,
    shell: Child,
    lifeline: PipeWriter,
}

impl Process {
    /// Starts a program with resource limits in a folder, which is also where it puts temporary files. Its environment
    /// contains nothing else but PATH.
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
        let (lifeline_reader, lifeline) = io::pipe()?;
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(script).arg("sh").arg(limited).arg(program).args(arguments);
        command.env_clear().env("TMPDIR", folder).current_dir(folder).process_group(0);
        if let Some(path) = std::env::var_os("PATH") {
            command.env("PATH", path);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(lifeline_reader);
        let mut shell = command.spawn()?;
        let (Some(stdin), Some(mut stdout)) = (shell.stdin.take(), shell.stdout.take()) else {
            return Err(io::Error::other("the process has no input or output"));
        };
        let id = read_id(&mut stdout).await?;
        Ok((Self { id, shell, lifeline }, stdin, stdout))
    }

    pub(super) fn id(&self) -> u32 {
        self.id
    }

    pub(super) fn is_running(&mut self) -> bool {
        matches!(self.shell.try_wait(), Ok(None))
    }

    /// Waits until it exits by itself.
    pub(super) async fn wait(&mut self) -> io::Result<ExitStatus> {
        self.shell.wait().await
    }

    /// Kills it and waits until it has exited.
    pub(super) async fn kill(self) {
        let Self { mut shell, lifeline, .. } = self;
        drop(lifeline);
        let _ = shell.wait().await;
    }
}

/// The program's process id is the first line of its output.
async fn read_id(stdout: &mut ChildStdout) -> io::Result<u32> {
    let mut digits = String::new();
    loop {
        match stdout.read_u8().await? {
            b'\n' => return digits.parse().map_err(io::Error::other),
            byte if byte.is_ascii_digit() && digits.len() < 10 => digits.push(char::from(byte)),
            _ => return Err(io::Error::other("the process did not print its id")),
        }
    }
}

/// Runs a trusted program (npm) in our environment and collects its output. It is killed when this is dropped or when
/// this process ends.
pub(super) async fn output(program: &Path, arguments: &[&str], folder: &Path) -> io::Result<Output> {
    let script = format!("exec 3<&0 </dev/null\nnice -n {NICENESS} \"$@\" 3<&- &\n{SUPERVISE}");
    let (lifeline_reader, lifeline) = io::pipe()?;
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(script).arg("sh").arg(program).args(arguments);
    command.current_dir(folder).process_group(0).stdin(lifeline_reader).stdout(Stdio::piped()).stderr(Stdio::piped());
    let output = command.spawn()?.wait_with_output().await;
    drop(lifeline);
    output
}

/// Whether the shell reports that the program does not exist.
pub(super) fn is_missing(status: ExitStatus) -> bool {
    status.code() == Some(127)
}

/// Describes an exit status.
pub(super) fn describe_exit(status: ExitStatus) -> String {
    /// What a shell adds to the number of the signal that killed a program.
    const SIGNALLED: i32 = 128;
    match status.code() {
        Some(127) => "the program does not exist".to_owned(),
        Some(code) if code > SIGNALLED => format!("it was killed by signal {}", code - SIGNALLED),
        Some(code) => format!("it exited with status {code}"),
        None => status.signal().map_or("it exited".to_owned(), |signal| format!("it was killed by signal {signal}")),
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use tokio::io::AsyncWriteExt;

    use super::*;

    const BOUNDS: Bounds = Bounds { cpu: Duration::from_secs(60), address_space: None };

    async fn start(script: &str) -> (Process, ChildStdin, ChildStdout) {
        Process::start(Path::new("/bin/sh"), &["-c", script], BOUNDS, Path::new("/")).await.expect("a shell starts")
    }

    async fn wait_until_gone(process: u32) {
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
    async fn a_process_has_its_own_id_and_a_low_priority() {
        let (mut process, mut stdin, mut stdout) = start("read line; echo $$ $line; nice").await;
        assert!(process.is_running());
        stdin.write_all(b"hello\n").await.unwrap();
        let mut output = String::new();
        stdout.read_to_string(&mut output).await.unwrap();
        assert_eq!(output.lines().next().unwrap(), format!("{} hello", process.id()));
        assert!(output.lines().nth(1).unwrap().parse::<u8>().unwrap() >= NICENESS, "{output}");
        assert!(process.wait().await.unwrap().success());
    }

    #[tokio::test]
    async fn a_process_is_killed_when_its_handle_is_dropped() {
        let (process, _stdin, _stdout) = start("while :; do :; done").await;
        let id = process.id();
        drop(process);
        wait_until_gone(id).await;
        let (process, _stdin, _stdout) = start("while :; do :; done").await;
        let id = process.id();
        process.kill().await;
        wait_until_gone(id).await;
    }

    #[tokio::test]
    async fn what_a_process_has_started_is_killed_with_it() {
        let script = "sh -c 'echo $$; while :; do :; done'; echo";
        let (process, _stdin, mut stdout) = start(script).await;
        let child = read_id(&mut stdout).await.unwrap();
        assert_ne!(child, process.id());
        process.kill().await;
        wait_until_gone(child).await;

        let script = "sh -c 'echo $$; while :; do :; done' & read line; exit 5";
        let (mut process, mut stdin, mut stdout) = start(script).await;
        let child = read_id(&mut stdout).await.unwrap();
        stdin.write_all(b"go\n").await.unwrap();
        assert_eq!(process.wait().await.unwrap().code(), Some(5));
        wait_until_gone(child).await;
    }

    #[tokio::test]
    async fn exit_statuses_are_described() {
        let exit_of = async |script: &str| {
            let (mut process, _stdin, _stdout) = start(script).await;
            describe_exit(process.wait().await.unwrap())
        };
        assert_eq!(exit_of("exit 3").await, "it exited with status 3");
        assert_eq!(exit_of("kill -9 $$").await, "it was killed by signal 9");
        assert_eq!(exit_of("exec /nowhere/program").await, "the program does not exist");
    }

    #[tokio::test]
    async fn a_trusted_program_is_killed_when_its_future_is_dropped() {
        let printed =
            output(Path::new("/bin/sh"), &["-c", "echo out; echo err >&2; exit 4"], Path::new("/")).await.unwrap();
        assert_eq!((printed.stdout.as_slice(), printed.stderr.as_slice()), (&b"out\n"[..], &b"err\n"[..]));
        assert_eq!(printed.status.code(), Some(4));
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
        wait_until_gone(id).await;
    }
}
