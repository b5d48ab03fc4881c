//! Lists the compilers in a folder by file name. Whether the name is right is checked when the compiler first runs.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::CompilerVersion;

/// A compiler on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CompilerFile {
    /// JavaScript; newer ones contain WebAssembly.
    Soljson(PathBuf),
    Native(PathBuf),
}

impl CompilerFile {
    pub(super) fn path(&self) -> &Path {
        match self {
            Self::Soljson(path) | Self::Native(path) => path,
        }
    }
}

/// The path of a downloaded JavaScript build.
pub(super) fn soljson_path(folder: &Path, version: &CompilerVersion) -> PathBuf {
    folder.join(format!("soljson-v{version}.js"))
}

/// The path of a downloaded native build.
pub(super) fn native_path(folder: &Path, version: &CompilerVersion) -> PathBuf {
    folder.join(format!("solc-v{version}"))
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
        let is_script = |found: &CompilerFile| matches!(found, CompilerFile::Soljson(_));
        (is_script(found), one).cmp(&(is_script(other_found), other))
    });
    Ok(found)
}

/// `soljson-v0.8.20+commit.a1b79de6.js`, `solc-v0.8.20`, `solc-linux-amd64-v0.8.20+commit.a1b79de6`, and the folder of
/// a package, `solc-0.8.20/soljson.js`.
fn read_name(name: &str, path: &Path) -> Option<(CompilerVersion, CompilerFile)> {
    if let Some(version) = name.strip_prefix("soljson-").and_then(|rest| rest.strip_suffix(".js")) {
        return Some((version.parse().ok()?, CompilerFile::Soljson(path.to_owned())));
    }
    let rest = name.strip_prefix("solc-")?;
    let rest = ["linux-amd64-", "linux-arm64-", "macosx-amd64-"]
        .iter()
        .find_map(|platform| rest.strip_prefix(platform))
        .unwrap_or(rest);
    let version = rest.parse().ok()?;
    let packed = path.join("soljson.js");
    if packed.is_file() {
        return Some((version, CompilerFile::Soljson(packed)));
    }
    path.is_file().then(|| (version, CompilerFile::Native(path.to_owned())))
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
            ("0.7.6", "solc-v0.7.6"),
            ("0.8.20+commit.a1b79de6", "solc-linux-amd64-v0.8.20+commit.a1b79de6"),
            ("0.4.26", "solc-0.4.26/soljson.js"),
            ("0.8.20+commit.a1b79de6", "soljson-v0.8.20+commit.a1b79de6.js"),
        ];
        assert_eq!(found, expected.map(|(version, path)| (version.to_owned(), path.to_owned())));
        assert_eq!(list(Path::new("/nowhere/at/all")).unwrap(), []);
    }
}
