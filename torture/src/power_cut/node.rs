//! A file or a folder: what was synced, and the changes since then.

use std::{collections::BTreeMap, ffi::OsString};

use rand::{RngExt, rngs::StdRng};

/// The position of a file or folder in the list of a disk.
pub(super) type Id = usize;

#[derive(Clone)]
pub(super) enum Content {
    File(Vec<u8>),
    Folder(BTreeMap<OsString, Id>),
}

#[derive(Clone)]
pub(super) enum Change {
    Write(usize, Vec<u8>),
    Resize(usize),
    /// Names the file, or removes the name.
    Name(OsString, Option<Id>),
    Rename(OsString, OsString, Id),
}

impl Content {
    fn apply(&mut self, change: &Change) {
        match (self, change) {
            (Content::File(bytes), Change::Write(start, new)) => {
                let end = start + new.len();
                bytes.resize(bytes.len().max(end), 0);
                bytes[*start..end].copy_from_slice(new);
            }
            (Content::File(bytes), Change::Resize(length)) => bytes.resize(*length, 0),
            (Content::Folder(names), Change::Name(name, None)) => drop(names.remove(name)),
            (Content::Folder(names), Change::Name(name, Some(id))) => drop(names.insert(name.clone(), *id)),
            (Content::Folder(names), Change::Rename(from, to, id)) => {
                names.remove(from);
                names.insert(to.clone(), *id);
            }
            _ => panic!("a file is no folder"),
        }
    }
}

/// A file or a folder.
pub(super) struct Node {
    synced: Content,
    /// What processes see.
    pub(super) current: Content,
    /// The changes since the last sync.
    pending: Vec<Change>,
    /// How many changes were synced.
    count: usize,
}

impl Node {
    pub(super) fn new(content: Content) -> Self {
        Node { synced: content.clone(), current: content, pending: Vec::new(), count: 0 }
    }

    pub(super) fn change(&mut self, change: Change) {
        self.current.apply(&change);
        self.pending.push(change);
    }

    /// How many changes there were.
    pub(super) fn changes(&self) -> usize {
        self.count + self.pending.len()
    }

    /// The first changes, as many as this, are on the disk.
    pub(super) fn sync(&mut self, count: usize) {
        for change in self.pending.drain(..count.saturating_sub(self.count)) {
            self.synced.apply(&change);
        }
        self.count = self.count.max(count);
    }

    /// Loses what was not synced, or a part of it. Returns how many changes were lost.
    pub(super) fn lose(&mut self, random: &mut StdRng) -> usize {
        // Of some files nothing is stored, of some almost all.
        let share = [0.0, 0.5, 0.9, 1.0][random.random_range(0..4)];
        let (mut left, mut lost) = (self.synced.clone(), 0);
        for change in self.pending.drain(..) {
            if random.random_bool(share) {
                left.apply(&change);
                continue;
            }
            lost += 1;
            if let (Content::File(bytes), Change::Write(start, new)) = (&mut left, &change) {
                store_in_part(bytes, *start, new, random);
            }
        }
        *self = Node::new(left);
        lost
    }
}

/// Stores some sectors of a write, or only the size of the file, or nothing.
fn store_in_part(bytes: &mut Vec<u8>, start: usize, new: &[u8], random: &mut StdRng) {
    let end = start + new.len();
    match random.random_range(0..3) {
        0 => {
            let sector = if random.random_bool(0.5) { 512 } else { 4096 };
            let mut at = start;
            while at < end {
                let border = end.min((at / sector + 1) * sector);
                if random.random_bool(0.5) {
                    bytes.resize(bytes.len().max(border), 0);
                    bytes[at..border].copy_from_slice(&new[at - start..border - start]);
                }
                at = border;
            }
        }
        1 => bytes.resize(bytes.len().max(end), random.random()),
        _ => {}
    }
}
