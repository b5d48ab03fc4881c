//! A PostgreSQL server in a temporary folder, with databases for tests.

use std::{
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use store_postgres::{PostgresOptions, PostgresStore};
use tempfile::TempDir;
use tokio_postgres::{Client, NoTls};

/// The server does not run as root: then it runs as this user.
const UNPRIVILEGED: &str = "nobody";

pub(crate) const DEFAULT_PORT: u16 = 5_432;

/// Stops when it is dropped, also by a panic.
pub(crate) struct Server {
    folder: TempDir,
    programs: PathBuf,
    databases: AtomicU32,
    /// Settings besides the common ones, as `-c` options.
    settings: String,
    /// Also part of the name of the socket.
    port: u16,
}

/// The server that tests share while any of them runs.
static SHARED: Mutex<Weak<Server>> = Mutex::new(Weak::new());

impl Server {
    /// For tests that leave the server running.
    pub(crate) fn shared() -> Arc<Self> {
        super::before_server();
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        let server = shared.upgrade().unwrap_or_else(|| Arc::new(Self::start()));
        *shared = Arc::downgrade(&server);
        server
    }

    /// Starts a server that listens on a socket in its folder.
    pub(crate) fn start() -> Self {
        let server = Self::prepare();
        server.init();
        server.run_up();
        server
    }

    /// Starts a server that listens on a port of localhost, with a certificate for that name. Returns the certificate of
    /// its authority, too.
    pub(crate) fn start_with_tls() -> (Self, PathBuf) {
        let mut authority = CertificateParams::new(Vec::new()).unwrap();
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority_key = KeyPair::generate().unwrap();
        let authority_pem = authority.self_signed(&authority_key).unwrap().pem();
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new(vec!["localhost".to_owned()])
            .unwrap()
            .signed_by(&key, &Issuer::new(authority, authority_key))
            .unwrap();
        let mut server = Self::prepare();
        let [authority_file, certificate_file, key_file] =
            ["authority.pem", "server.pem", "server.key"].map(|name| server.folder.path().join(name));
        std::fs::write(&authority_file, authority_pem).unwrap();
        std::fs::write(&certificate_file, certificate.pem()).unwrap();
        std::fs::write(&key_file, key.serialize_pem()).unwrap();
        server.give(&key_file, 0o600);
        // Free until the server takes it, unless another process is quicker.
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        server.port = port;
        server.settings = format!(
            "-c listen_addresses=localhost -c port={port} -c ssl=on -c ssl_cert_file={} -c ssl_key_file={}",
            certificate_file.display(),
            key_file.display()
        );
        server.init();
        server.run_up();
        (server, authority_file)
    }

    /// A copy of this server that follows it.
    pub(crate) fn start_standby(&self) -> Self {
        let standby = Self::prepare();
        let from = self.folder.path().display().to_string();
        let to = standby.data().display().to_string();
        standby.run(
            "pg_basebackup",
            &["--host", &from, "--username=explorer", "--pgdata", &to, "--write-recovery-conf", "--checkpoint=fast"],
        );
        standby.run_up();
        standby
    }

    /// Makes a standby the server that can be written.
    pub(crate) fn promote(&self) {
        self.run("pg_ctl", &["promote", "--wait", "--silent", "--timeout=60"]);
    }

    fn prepare() -> Self {
        super::before_server();
        let folder = tempfile::Builder::new().prefix("postgres").tempdir_in("/tmp").unwrap();
        let server = Self {
            folder,
            programs: programs(),
            databases: AtomicU32::new(0),
            settings: "-c listen_addresses=".to_owned(),
            port: DEFAULT_PORT,
        };
        let data = server.data();
        std::fs::create_dir(&data).unwrap();
        server.give(server.folder.path(), 0o755);
        server.give(&data, 0o700);
        server
    }

    fn init(&self) {
        self.run("initdb", &["--auth=trust", "--username=explorer", "--encoding=UTF8", "--no-locale", "--no-sync"]);
    }

    /// Gives a file or folder to the user of the server.
    pub(crate) fn give(&self, path: &Path, mode: u32) {
        give(path, mode);
    }

    /// Where its socket is.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn run(&self, program: &str, arguments: &[&str]) {
        let output = self.command(program).args(arguments).output().unwrap();
        assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    }

    fn command(&self, program: &str) -> Command {
        let mut command = unprivileged(&self.programs.join(program));
        command.current_dir(self.folder.path()).env("PGDATA", self.data()).stdin(Stdio::null());
        command
    }

    /// Starts the server again after [`Self::kill`].
    pub(crate) fn run_up(&self) {
        let folder = self.folder.path().display();
        let options = format!(
            "{} -c unix_socket_directories={folder} -c fsync=off -c max_connections=300 -c shared_buffers=32MB \
             -c autovacuum_naptime=10s -c log_min_messages=fatal",
            self.settings
        );
        let log = self.folder.path().join("log");
        let mut command = self.command("pg_ctl");
        command.args(["start", "--wait", "--silent", "--timeout=60", "--log"]).arg(&log).args(["--options", &options]);
        // The server inherits the output.
        let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
        assert!(status.success(), "{}", std::fs::read_to_string(log).unwrap_or_default());
    }

    /// Ends all processes of the server at once, as a crash does.
    pub(crate) fn kill(&self) {
        self.run("pg_ctl", &["stop", "--mode=immediate", "--silent", "--timeout=30"]);
    }

    /// A connection that is not one of a store.
    pub(crate) async fn connect(&self, url: &str) -> Client {
        let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
        tokio::spawn(connection);
        client
    }

    /// A new database.
    pub(crate) async fn database(&self) -> String {
        let name = format!("test{}", self.databases.fetch_add(1, Ordering::Relaxed));
        let client = self.connect(&self.url("postgres")).await;
        client.batch_execute(&format!("create database {name}")).await.unwrap();
        self.url(&name)
    }

    /// An empty store in a new database.
    pub(crate) async fn store(&self) -> PostgresStore {
        open(&self.database().await).await
    }

    pub(crate) fn url(&self, database: &str) -> String {
        format!("postgres://explorer@{}:{}/{database}", self.host(), self.port)
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// As in a URL.
    pub(crate) fn host(&self) -> String {
        self.folder.path().display().to_string().replace('/', "%2F")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let mut stop = self.command("pg_ctl");
        let _ = stop.args(["stop", "--mode=immediate", "--silent", "--timeout=30"]).output();
    }
}

/// A program that does not run as root.
pub(crate) fn unprivileged(program: &Path) -> Command {
    if !rustix::process::geteuid().is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid", UNPRIVILEGED, "--regid", "nogroup", "--clear-groups", "--"]).arg(program);
    command
}

/// Gives a file or folder to the user of such programs.
pub(crate) fn give(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    if rustix::process::geteuid().is_root() {
        assert!(Command::new("chown").arg(UNPRIVILEGED).arg(path).status().unwrap().success());
    }
}

/// A busy machine answers late. Lists are short, and so are the steps in which they are walked.
pub(crate) fn options() -> PostgresOptions {
    PostgresOptions { connections: 8, timeout: Duration::from_secs(120), list_step: 16, ..PostgresOptions::default() }
}

pub(crate) async fn open(url: &str) -> PostgresStore {
    PostgresStore::open(url, options()).await.unwrap()
}

/// The folder of the newest installed version, or of the one on the path.
pub(crate) fn programs() -> PathBuf {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
    let mut folders: Vec<(u32, PathBuf)> = versions
        .filter_map(|version| {
            let version = version.ok()?;
            Some((version.file_name().to_str()?.parse().ok()?, version.path().join("bin")))
        })
        .collect();
    folders.sort_unstable();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders = folders.into_iter().rev().map(|(_, folder)| folder).chain(std::env::split_paths(&path));
    folders.find(|folder| folder.join("initdb").exists()).expect("PostgreSQL is installed")
}
