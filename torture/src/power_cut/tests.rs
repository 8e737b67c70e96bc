//! What a disk has after a power cut.

use std::{collections::BTreeSet, fs, path::Path};

use rand::{SeedableRng, rngs::StdRng};

use super::{
    disk::Disk,
    record::{Action, Record},
};

const FILE: u64 = 7;
const FOLDER: u64 = 8;

fn log(records: &[(Action, u64, &str, &str)]) -> Vec<u8> {
    let record = |(action, inode, path, bytes): &(Action, u64, &str, &str)| {
        let (path, bytes) = (path.as_bytes(), bytes.as_bytes());
        Record { action: *action, inode: *inode, number: 0, path, bytes }.write()
    };
    records.iter().flat_map(record).collect()
}

/// What a file can have after a power cut.
fn left(records: &[(Action, u64, &str, &str)], name: &str) -> BTreeSet<Option<String>> {
    let after = |seed| {
        let mut disk = Disk::new();
        disk.replay(&log(records));
        disk.lose(&mut StdRng::seed_from_u64(seed));
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        disk.write(&data, None);
        assert_eq!(disk.differs_from(&data), None);
        fs::read(Path::new(&data).join(name)).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    };
    (0..100).map(after).collect()
}

fn some(text: &str) -> Option<String> {
    Some(text.to_owned())
}

const CREATED: [(Action, u64, &str, &str); 2] =
    [(Action::Open, FILE, "a", ""), (Action::Write, FILE, "", "old")];
const SYNCED: [(Action, u64, &str, &str); 2] =
    [(Action::SyncBegins, FILE, "", ""), (Action::SyncEnds, FILE, "", "")];
const NAMED: [(Action, u64, &str, &str); 3] = [
    (Action::Open, FOLDER, "", ""),
    (Action::SyncBegins, FOLDER, "", ""),
    (Action::SyncEnds, FOLDER, "", ""),
];

#[test]
fn synced_file_without_a_synced_name_may_be_lost() {
    assert_eq!(left(&[&CREATED[..], &SYNCED].concat(), "a"), BTreeSet::from([None, some("old")]));
}

#[test]
fn synced_file_with_a_synced_name_stays() {
    let records = [&CREATED[..], &SYNCED, &NAMED].concat();
    assert_eq!(left(&records, "a"), BTreeSet::from([some("old")]));
    let unlinked = [&records[..], &[(Action::Unlink, 0, "a", "")]].concat();
    assert_eq!(left(&unlinked, "a"), BTreeSet::from([None, some("old")]));
}

#[test]
fn write_during_a_sync_may_be_lost() {
    let during = [SYNCED[0], (Action::Write, FILE, "", "new"), SYNCED[1]];
    let records = [&CREATED[..], &NAMED, &during].concat();
    assert_eq!(left(&records, "a"), BTreeSet::from([some("new"), some("old")]));
}

#[test]
fn rename_is_done_or_not() {
    let records = [&CREATED[..], &SYNCED, &NAMED, &[(Action::Rename, 0, "a", "b")]].concat();
    assert_eq!(left(&records, "a"), BTreeSet::from([None, some("old")]));
    assert_eq!(left(&records, "b"), BTreeSet::from([None, some("old")]));
}

#[test]
fn incomplete_record_at_the_end_is_ignored() {
    let log = log(&CREATED);
    let (first, rest) = Record::read(&log).unwrap();
    assert_eq!((first.action, first.inode, first.path), (Action::Open, FILE, &b"a"[..]));
    assert!(Record::read(&rest[..rest.len() - 1]).is_none());
}
