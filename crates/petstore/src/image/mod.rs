//! Images of pets: stored in pieces, and served so that browsers do not run them.

pub(crate) mod api;
mod file;
pub(crate) mod store;

use model::Words;

/// The maximum size of an image, and the maximum number and total size of a pet's images.
pub(crate) const LARGEST: usize = 10 * 1024 * 1024;
/// The maximum length of a note about an image.
const LONGEST_METADATA: usize = 1000;
pub(crate) const MOST: i64 = 20;
pub(crate) const LARGEST_TOGETHER: i64 = 50 * 1024 * 1024;

/// The media type of an image. Types that can hold a script are not among them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Words)]
#[words(inline)]
pub(crate) enum MediaType {
    #[words(word = "image/png")]
    Png,
    #[words(word = "image/jpeg")]
    Jpeg,
    #[words(word = "image/gif")]
    Gif,
    #[words(word = "image/webp")]
    Webp,
    #[words(word = "image/avif")]
    Avif,
    #[words(word = "image/bmp")]
    Bmp,
    /// Bytes of an unknown type are offered as a download.
    #[words(word = "application/octet-stream")]
    Unknown,
}

impl MediaType {
    /// The media type of bytes, by their beginning.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        match bytes {
            [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => MediaType::Png,
            [0xff, 0xd8, 0xff, ..] => MediaType::Jpeg,
            [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => MediaType::Gif,
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => MediaType::Webp,
            [_, _, _, _, b'f', b't', b'y', b'p', b'a', b'v', b'i', b'f' | b's', ..] => MediaType::Avif,
            [b'B', b'M', _, _, _, _, 0, 0, 0, 0, ..] => MediaType::Bmp,
            _ => MediaType::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use db::Word;

    use super::MediaType;

    #[test]
    fn image_type_is_detected_by_its_first_bytes() {
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
            assert_eq!(MediaType::of(bytes).word(), expected, "{bytes:?}");
        }
    }
}
