//! The packages that deploy/release makes of the binary under test.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use super::DEPLOY;
use crate::support::permits;

const VERSION: &str = concat!("explorer ", env!("CARGO_PKG_VERSION"), "\n");

fn run(program: impl AsRef<std::ffi::OsStr>, arguments: &[&str]) -> Output {
    permits::enter();
    let program = program.as_ref();
    Command::new(program).args(arguments).output().unwrap_or_else(|error| panic!("{program:?}: {error}"))
}

/// The standard output of a program that must succeed.
fn printed(program: impl AsRef<std::ffi::OsStr>, arguments: &[&str]) -> String {
    let output = run(program, arguments);
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Packages the binary under test, which is built already. The SBOM needs a program that takes a minute to build.
fn release(out: &Path, more: &[&str]) -> Output {
    let binary = env!("CARGO_BIN_EXE_explorer");
    let options = ["--binary", binary, "--out", out.to_str().unwrap(), "--fast", "--without-sbom"];
    run(format!("{DEPLOY}/release"), &[&options, more].concat())
}

fn only_file(folder: &Path, end: &str) -> PathBuf {
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let found: Vec<PathBuf> = files.filter(|path| path.to_str().unwrap().ends_with(end)).collect();
    assert_eq!(found.len(), 1, "{end}: {found:?}");
    found.into_iter().next().unwrap()
}

#[test]
fn packages_contain_a_binary_that_runs_and_all_that_belongs_to_it() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let output = release(&out, &[]);
    assert!(output.status.success(), "{output:?}");
    let checked =
        Command::new("sha256sum").args(["--check", "--strict", "SHA256SUMS"]).current_dir(&out).output().unwrap();
    assert!(checked.status.success(), "{checked:?}");

    let (tarball, unpacked) = (only_file(&out, ".tar.gz"), folder.path().join("unpacked"));
    fs::create_dir(&unpacked).unwrap();
    printed("tar", &["-xzf", tarball.to_str().unwrap(), "-C", unpacked.to_str().unwrap()]);
    let inside = only_file(&unpacked, "");
    assert_eq!(printed(inside.join("explorer"), &["--version"]), VERSION);
    for file in [
        "LICENSE",
        "README.md",
        "man/man1/explorer-run.1",
        "completions/explorer.bash",
        "completions/_explorer",
        "completions/explorer.fish",
        "systemd/explorer.service",
        "systemd/explorer.env",
        "systemd/explorer.toml",
    ] {
        assert!(inside.join(file).metadata().unwrap().len() > 100, "{file}");
    }

    let (deb, root) = (only_file(&out, ".deb"), folder.path().join("root"));
    let deb = deb.to_str().unwrap();
    printed("dpkg-deb", &["--extract", deb, root.to_str().unwrap()]);
    assert_eq!(printed(root.join("usr/bin/explorer"), &["--version"]), VERSION);
    for file in [
        "usr/lib/systemd/system/explorer.service",
        "usr/share/man/man1/explorer.1.gz",
        "usr/share/bash-completion/completions/explorer",
        "usr/share/zsh/vendor-completions/_explorer",
        "usr/share/fish/vendor_completions.d/explorer.fish",
        "usr/share/doc/explorer/copyright",
        "etc/explorer/explorer.toml",
    ] {
        let mode = root.join(file).metadata().unwrap_or_else(|error| panic!("{file}: {error}")).permissions().mode();
        assert_eq!(mode & 0o777, 0o644, "{file}");
    }
    let settings = root.join("etc/explorer/explorer.env").metadata().unwrap();
    assert_eq!(settings.permissions().mode() & 0o777, 0o600, "it may contain a password");
    assert_eq!(printed("dpkg-deb", &["--field", deb, "Version"]).trim(), env!("CARGO_PKG_VERSION"));
    assert_eq!(
        printed("dpkg-deb", &["--info", deb, "conffiles"]),
        "/etc/explorer/explorer.env\n/etc/explorer/explorer.toml\n"
    );
    let libc = printed("dpkg-deb", &["--field", deb, "Depends"]);
    let symbols = printed("objdump", &["--dynamic-syms", env!("CARGO_BIN_EXE_explorer")]);
    let versions = symbols.split("GLIBC_").skip(1).map(|rest| rest.split([')', ' ']).next().unwrap());
    let number = |version: &str| version.split('.').map(|part| part.parse().unwrap()).collect::<Vec<u32>>();
    let newest = versions.max_by_key(|version| number(version)).unwrap();
    assert!(libc.contains(&format!("libc6 (>= {newest})")), "{libc} for {newest}");

    // The same input gives the same bytes.
    let again = folder.path().join("again");
    assert!(release(&again, &[]).status.success());
    let sums = |folder: &Path| fs::read_to_string(folder.join("SHA256SUMS")).unwrap();
    assert_eq!(sums(&out), sums(&again));
}

#[test]
fn a_binary_that_needs_a_later_glibc_than_promised_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let output = release(&folder.path().join("out"), &["--glibc", "2.2"]);
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && error.contains("requires glibc"), "{error}");
}

/// Programs that only write down how they were called.
fn recorders(folder: &Path, names: &[&str]) -> PathBuf {
    let log = folder.join("log");
    for name in names {
        let file = folder.join(name);
        fs::write(&file, format!("#!/bin/sh\necho \"{name} $*\" >>'{}'\n", log.display())).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    }
    log
}

#[test]
fn the_debian_package_creates_its_user_once_and_keeps_the_data() {
    let folder = tempfile::tempdir().unwrap();
    let log = recorders(folder.path(), &["adduser", "systemctl", "install", "rm", "deluser"]);
    let absent = folder.path().join("getent");
    fs::write(&absent, "#!/bin/sh\n[ -e \"$0.found\" ]\n").unwrap();
    fs::set_permissions(&absent, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap());
    let mut called = BTreeMap::new();
    for (script, arguments) in [
        ("postinst", &["configure"][..]),
        ("postinst", &["configure", "0.0.9"]),
        ("postinst", &["abort-upgrade", "0.0.9"]),
        ("prerm", &["upgrade", "0.2.0"]),
        ("prerm", &["remove"]),
        ("postrm", &["remove"]),
        ("postrm", &["purge"]),
    ] {
        let mut command = Command::new("sh");
        command.arg(format!("{DEPLOY}/debian/{script}")).args(arguments).env("PATH", &path);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{script} {arguments:?}: {output:?}");
        let calls = fs::read_to_string(&log).unwrap_or_default();
        let _ = fs::remove_file(&log);
        called.insert((script, arguments), calls);
        fs::write(folder.path().join("getent.found"), "").unwrap();
    }
    let data = "install -d -m 0700 -o explorer -g explorer /var/lib/explorer\n";
    let first = &called[&("postinst", &["configure"][..])];
    assert!(first.starts_with("adduser --system --group") && first.contains(data), "{first}");
    assert!(called[&("postinst", &["configure", "0.0.9"][..])].starts_with(data), "{called:?}");
    for (call, calls) in &called {
        assert!(!calls.contains("rm ") && !calls.contains("deluser"), "{call:?}: {calls}");
    }
}
