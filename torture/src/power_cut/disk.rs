//! A disk that has what was synced, and of the rest as much as it likes.
//!
//! The guarantees are the weakest on which [SQLite relies](https://sqlite.org/atomiccommit.html#_hardware_assumptions):
//!
//! - A sync of a file makes its bytes and its size durable, but not its name. Names are durable after a sync of their folder, which
//!   SQLite does after it has created a journal or a WAL. Some file systems, such as ext4, make both durable by one sync.
//! - What was not synced is stored or not, in any order; a write may be stored in part, at borders of 512 or 4096 bytes. A file may
//!   be longer than what was stored in it; then there is anything.
//! - A rename is stored or not, but not half. Bytes next to a write do not change.
//!
//! The index of a WAL (`-shm`) is memory that processes share; it is lost, or is any earlier version.

use std::{
    collections::{BTreeMap, HashMap},
    ffi::{OsStr, OsString},
    fs::{self, DirBuilder, OpenOptions},
    io::Write,
    os::unix::{
        ffi::OsStrExt,
        fs::{DirBuilderExt, OpenOptionsExt},
    },
    path::{Path, PathBuf},
};

use rand::{RngExt, rngs::StdRng};

use super::{
    node::{Change, Content, Id, Node},
    record::{Action, Record},
};

const ROOT: Id = 0;

pub(super) struct Disk {
    nodes: Vec<Node>,
    /// The files that processes have opened.
    inodes: HashMap<u64, Id>,
    /// What threads wait for: a file, and how many changes it had.
    waiting: HashMap<u64, (Id, usize)>,
    /// How many syncs were done.
    pub(super) syncs: usize,
    /// How many changes were lost.
    pub(super) lost: usize,
}

impl Disk {
    /// An empty one.
    pub(super) fn new() -> Self {
        let root = Node::new(Content::Folder(BTreeMap::new()));
        Disk { nodes: vec![root], inodes: HashMap::new(), waiting: HashMap::new(), syncs: 0, lost: 0 }
    }

    /// Does what processes have noted.
    pub(super) fn replay(&mut self, mut log: &[u8]) {
        while let Some((record, rest)) = Record::read(log) {
            self.act(&record);
            log = rest;
        }
    }

    fn act(&mut self, record: &Record<'_>) {
        let path = Path::new(OsStr::from_bytes(record.path));
        let number = usize::try_from(record.number).expect("a small number");
        match record.action {
            Action::Open => {
                let id = self.find(path).unwrap_or_else(|| self.create(path, Content::File(Vec::new())));
                self.inodes.insert(record.inode, id);
            }
            Action::Write => self.node(record).change(Change::Write(number, record.bytes.to_owned())),
            Action::Resize => self.node(record).change(Change::Resize(number)),
            Action::SyncBegins => {
                let count = self.node(record).changes();
                self.waiting.insert(record.number, (self.inodes[&record.inode], count));
            }
            Action::SyncEnds => {
                let (id, count) = self.waiting.remove(&record.number).expect("it has begun");
                self.nodes[id].sync(count);
                self.syncs += 1;
            }
            Action::CreateFolder => drop(self.create(path, Content::Folder(BTreeMap::new()))),
            Action::RemoveFolder | Action::Unlink => self.name(path, None),
            Action::Link => {
                let id = self.find(path);
                self.name(Path::new(OsStr::from_bytes(record.bytes)), id);
            }
            Action::Rename => {
                let (id, to) = (self.find(path), Path::new(OsStr::from_bytes(record.bytes)));
                assert_eq!(
                    path.parent(),
                    to.parent(),
                    "a file moves from folder to folder, which is not modelled"
                );
                let (from, to) = (name(path), name(to));
                self.folder_of(path).change(Change::Rename(from, to, id.expect("a file that is renamed")));
            }
        }
    }

    fn node(&mut self, record: &Record<'_>) -> &mut Node {
        let id = self.inodes.get(&record.inode).expect("it was opened before");
        &mut self.nodes[*id]
    }

    /// What processes find at a path.
    fn find(&self, path: &Path) -> Option<Id> {
        path.components().try_fold(ROOT, |id, component| match &self.nodes[id].current {
            Content::Folder(names) => names.get(component.as_os_str()).copied(),
            Content::File(_) => None,
        })
    }

    fn folder_of(&mut self, path: &Path) -> &mut Node {
        let folder = path.parent().and_then(|folder| self.find(folder));
        &mut self.nodes[folder.unwrap_or_else(|| panic!("no folder of {}", path.display()))]
    }

    fn name(&mut self, path: &Path, id: Option<Id>) {
        self.folder_of(path).change(Change::Name(name(path), id));
    }

    fn create(&mut self, path: &Path, content: Content) -> Id {
        let id = self.nodes.len();
        self.nodes.push(Node::new(content));
        self.name(path, Some(id));
        id
    }

    /// Loses what was not synced. No process has a file open.
    pub(super) fn lose(&mut self, random: &mut StdRng) {
        self.inodes.clear();
        self.waiting.clear();
        self.lost += self.nodes.iter_mut().map(|node| node.lose(random)).sum::<usize>();
    }

    /// Writes all files into a folder that does not exist. With the folder that was there before, some of the indexes that
    /// processes shared are from there.
    pub(super) fn write(&self, folder: &Path, mut before: Option<(&Path, &mut StdRng)>) {
        let mut written = HashMap::new();
        for (path, id) in self.paths() {
            let to = folder.join(&path);
            match &self.nodes[id].current {
                Content::Folder(_) => DirBuilder::new().mode(0o700).create(to).expect("a folder"),
                Content::File(_) if is_shared(&path) => {
                    if let Some((before, random)) = &mut before
                        && random.random_bool(0.5)
                    {
                        // The program may have removed it.
                        let _ = fs::copy(before.join(path), to);
                    }
                }
                Content::File(bytes) => match written.get(&id) {
                    Some(other) => fs::hard_link(other, to).expect("a link"),
                    None => {
                        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&to);
                        file.and_then(|mut file| file.write_all(bytes)).expect("a file");
                        written.insert(id, to);
                    }
                },
            }
        }
    }

    /// Whether a folder has other files than those that processes have noted.
    pub(super) fn differs_from(&self, folder: &Path) -> Option<String> {
        let mut noted = self.paths();
        noted.retain(|path, _| !is_shared(path));
        for (path, id) in &noted {
            let differs = match &self.nodes[*id].current {
                Content::File(bytes) => fs::read(folder.join(path)).ok().as_ref() != Some(bytes),
                Content::Folder(names) => {
                    let found = fs::read_dir(folder.join(path)).into_iter().flatten().flatten();
                    let mut found = found.map(|entry| entry.file_name());
                    found.any(|name| !is_shared(Path::new(&name)) && !names.contains_key(&name))
                }
            };
            if differs {
                return Some(format!("{}: not all changes were noted", path.display()));
            }
        }
        None
    }

    /// All paths that processes see, folders before what is in them.
    fn paths(&self) -> BTreeMap<PathBuf, Id> {
        let mut paths = BTreeMap::new();
        let mut left = vec![(PathBuf::new(), ROOT)];
        while let Some((folder, id)) = left.pop() {
            if let Content::Folder(names) = &self.nodes[id].current {
                left.extend(names.iter().map(|(name, id)| (folder.join(name), *id)));
            }
            paths.insert(folder, id);
        }
        paths
    }
}

fn name(path: &Path) -> OsString {
    path.file_name().expect("a path with a name").to_owned()
}

/// Whether it is the index of a WAL.
fn is_shared(path: &Path) -> bool {
    path.as_os_str().as_bytes().ends_with(b"-shm")
}
