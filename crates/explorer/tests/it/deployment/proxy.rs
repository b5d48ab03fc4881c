//! Proxies that are started with configurations of the repository.

use std::{path::Path, process::Command};

use tempfile::TempDir;

use crate::support::{Port, eventually, process::Process};

/// For a configuration of nginx that runs without rights of its own, in the folder of the test.
pub(super) const TEMPORARY_FOLDERS: &str = "client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; \
    uwsgi_temp_path uwsgi; scgi_temp_path scgi;";

/// A running proxy.
pub(super) struct Proxy {
    _process: Process,
    _folder: TempDir,
    /// Those that it listens on.
    _ports: Vec<Port>,
}

impl Proxy {
    /// nginx with this configuration, which listens on the ports.
    pub(super) async fn nginx(config: &str, ports: Vec<Port>) -> Self {
        let (folder, file) = folder_with("nginx.conf", config);
        let mut command = Command::new("/usr/sbin/nginx");
        command.arg("-c").arg(&file).arg("-p").arg(folder.path()).args(["-e", "stderr"]);
        command.arg("-g").arg(format!("daemon off; pid {};", folder.path().join("pid").display()));
        Self::start(command, folder, ports).await
    }

    /// Caddy with this Caddyfile, which listens on the port.
    pub(super) async fn caddy(config: &str, port: Port) -> Self {
        let (folder, file) = folder_with("Caddyfile", config);
        let mut command = Command::new(caddy_program());
        command.args(["run", "--adapter", "caddyfile", "--config"]).arg(&file);
        for variable in ["HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"] {
            command.env(variable, folder.path());
        }
        Self::start(command, folder, vec![port]).await
    }

    async fn start(mut command: Command, folder: TempDir, ports: Vec<Port>) -> Self {
        let process = Process::spawn(&mut command);
        for port in &ports {
            eventually("the proxy listens", async || {
                std::net::TcpStream::connect(port.address()).is_ok().then_some(())
            })
            .await;
        }
        Self { _process: process, _folder: folder, _ports: ports }
    }
}

fn folder_with(name: &str, text: &str) -> (TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let file = Path::new(folder.path()).join(name);
    std::fs::write(&file, text).unwrap();
    (folder, file)
}

pub(super) fn caddy_program() -> String {
    std::env::var("CADDY_BIN").unwrap_or_else(|_| "caddy".to_owned())
}
