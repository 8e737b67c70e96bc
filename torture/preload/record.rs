//! What the library writes and the row reads: one record for each change of a file, in the order of the changes.

/// What a process did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Action {
    /// Opens a file or a folder, and creates the file if there is none.
    Open,
    Write,
    Resize,
    /// A thread asks for a file or a folder to be synced.
    SyncBegins,
    /// What this thread asked for is done.
    SyncEnds,
    CreateFolder,
    RemoveFolder,
    Link,
    Rename,
    Unlink,
}

impl Action {
    const ALL: [Action; 10] = [
        Action::Open,
        Action::Write,
        Action::Resize,
        Action::SyncBegins,
        Action::SyncEnds,
        Action::CreateFolder,
        Action::RemoveFolder,
        Action::Link,
        Action::Rename,
        Action::Unlink,
    ];
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Record<'a> {
    pub(crate) action: Action,
    /// The number of the file in its file system.
    pub(crate) inode: u64,
    /// The position of a write, the new size of a file, the thread that syncs.
    pub(crate) number: u64,
    /// A path below the folder, which is the empty path.
    pub(crate) path: &'a [u8],
    /// What is written, or the path of a link.
    pub(crate) bytes: &'a [u8],
}

const HEAD: usize = 1 + 4 * 8;

impl<'a> Record<'a> {
    #[allow(dead_code, reason = "only the library writes")]
    pub(crate) fn write(&self) -> Vec<u8> {
        let mut record = vec![self.action as u8];
        for number in [self.inode, self.number, self.path.len() as u64, self.bytes.len() as u64] {
            record.extend(number.to_le_bytes());
        }
        record.extend(self.path);
        record.extend(self.bytes);
        record
    }

    /// The first record, and what is after it. The last record of a process that was killed may be incomplete; it is none.
    #[allow(dead_code, reason = "only the row reads")]
    pub(crate) fn read(log: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let (head, rest) = log.split_at_checked(HEAD)?;
        let action = Action::ALL[usize::from(head[0])];
        let mut numbers = head[1..]
            .chunks_exact(8)
            .map(|bytes| bytes.iter().rev().fold(0, |number: u64, byte| number << 8 | u64::from(*byte)));
        let mut next = || numbers.next().unwrap_or_default();
        let (inode, number) = (next(), next());
        let (path, rest) = rest.split_at_checked(usize::try_from(next()).ok()?)?;
        let (bytes, rest) = rest.split_at_checked(usize::try_from(next()).ok()?)?;
        Some((Record { action, inode, number, path, bytes }, rest))
    }
}
