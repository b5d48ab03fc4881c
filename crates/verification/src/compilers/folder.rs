//! Lists the compilers in a folder by file name. Whether the name is right is checked when the compiler first runs.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use domain::Language;

use super::CompilerVersion;

/// The platforms in the names of native builds, as the Solidity team writes them.
const PLATFORMS: [&str; 3] = ["linux-amd64-", "linux-arm64-", "macosx-amd64-"];

/// A compiler on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CompilerFile {
    /// JavaScript; newer ones contain WebAssembly.
    Soljson(PathBuf),
    /// A program with the options of solc.
    Native(PathBuf),
    /// A program with the options of vyper.
    NativeVyper(PathBuf),
    /// The Python of an environment with the package `vyper`.
    VyperPackage(PathBuf),
}

impl CompilerFile {
    pub(super) fn path(&self) -> &Path {
        match self {
            Self::Soljson(path) | Self::Native(path) | Self::NativeVyper(path) | Self::VyperPackage(path) => path,
        }
    }

    fn is_program(&self) -> bool {
        matches!(self, Self::Native(_) | Self::NativeVyper(_))
    }
}

/// The path of a downloaded JavaScript build.
pub(super) fn soljson_path(folder: &Path, version: &CompilerVersion) -> PathBuf {
    folder.join(format!("soljson-v{version}.js"))
}

/// A downloaded native build.
pub(super) fn native_file(folder: &Path, version: &CompilerVersion) -> CompilerFile {
    match version.language() {
        Language::Solidity => CompilerFile::Native(folder.join(format!("solc-v{version}"))),
        Language::Vyper => CompilerFile::NativeVyper(folder.join(format!("vyper-v{}", version.without_language()))),
    }
}

/// All compilers in a folder, native ones first.
pub(super) fn list(folder: &Path) -> io::Result<Vec<(CompilerVersion, CompilerFile)>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry?.path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
        found.extend(read_name(name, &path));
    }
    found.sort_by(|(one, found), (other, other_found)| {
        (!found.is_program(), one).cmp(&(!other_found.is_program(), other))
    });
    Ok(found)
}

fn read_name(name: &str, path: &Path) -> Option<(CompilerVersion, CompilerFile)> {
    if name.starts_with("vyper") { read_vyper(name, path) } else { read_solc(name, path) }
}

/// `soljson-v0.8.20+commit.a1b79de6.js`, `solc-v0.8.20`, `solc-linux-amd64-v0.8.20+commit.a1b79de6`, and the folder of
/// a package, `solc-0.8.20/soljson.js`.
fn read_solc(name: &str, path: &Path) -> Option<(CompilerVersion, CompilerFile)> {
    let parse = |text: &str| CompilerVersion::parse(text, Language::Solidity).ok();
    if let Some(version) = name.strip_prefix("soljson-").and_then(|rest| rest.strip_suffix(".js")) {
        return Some((parse(version)?, CompilerFile::Soljson(path.to_owned())));
    }
    let version = parse(without_platform(name.strip_prefix("solc-")?))?;
    let packed = path.join("soljson.js");
    if packed.is_file() {
        return Some((version, CompilerFile::Soljson(packed)));
    }
    path.is_file().then(|| (version, CompilerFile::Native(path.to_owned())))
}

/// `vyper.0.3.10+commit.91361694.linux`, as in Vyper's releases, `vyper-v0.3.10`, `vyper-linux-amd64-v0.3.10`, and the
/// folder of a Python environment, `vyper-0.3.10/bin/python`.
fn read_vyper(name: &str, path: &Path) -> Option<(CompilerVersion, CompilerFile)> {
    let rest = name.strip_prefix("vyper")?.strip_prefix(['.', '-'])?;
    if [".exe", ".sha256", ".new"].iter().any(|ending| rest.ends_with(ending)) {
        return None;
    }
    let rest = [".linux", ".darwin"].iter().find_map(|platform| rest.strip_suffix(platform)).unwrap_or(rest);
    let version = CompilerVersion::parse(without_platform(rest), Language::Vyper).ok()?;
    let python = path.join("bin/python");
    if python.is_file() {
        return Some((version, CompilerFile::VyperPackage(python)));
    }
    path.is_file().then(|| (version, CompilerFile::NativeVyper(path.to_owned())))
}

fn without_platform(rest: &str) -> &str {
    PLATFORMS.iter().find_map(|platform| rest.strip_prefix(platform)).unwrap_or(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compilers_are_recognised_by_name_and_native_ones_come_first() {
        let folder = tempfile::tempdir().unwrap();
        let touch = |name: &str| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        };
        for name in [
            "soljson-v0.8.20+commit.a1b79de6.js",
            "solc-linux-amd64-v0.8.20+commit.a1b79de6",
            "solc-0.4.26/soljson.js",
            "solc-v0.7.6",
            "solc-v0.7.6.sha256",
            "viem/index.js",
            "vyper.0.3.10+commit.91361694.linux",
            "vyper.0.3.10+commit.91361694.windows.exe",
            "vyper-0.4.3/bin/python",
            "vyper-v0.4.0",
            "vyper-v0.4.0.sha256",
            "vyper-notes.txt",
        ] {
            touch(name);
        }
        let found: Vec<(String, String)> = list(folder.path())
            .unwrap()
            .into_iter()
            .map(|(version, found)| {
                let path = found.path().strip_prefix(folder.path()).unwrap();
                (version.to_string(), path.display().to_string())
            })
            .collect();
        let expected = [
            ("vyper:0.3.10+commit.91361694", "vyper.0.3.10+commit.91361694.linux"),
            ("vyper:0.4.0", "vyper-v0.4.0"),
            ("0.7.6", "solc-v0.7.6"),
            ("0.8.20+commit.a1b79de6", "solc-linux-amd64-v0.8.20+commit.a1b79de6"),
            ("vyper:0.4.3", "vyper-0.4.3/bin/python"),
            ("0.4.26", "solc-0.4.26/soljson.js"),
            ("0.8.20+commit.a1b79de6", "soljson-v0.8.20+commit.a1b79de6.js"),
        ];
        assert_eq!(found, expected.map(|(version, path)| (version.to_owned(), path.to_owned())));
        assert_eq!(list(Path::new("/nowhere/at/all")).unwrap(), []);
    }
}
