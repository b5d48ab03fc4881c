use std::{
    fs,
    path::{Path, PathBuf},
};

/// All files of a folder at one moment, as left by a killed process.
pub(super) struct Image {
    pub(super) files: Vec<ImageFile>,
}

pub(super) struct ImageFile {
    pub(super) path: PathBuf,
    /// Without the zeros at the end.
    pub(super) bytes: Vec<u8>,
    length: u64,
}

impl Image {
    pub(super) fn of(folder: &Path) -> Self {
        let mut files = Vec::new();
        collect(folder, Path::new(""), &mut files);
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Self { files }
    }

    pub(super) fn write_to(&self, folder: &Path) {
        for ImageFile { path, bytes, length } in &self.files {
            let path = folder.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, bytes).unwrap();
            fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(*length).unwrap();
        }
    }
}

fn collect(root: &Path, within: &Path, files: &mut Vec<ImageFile>) {
    for entry in fs::read_dir(root.join(within)).unwrap() {
        let entry = entry.unwrap();
        let path = within.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            collect(root, &path, files);
            continue;
        }
        let mut bytes = fs::read(root.join(&path)).unwrap();
        let length = bytes.len() as u64;
        bytes.truncate(bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1));
        files.push(ImageFile { path, bytes, length });
    }
}
