//! Images of pets: kept in pieces, served so that no browser runs them.

pub(crate) mod api;
pub(crate) mod store;

/// How large an image may be, and how many a pet may have of what size in all.
pub(crate) const LARGEST: usize = 10 * 1024 * 1024;
pub(crate) const MOST: i64 = 20;
pub(crate) const LARGEST_TOGETHER: i64 = 50 * 1024 * 1024;

/// What is not known to be an image is offered as a download.
pub(crate) const UNKNOWN: &str = "application/octet-stream";

/// The media type of an image by how its bytes begin. Types that can hold a script are not among them.
pub(crate) fn media_type(bytes: &[u8]) -> &'static str {
    match bytes {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => "image/png",
        [0xff, 0xd8, 0xff, ..] => "image/jpeg",
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => "image/gif",
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => "image/webp",
        [_, _, _, _, b'f', b't', b'y', b'p', b'a', b'v', b'i', b'f' | b's', ..] => "image/avif",
        [b'B', b'M', _, _, _, _, 0, 0, 0, 0, ..] => "image/bmp",
        _ => UNKNOWN,
    }
}

/// Where images are, below the service's address.
pub(crate) const PATH: &str = "/v3/images/";

#[cfg(test)]
mod tests {
    use super::media_type;

    #[test]
    fn images_are_told_by_their_first_bytes() {
        for (bytes, expected) in [
            (&b"\x89PNG\r\n\x1a\nrest"[..], "image/png"),
            (b"\xff\xd8\xff\xe0", "image/jpeg"),
            (b"GIF87a", "image/gif"),
            (b"GIF89a....", "image/gif"),
            (b"RIFF\x10\0\0\0WEBPVP8 ", "image/webp"),
            (b"\0\0\0\x1cftypavif", "image/avif"),
            (b"BM\x10\0\0\0\0\0\0\0rest", "image/bmp"),
            (b"", "application/octet-stream"),
            (b"\x89PNG", "application/octet-stream"),
            (b"GIF90a", "application/octet-stream"),
            (b"RIFF\x10\0\0\0WAVE", "application/octet-stream"),
            (b"<svg xmlns=\"http://www.w3.org/2000/svg\"/>", "application/octet-stream"),
            (b"<html><script>", "application/octet-stream"),
            (b"%PDF-1.7", "application/octet-stream"),
        ] {
            assert_eq!(media_type(bytes), expected, "{bytes:?}");
        }
    }
}
