//! What a folder of compilers holds. Files are known by their names; whether a name tells the truth is found out when
//! the compiler is first run.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::CompilerVersion;

/// A compiler on the disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Found {
    /// JavaScript, with WebAssembly in it if it is new enough.
    Soljson(PathBuf),
    Native(PathBuf),
}

impl Found {
    pub(super) fn path(&self) -> &Path {
        match self {
            Self::Soljson(path) | Self::Native(path) => path,
        }
    }
}

/// Where a fetched build of JavaScript is put.
pub(super) fn place_of_soljson(folder: &Path, version: &CompilerVersion) -> PathBuf {
    folder.join(format!("soljson-v{version}.js"))
}

/// Where a fetched native build is put.
pub(super) fn place_of_native(folder: &Path, version: &CompilerVersion) -> PathBuf {
    folder.join(format!("solc-v{version}"))
}

/// All compilers that a folder holds, native ones first.
pub(super) fn list(folder: &Path) -> io::Result<Vec<(CompilerVersion, Found)>> {
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
        let is_script = |found: &Found| matches!(found, Found::Soljson(_));
        (is_script(found), one).cmp(&(is_script(other_found), other))
    });
    Ok(found)
}

/// `soljson-v0.8.20+commit.a1b79de6.js`, `solc-v0.8.20`, `solc-linux-amd64-v0.8.20+commit.a1b79de6`, and the folder of
/// a package, `solc-0.8.20/soljson.js`.
fn read_name(name: &str, path: &Path) -> Option<(CompilerVersion, Found)> {
    if let Some(version) = name.strip_prefix("soljson-").and_then(|rest| rest.strip_suffix(".js")) {
        return Some((version.parse().ok()?, Found::Soljson(path.to_owned())));
    }
    let rest = name.strip_prefix("solc-")?;
    let rest = ["linux-amd64-", "linux-arm64-", "macosx-amd64-"]
        .iter()
        .find_map(|platform| rest.strip_prefix(platform))
        .unwrap_or(rest);
    let version = rest.parse().ok()?;
    let packed = path.join("soljson.js");
    if packed.is_file() {
        return Some((version, Found::Soljson(packed)));
    }
    path.is_file().then(|| (version, Found::Native(path.to_owned())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compilers_are_known_by_their_names_and_native_ones_go_first() {
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
