use std::{
    io::{BufRead, BufReader, Read},
    process::{Child, Command, ExitStatus, Stdio},
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

use tempfile::TempDir;

use super::{Stopwatch, eventually, permits};

#[derive(Debug, Clone, Copy)]
pub(crate) enum Signal {
    /// Ctrl-C.
    Interrupt,
    Terminate,
}

/// The longest that a program of another language takes, on a busy machine.
const MAX_RUN: Duration = Duration::from_secs(1_200);

/// Runs a program to its end, and kills it if it does not end.
pub(crate) async fn output(command: Command) -> std::process::Output {
    permits::enter();
    let mut command = tokio::process::Command::from(command);
    let run = command.kill_on_drop(true).output();
    let Ok(output) = tokio::time::timeout(MAX_RUN, run).await else {
        panic!("does not end within {MAX_RUN:?}: {command:?}")
    };
    output.unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"))
}

/// Arguments of `unshare` that allow mounting a file system; None if the system does not permit it.
pub(crate) fn mount_namespace_arguments() -> Option<&'static [&'static str]> {
    let ways: [&[&str]; 2] = [&["-m"], &["-rm"]];
    ways.into_iter().find(|way| {
        let tried = Command::new("unshare").args(*way).args(["sh", "-c", "mount -t tmpfs tmpfs /mnt"]).output();
        tried.is_ok_and(|output| output.status.success())
    })
}

/// The exit status of a process, and how long it took to stop on an idle machine.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) took: Duration,
    /// What it wrote to stderr.
    #[allow(dead_code, reason = "shown by an assertion that fails")]
    pub(crate) log: String,
}

/// A child process with captured output. It never outlives the test.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    guard: Child,
    stdout: Output,
    stderr: Output,
    /// Folders that must exist while the process runs.
    folders: Vec<Arc<TempDir>>,
}

impl Process {
    pub(crate) fn spawn(command: &mut Command) -> Self {
        permits::enter();
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
        let guard = guard_of(child.id());
        let stdout = Output::read(child.stdout.take().unwrap());
        let stderr = Output::read(child.stderr.take().unwrap());
        Self { child, guard, stdout, stderr, folders: Vec::new() }
    }

    /// Keeps a folder until the process has ended.
    pub(crate) fn keep(&mut self, folder: Arc<TempDir>) {
        self.folders.push(folder);
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Resident memory, in megabytes.
    pub(crate) fn resident_megabytes(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() / 1_024
    }

    pub(crate) fn stdout(&self) -> String {
        self.stdout.text()
    }

    pub(crate) fn stderr(&self) -> String {
        self.stderr.text()
    }

    /// The rest of the first stdout line that contains `mark`.
    pub(crate) async fn printed(&mut self, mark: &str) -> String {
        eventually(&format!("{mark:?} on the standard output"), async || {
            if let Some(status) = self.child.try_wait().unwrap() {
                panic!("ended with {status} before it printed {mark:?}:\n{}{}", self.stdout(), self.stderr());
            }
            let text = self.stdout();
            // Wait for the end of the line.
            let (_, found) = text.split_once(mark)?;
            found.split_once('\n').map(|(rest, _)| rest.trim().to_owned())
        })
        .await
    }

    pub(crate) async fn ended(&mut self) -> ExitStatus {
        let status = eventually("the end of the process", async || self.child.try_wait().unwrap()).await;
        self.stdout.finish();
        self.stderr.finish();
        status
    }

    pub(crate) async fn stop(&mut self, signal: Signal) -> Ended {
        let name = match signal {
            Signal::Interrupt => "INT",
            Signal::Terminate => "TERM",
        };
        let watch = Stopwatch::start();
        shell(&format!("kill -{name} {}", self.child.id())).status().unwrap();
        let status = self.ended().await;
        Ended { status, took: watch.elapsed(), log: self.stderr() }
    }

    pub(crate) fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// SIGSTOP: it keeps everything, and does nothing.
    pub(crate) fn pause(&self) {
        shell(&format!("kill -STOP {}", self.child.id())).status().unwrap();
    }

    /// SIGCONT.
    pub(crate) fn resume(&self) {
        shell(&format!("kill -CONT {}", self.child.id())).status().unwrap();
    }

    /// SIGKILL.
    pub(crate) fn kill(&mut self) {
        // Fails only if it has already ended.
        let _ = self.child.kill();
        self.child.wait().unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.guard.kill();
        let _ = self.guard.wait();
        let _ = self.child.kill();
        let _ = self.child.wait();
        if thread::panicking() {
            println!("--- output\n{}--- log\n{}", self.stdout(), self.stderr());
        }
    }
}

/// Kills the process when the test binary ends in any way: its end closes the pipe.
fn guard_of(id: u32) -> Child {
    shell(&format!("read _; kill -9 {id} 2>/dev/null")).stdin(Stdio::piped()).spawn().unwrap()
}

fn shell(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    command
}

#[derive(Debug)]
struct Output {
    text: Arc<Mutex<String>>,
    reader: Option<thread::JoinHandle<()>>,
}

impl Output {
    fn read(pipe: impl Read + Send + 'static) -> Self {
        let text = Arc::<Mutex<String>>::default();
        let kept = Arc::clone(&text);
        let reader = thread::spawn(move || {
            let mut lines = BufReader::new(pipe);
            let mut line = Vec::new();
            while lines.read_until(b'\n', &mut line).is_ok_and(|bytes| bytes > 0) {
                kept.lock().unwrap().push_str(&String::from_utf8_lossy(&line));
                line.clear();
            }
        });
        Self { text, reader: Some(reader) }
    }

    fn text(&self) -> String {
        self.text.lock().unwrap().clone()
    }

    /// Reads the remaining output of a process that has ended.
    fn finish(&mut self) {
        if let Some(reader) = self.reader.take() {
            reader.join().unwrap();
        }
    }
}
