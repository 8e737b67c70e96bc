//! The functions of the C library that change files.

use std::{
    ffi::{c_char, c_int, c_uint, c_void},
    io::Seek,
    os::unix::{ffi::OsStrExt, fs::MetadataExt},
    path::PathBuf,
    process::abort,
    sync::atomic::Ordering::Relaxed,
};

use crate::{
    HERE, LOG, borrowed,
    real::real,
    record::{Action, Record},
    slot, tracked,
};

unsafe extern "C" {
    fn gettid() -> c_int;
    fn __errno_location() -> *mut c_int;
}

const REMOVE_FOLDER: c_int = 0x200;
const INVALID: c_int = 22;
const TRUNCATE: c_int = 0o1000;

unsafe fn open_at(at: c_int, path: *const c_char, flags: c_int, mode: c_uint) -> c_int {
    let real = real!(openat: unsafe extern "C" fn(c_int, *const c_char, c_int, ...) -> c_int);
    let open = || unsafe { real(at, path, flags, mode) };
    let Some((log, name)) = LOG.get().and_then(|log| Some((log, log.path(at, path)?))) else {
        return open();
    };
    let _order = log.order();
    let descriptor = open();
    if descriptor < 0 {
        return descriptor;
    }
    let (Some(slot), Ok(found)) = (slot(descriptor), borrowed(descriptor).metadata()) else { abort() };
    let inode = found.ino();
    slot.store(inode, Relaxed);
    let path = name.as_os_str().as_bytes();
    let record = Record { action: Action::Open, inode, number: 0, path, bytes: &[] };
    log.note(&record);
    if flags & TRUNCATE != 0 {
        log.note(&Record { action: Action::Resize, path: &[], ..record });
    }
    descriptor
}

