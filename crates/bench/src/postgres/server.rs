//! A PostgreSQL server in a temporary folder, with its default settings but for memory.

use std::{
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, bail, ensure};
use tempfile::TempDir;

use crate::explorer::cpu_seconds;

/// The server does not run as root: then it runs as this user.
const UNPRIVILEGED: &str = "nobody";
/// The unit of CPU time in /proc.
const TICKS_PER_SECOND: f64 = 100.0;

/// Stops when it is dropped.
pub(super) struct Server {
    folder: TempDir,
    programs: PathBuf,
}

impl Server {
    pub(super) fn start() -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new().prefix("postgres").tempdir_in("/tmp")?;
        let server = Self { folder, programs: programs()? };
        std::fs::create_dir(server.data())?;
        for path in [server.folder.path(), &server.data()] {
            give(path)?;
        }
        server.run("initdb", &["--auth=trust", "--username=explorer", "--encoding=UTF8", "--no-locale"])?;
        let options = format!(
            "-c listen_addresses= -c unix_socket_directories={} -c shared_buffers=512MB -c max_wal_size=4GB",
            server.folder.path().display()
        );
        let log = server.folder.path().join("log").display().to_string();
        server.run("pg_ctl", &["start", "--wait", "--silent", "--log", &log, "--options", &options])?;
        Ok(server)
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn run(&self, program: &str, arguments: &[&str]) -> anyhow::Result<()> {
        let mut command = self.command(program);
        // The server inherits the output.
        let status = command.args(arguments).stdout(Stdio::null()).status()?;
        ensure!(status.success(), "{program} failed");
        Ok(())
    }

    fn command(&self, program: &str) -> Command {
        let program = self.programs.join(program);
        let mut command = if is_root() {
            let mut command = Command::new("setpriv");
            command.args(["--reuid", UNPRIVILEGED, "--regid", "nogroup", "--clear-groups", "--"]).arg(program);
            command
        } else {
            Command::new(program)
        };
        command.current_dir(self.folder.path()).env("PGDATA", self.data()).stdin(Stdio::null());
        command
    }

    /// A new database.
    pub(super) fn database(&self, name: &str) -> anyhow::Result<String> {
        self.query("postgres", &format!("create database {name}"))?;
        let host = self.folder.path().display().to_string().replace('/', "%2F");
        Ok(format!("postgres://explorer@{host}/{name}"))
    }

    /// Runs SQL, and returns what it prints.
    pub(super) fn query(&self, database: &str, sql: &str) -> anyhow::Result<String> {
        let host = self.folder.path().display().to_string();
        let arguments = ["--no-psqlrc", "--tuples-only", "--no-align", "--username=explorer", "--host", &host];
        let output = self.command("psql").args(arguments).args(["--dbname", database, "--command", sql]).output()?;
        if !output.status.success() {
            bail!("{sql}: {}", String::from_utf8_lossy(&output.stderr));
        }
        Ok(String::from_utf8(output.stdout)?.trim().to_owned())
    }

    /// CPU seconds of all its processes so far, those that ended included.
    pub(super) fn cpu_seconds(&self) -> anyhow::Result<f64> {
        let file = std::fs::read_to_string(self.data().join("postmaster.pid"))?;
        let main: u32 = file.lines().next().context("no process id")?.trim().parse()?;
        let mut seconds = cpu_seconds(main)? + ended_children_seconds(main)?;
        for entry in std::fs::read_dir("/proc")? {
            let Some(process) = entry?.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
            if parent(process) == Some(main) {
                // One that ends meanwhile is counted the next time.
                seconds += cpu_seconds(process).unwrap_or_default();
            }
        }
        Ok(seconds)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.run("pg_ctl", &["stop", "--mode=immediate", "--silent"]);
    }
}

/// The numbers of a process after its name.
fn numbers(process: u32) -> anyhow::Result<Vec<i64>> {
    let fields = std::fs::read_to_string(format!("/proc/{process}/stat"))?;
    let after_name = fields.rsplit(')').next().unwrap_or_default();
    Ok(after_name.split_whitespace().skip(1).map(|field| field.parse().unwrap_or_default()).collect())
}

fn parent(process: u32) -> Option<u32> {
    numbers(process).ok()?.first().and_then(|parent| u32::try_from(*parent).ok())
}

fn ended_children_seconds(process: u32) -> anyhow::Result<f64> {
    let ticks: i64 = numbers(process)?.iter().skip(12).take(2).sum();
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    let ticks = ticks as f64;
    Ok(ticks / TICKS_PER_SECOND)
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output();
    id.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

/// Gives a folder to the user of the server.
fn give(folder: &Path) -> anyhow::Result<()> {
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o750))?;
    if is_root() {
        std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o755))?;
        ensure!(Command::new("chown").arg(UNPRIVILEGED).arg(folder).status()?.success(), "cannot give a folder away");
        if folder.ends_with("data") {
            std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o700))?;
        }
    }
    Ok(())
}

/// The newest installed version. Debian keeps its programs off the PATH.
fn programs() -> anyhow::Result<PathBuf> {
    let mut versions: Vec<PathBuf> = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path().join("bin")))
        .filter(|folder| folder.join("initdb").exists())
        .collect();
    versions.sort();
    let on_path = std::env::var_os("PATH")
        .and_then(|paths| std::env::split_paths(&paths).find(|folder| folder.join("initdb").exists()));
    versions.pop().or(on_path).context("no PostgreSQL server: install postgresql")
}
