//! The functions of the C library that those of a preloaded library replace.

use std::ffi::{c_char, c_void};

unsafe extern "C" {
    pub(crate) fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
}

pub(crate) const NEXT: *mut c_void = -1_isize as *mut c_void;

/// The function of the C library with this name.
macro_rules! real {
    ($name:ident: $kind:ty) => {{
        static FOUND: std::sync::OnceLock<usize> = std::sync::OnceLock::new();
        let name = concat!(stringify!($name), "\0").as_ptr().cast();
        // SAFETY: the name ends with a zero, and the function has this type in the C library.
        let found = *FOUND.get_or_init(|| unsafe { crate::real::dlsym(crate::real::NEXT, name) } as usize);
        if found == 0 {
            std::process::abort();
        }
        unsafe { std::mem::transmute::<usize, $kind>(found) }
    }};
}

pub(crate) use real;
