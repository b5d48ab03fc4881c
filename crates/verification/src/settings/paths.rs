//! Common file names of sources.

const FOLDERS: [&str; 8] =
    ["contracts/", "", "src/", "browser/", "project:/contracts/", "project/contracts/", "flattened/", "/contracts/"];
const NAMES: [&str; 8] = ["Contract", "Token", "flat", "Flattened", "flattened", "contract", "token", "main"];
/// Contracts whose names are tried as the file name.
const TRIED_CONTRACTS: usize = 12;

/// Names to try for a single file, the most common first. `target` is the contract that is verified.
pub(crate) fn likely_paths<'a>(target: &'a str, contracts: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut stems = vec![target.to_owned()];
    stems.extend(contracts.into_iter().filter(|name| *name != target).take(TRIED_CONTRACTS).map(str::to_owned));
    stems.extend(
        ["_flat", "Flat", "_flattened", "Flattened", ".flat", ".flattened"].map(|end| format!("{target}{end}")),
    );
    stems.extend(NAMES.map(str::to_owned));
    let mut paths: Vec<String> = Vec::with_capacity(stems.len() * FOLDERS.len() + 3);
    for stem in &stems {
        paths.extend(FOLDERS.map(|folder| format!("{folder}{stem}.sol")));
    }
    paths.extend(["", "<stdin>", "temp.sol", "input.sol", "Source.sol"].map(str::to_owned));
    let mut seen = std::collections::HashSet::new();
    paths.retain(|path| seen.insert(path.clone()));
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_contract_s_own_name_is_tried_first_and_nothing_twice() {
        let paths = likely_paths("Coin", ["Owned", "Coin", "Token"]);
        assert_eq!(paths[..3], ["contracts/Coin.sol", "Coin.sol", "src/Coin.sol"]);
        assert!(paths.contains(&"browser/Owned.sol".to_owned()) && paths.contains(&String::new()));
        let mut sorted = paths.clone();
        sorted.sort();
        sorted.dedup();
        assert_eq!(sorted.len(), paths.len());
    }
}
