//! File operations of a process in a folder, parsed from the output of strace.

use std::{
    collections::{BTreeMap, HashMap},
    path::{Path, PathBuf},
};

use store_conformance::DurableData;

/// Identifies a file independently of its name.
pub(super) type Inode = usize;

#[derive(Debug)]
pub(super) enum Operation {
    CreateFile { path: PathBuf, inode: Inode },
    CreateFolder { path: PathBuf },
    Write { inode: Inode, offset: u64, bytes: Vec<u8> },
    SetLength { inode: Inode, length: u64 },
    Rename { from: PathBuf, to: PathBuf },
    Remove { path: PathBuf },
    SyncFile { inode: Inode },
    SyncFolder,
    Acknowledge { what: String },
}

pub(super) struct Recording {
    pub(super) operations: Vec<Operation>,
}

struct Parser {
    root: PathBuf,
    log: PathBuf,
    operations: Vec<Operation>,
    names: HashMap<PathBuf, Inode>,
    folders: Vec<PathBuf>,
    lengths: Vec<u64>,
    /// Open files: inode, current offset, and whether writes append.
    open: HashMap<i64, (Inode, u64, bool)>,
}

impl Recording {
    pub(super) fn parse(text: &str, folder: &Path) -> Self {
        let mut parser = Parser {
            root: folder.join("data"),
            log: folder.join("acknowledged"),
            operations: Vec::new(),
            names: HashMap::new(),
            folders: Vec::new(),
            lengths: Vec::new(),
            open: HashMap::new(),
        };
        let mut unfinished: HashMap<&str, String> = HashMap::new();
        for line in text.lines() {
            let (pid, call) = line.split_once(char::is_whitespace).unwrap();
            let call = call.trim_start();
            if let Some(begun) = call.strip_suffix(" <unfinished ...>") {
                unfinished.insert(pid, begun.to_owned());
            } else if let Some(resumed) = call.strip_prefix("<... ") {
                let rest = resumed.split_once(" resumed>").unwrap().1;
                let complete = unfinished.remove(pid).unwrap() + rest;
                parser.read(&complete);
            } else {
                parser.read(call);
            }
        }
        Self { operations: parser.operations }
    }

    /// What was acknowledged to the process before operation `cut`.
    pub(super) fn acknowledged(&self, cut: usize) -> DurableData {
        let mut all = DurableData::default();
        for operation in &self.operations[..cut] {
            if let Operation::Acknowledge { what } = operation {
                match what.split_once(' ') {
                    Some((_, tip)) => all.tip = Some(tip.parse().unwrap()),
                    None if what == "key" => all.keys += 1,
                    None => all.webhooks += 1,
                }
            }
        }
        all
    }

    pub(super) fn describe(&self) -> String {
        let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
        for operation in &self.operations {
            let text = format!("{operation:?}");
            *kinds.entry(text.split([' ', '{']).next().unwrap().to_owned()).or_default() += 1;
        }
        format!("{} operations: {kinds:?}", self.operations.len())
    }
}

/// Decodes escapes such as `\x2f`.
fn unescape(text: &str) -> Vec<u8> {
    let (mut bytes, mut rest) = (Vec::with_capacity(text.len() / 4), text.as_bytes());
    while let Some((first, tail)) = rest.split_first() {
        if *first == b'\\' && tail.first() == Some(&b'x') {
            let digits = std::str::from_utf8(&tail[1..3]).unwrap();
            bytes.push(u8::from_str_radix(digits, 16).unwrap());
            rest = &tail[3..];
        } else {
            bytes.push(*first);
            rest = tail;
        }
    }
    bytes
}

fn path(text: &str) -> PathBuf {
    PathBuf::from(String::from_utf8(unescape(text)).unwrap())
}

/// The quoted arguments.
fn strings(arguments: &str) -> Vec<&str> {
    arguments.split('"').skip(1).step_by(2).collect()
}

/// `5</a/b>` is descriptor 5.
fn descriptor(argument: &str) -> (i64, PathBuf) {
    let (number, rest) = argument.split_once('<').unwrap();
    (number.trim().parse().unwrap(), path(rest.split('>').next().unwrap()))
}

impl Parser {
    fn is_ours(&self, path: &Path) -> bool {
        path.starts_with(&self.root)
    }

    fn relative(&self, path: &Path) -> PathBuf {
        path.strip_prefix(&self.root).unwrap().to_owned()
    }

