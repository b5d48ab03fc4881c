//! Lists the files in `migrations`, so that a migration is a file and nothing else.

use std::{env, error::Error, fmt::Write, fs, path::PathBuf};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("migrations");
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Result<_, std::io::Error>>()?;
    files.sort();
    let mut list = "[\n".to_owned();
    for (number, file) in (1..).zip(files) {
        let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if !name.starts_with(&format!("{number:04}_")) || !name.ends_with(".sql") {
            return Err(format!("migrations/{name} should be {number:04}_<what>.sql").into());
        }
        writeln!(list, "    include_str!({file:?}),")?;
    }
    list.push(']');
    fs::write(PathBuf::from(env::var("OUT_DIR")?).join("migrations.rs"), list)?;
    Ok(())
}
