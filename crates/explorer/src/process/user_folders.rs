//! The folders of a user, as the XDG specification and macOS name them.

use std::path::PathBuf;

#[cfg(feature = "demo")]
pub(crate) fn cache() -> Option<PathBuf> {
    folder("XDG_CACHE_HOME", if cfg!(target_os = "macos") { "Library/Caches" } else { ".cache" })
}

pub(crate) fn config() -> Option<PathBuf> {
    folder("XDG_CONFIG_HOME", if cfg!(target_os = "macos") { "Library/Application Support" } else { ".config" })
}

pub(crate) fn data() -> Option<PathBuf> {
    folder("XDG_DATA_HOME", if cfg!(target_os = "macos") { "Library/Application Support" } else { ".local/share" })
}

/// None for a user without a home folder.
fn folder(variable: &str, in_home: &str) -> Option<PathBuf> {
    // The specification demands that other paths are ignored.
    let given = std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute());
    let given = given.filter(|_| !cfg!(target_os = "macos"));
    given.or_else(|| Some(std::env::home_dir().filter(|home| !home.as_os_str().is_empty())?.join(in_home)))
}