    fn read(&mut self, call: &str) {
        let Some((name, rest)) = call.split_once('(') else { return };
        let Some((arguments, result)) = rest.rsplit_once(" = ") else { return };
        let arguments = arguments.trim_end().trim_end_matches(')');
        if result.starts_with('-') || result.starts_with('?') {
            return;
        }
        match name {
            "openat" | "creat" => self.opened(arguments, result),
            "close" => drop(self.open.remove(&descriptor(arguments).0)),
            "mkdir" | "mkdirat" => {
                let path = path(strings(arguments)[0]);
                if self.is_ours(&path) {
                    let path = self.relative(&path);
                    self.folders.push(path.clone());
                    self.operations.push(Operation::CreateFolder { path });
                }
            }
            "rename" | "renameat" | "renameat2" => {
                let names: Vec<PathBuf> = strings(arguments).into_iter().map(path).collect();
                if self.is_ours(&names[0]) {
                    let (from, to) = (self.relative(&names[0]), self.relative(&names[1]));
                    if let Some(inode) = self.names.remove(&from) {
                        self.names.insert(to.clone(), inode);
                    }
                    self.operations.push(Operation::Rename { from, to });
                }
            }
            "unlink" | "unlinkat" | "rmdir" => {
                // `unlinkat` has a path relative to an open folder.
                let named = path(strings(arguments).last().unwrap());
                let path = if named.is_absolute() { named } else { descriptor(arguments).1.join(named) };
                if self.is_ours(&path) {
                    let path = self.relative(&path);
                    self.names.remove(&path);
                    self.operations.push(Operation::Remove { path });
                }
            }
            "mmap" => {
                let written = arguments.contains("MAP_SHARED") && arguments.contains("PROT_WRITE");
                assert!(!written, "writes to a shared mapping cannot be recorded: {call:.200}");
            }
            _ => self.on_open_file(name, arguments, result),
        }
    }

    fn opened(&mut self, arguments: &str, result: &str) {
        let (number, found) = descriptor(result);
        if found == self.log {
            return;
        }
        if !self.is_ours(&found) {
            return;
        }
        let relative = self.relative(&found);
        if arguments.contains("O_DIRECTORY") || self.folders.contains(&relative) || relative.as_os_str().is_empty() {
            return;
        }
        let inode = match self.names.get(&relative) {
            Some(inode) => *inode,
            None => {
                assert!(arguments.contains("O_CREAT"), "{found:?} was opened but never created");
                let inode = self.lengths.len();
                self.lengths.push(0);
                self.names.insert(relative.clone(), inode);
                self.operations.push(Operation::CreateFile { path: relative, inode });
                inode
            }
        };
        if arguments.contains("O_TRUNC") && self.lengths[inode] > 0 {
            self.set_length(inode, 0);
        }
        self.open.insert(number, (inode, 0, arguments.contains("O_APPEND")));
    }

    fn set_length(&mut self, inode: Inode, length: u64) {
        self.lengths[inode] = length;
        self.operations.push(Operation::SetLength { inode, length });
    }

    fn on_open_file(&mut self, name: &str, arguments: &str, result: &str) {
        let (number, found) = descriptor(arguments);
        if found == self.log && name == "write" {
            let what = String::from_utf8(unescape(strings(arguments)[0])).unwrap().trim().to_owned();
            self.operations.push(Operation::Acknowledge { what });
            return;
        }
        if !self.is_ours(&found) {
            return;
        }
        let Some((inode, offset, appends)) = self.open.get(&number).copied() else {
            if matches!(name, "fsync" | "fdatasync") {
                self.operations.push(Operation::SyncFolder);
            }
            return;
        };
        let last = || arguments.rsplit(", ").next().unwrap().parse::<u64>().unwrap();
        match name {
            "write" | "pwrite64" => {
                let count: usize = result.split_whitespace().next().unwrap().parse().unwrap();
                let bytes = unescape(strings(arguments)[0]);
                let bytes = bytes[..count].to_vec();
                let at = match name {
                    "pwrite64" => last(),
                    _ if appends => self.lengths[inode],
                    _ => offset,
                };
                let end = at + bytes.len() as u64;
                self.lengths[inode] = self.lengths[inode].max(end);
                if name == "write" {
                    self.open.insert(number, (inode, end, appends));
                }
                self.operations.push(Operation::Write { inode, offset: at, bytes });
            }
            "lseek" => {
                let at = result.split_whitespace().next().unwrap().parse().unwrap();
                self.open.insert(number, (inode, at, appends));
            }
            "ftruncate" => self.set_length(inode, last()),
            "fsync" | "fdatasync" => self.operations.push(Operation::SyncFile { inode }),
            other => panic!("unsupported system call {other}: {arguments:.200}"),
        }
    }
}