/// # Safety
/// As of the function with this name in the C library; so are all below.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn open(path: *const c_char, flags: c_int, mode: c_uint) -> c_int {
    unsafe { open_at(HERE, path, flags, mode) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn open64(path: *const c_char, flags: c_int, mode: c_uint) -> c_int {
    unsafe { open_at(HERE, path, flags, mode) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn openat(at: c_int, path: *const c_char, flags: c_int, mode: c_uint) -> c_int {
    unsafe { open_at(at, path, flags, mode) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn openat64(at: c_int, path: *const c_char, flags: c_int, mode: c_uint) -> c_int {
    unsafe { open_at(at, path, flags, mode) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn close(descriptor: c_int) -> c_int {
    if let Some(slot) = slot(descriptor) {
        slot.store(0, Relaxed);
    }
    let real = real!(close: unsafe extern "C" fn(c_int) -> c_int);
    unsafe { real(descriptor) }
}

/// Writes with a function that returns how much it wrote, and asks then where that was.
unsafe fn written(
    descriptor: c_int,
    bytes: *const c_void,
    write: impl Fn() -> isize,
    start: impl FnOnce(u64) -> u64,
) -> isize {
    let Some((log, inode)) = tracked(descriptor) else { return write() };
    let _order = log.order();
    let length = write();
    if let Ok(length) = usize::try_from(length) {
        let bytes = unsafe { std::slice::from_raw_parts(bytes.cast(), length) };
        let number = start(length as u64);
        log.note(&Record { action: Action::Write, inode, number, path: &[], bytes });
    }
    length
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn write(descriptor: c_int, bytes: *const c_void, count: usize) -> isize {
    let real = real!(write: unsafe extern "C" fn(c_int, *const c_void, usize) -> isize);
    let start = |length| match borrowed(descriptor).stream_position() {
        Ok(end) => end - length,
        Err(_) => abort(),
    };
    unsafe { written(descriptor, bytes, || real(descriptor, bytes, count), start) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pwrite(descriptor: c_int, bytes: *const c_void, count: usize, at: i64) -> isize {
    let real = real!(pwrite: unsafe extern "C" fn(c_int, *const c_void, usize, i64) -> isize);
    unsafe { written(descriptor, bytes, || real(descriptor, bytes, count, at), |_| at as u64) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pwrite64(descriptor: c_int, bytes: *const c_void, count: usize, at: i64) -> isize {
    unsafe { pwrite(descriptor, bytes, count, at) }
}

/// Copies inside the kernel are refused, as some file systems do. The caller then reads and writes.
unsafe fn copied(to: c_int, copy: impl FnOnce() -> isize) -> isize {
    if tracked(to).is_none() {
        return copy();
    }
    unsafe { *__errno_location() = INVALID };
    -1
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn copy_file_range(
    from: c_int,
    start: *mut i64,
    to: c_int,
    at: *mut i64,
    count: usize,
    flags: c_uint,
) -> isize {
    let real = real!(copy_file_range: unsafe extern "C" fn(c_int, *mut i64, c_int, *mut i64, usize, c_uint) -> isize);
    unsafe { copied(to, || real(from, start, to, at, count, flags)) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn sendfile64(to: c_int, from: c_int, start: *mut i64, count: usize) -> isize {
    let real = real!(sendfile64: unsafe extern "C" fn(c_int, c_int, *mut i64, usize) -> isize);
    unsafe { copied(to, || real(to, from, start, count)) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn sendfile(to: c_int, from: c_int, start: *mut i64, count: usize) -> isize {
    unsafe { sendfile64(to, from, start, count) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ftruncate(descriptor: c_int, length: i64) -> c_int {
    let real = real!(ftruncate: unsafe extern "C" fn(c_int, i64) -> c_int);
    let Some((log, inode)) = tracked(descriptor) else { return unsafe { real(descriptor, length) } };
    let _order = log.order();
    let done = unsafe { real(descriptor, length) };
    if done == 0 {
        log.note(&Record { action: Action::Resize, inode, number: length as u64, path: &[], bytes: &[] });
    }
    done
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ftruncate64(descriptor: c_int, length: i64) -> c_int {
    unsafe { ftruncate(descriptor, length) }
}

/// Other calls go on in the meantime: what they write may be on the disk afterwards, or not.
unsafe fn synced(descriptor: c_int, sync: unsafe extern "C" fn(c_int) -> c_int) -> c_int {
    let Some((log, inode)) = tracked(descriptor) else { return unsafe { sync(descriptor) } };
    let thread = unsafe { gettid() };
    let note = |action| {
        let _order = log.order();
        log.note(&Record { action, inode, number: thread as u64, path: &[], bytes: &[] });
    };
    note(Action::SyncBegins);
    let done = unsafe { sync(descriptor) };
    if done == 0 {
        note(Action::SyncEnds);
    }
    done
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn fsync(descriptor: c_int) -> c_int {
    let real = real!(fsync: unsafe extern "C" fn(c_int) -> c_int);
    unsafe { synced(descriptor, real) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn fdatasync(descriptor: c_int) -> c_int {
    let real = real!(fdatasync: unsafe extern "C" fn(c_int) -> c_int);
    unsafe { synced(descriptor, real) }
}

/// Calls a function that changes the names in a folder.
unsafe fn renamed(
    action: Action,
    (at, path): (c_int, *const c_char),
    second: Option<*const c_char>,
    change: impl FnOnce() -> c_int,
) -> c_int {
    let Some((log, name)) = LOG.get().and_then(|log| Some((log, log.path(at, path)?))) else {
        return change();
    };
    // A name outside of the folder is not modelled.
    let Some(to) = second.map_or(Some(PathBuf::new()), |second| log.path(HERE, second)) else { abort() };
    let _order = log.order();
    let done = change();
    if done == 0 {
        let (path, bytes) = (name.as_os_str().as_bytes(), to.as_os_str().as_bytes());
        log.note(&Record { action, inode: 0, number: 0, path, bytes });
    }
    done
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn mkdir(path: *const c_char, mode: c_uint) -> c_int {
    let real = real!(mkdir: unsafe extern "C" fn(*const c_char, c_uint) -> c_int);
    unsafe { renamed(Action::CreateFolder, (HERE, path), None, || real(path, mode)) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmdir(path: *const c_char) -> c_int {
    let real = real!(rmdir: unsafe extern "C" fn(*const c_char) -> c_int);
    unsafe { renamed(Action::RemoveFolder, (HERE, path), None, || real(path)) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn unlink(path: *const c_char) -> c_int {
    let real = real!(unlink: unsafe extern "C" fn(*const c_char) -> c_int);
    unsafe { renamed(Action::Unlink, (HERE, path), None, || real(path)) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn unlinkat(at: c_int, path: *const c_char, flags: c_int) -> c_int {
    let real = real!(unlinkat: unsafe extern "C" fn(c_int, *const c_char, c_int) -> c_int);
    let action = if flags & REMOVE_FOLDER == 0 { Action::Unlink } else { Action::RemoveFolder };
    unsafe { renamed(action, (at, path), None, || real(at, path, flags)) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rename(from: *const c_char, to: *const c_char) -> c_int {
    let real = real!(rename: unsafe extern "C" fn(*const c_char, *const c_char) -> c_int);
    unsafe { renamed(Action::Rename, (HERE, from), Some(to), || real(from, to)) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn linkat(
    at: c_int,
    from: *const c_char,
    other: c_int,
    to: *const c_char,
    flags: c_int,
) -> c_int {
    let real =
        real!(linkat: unsafe extern "C" fn(c_int, *const c_char, c_int, *const c_char, c_int) -> c_int);
    unsafe { renamed(Action::Link, (at, from), Some(to), || real(at, from, other, to, flags)) }
}
