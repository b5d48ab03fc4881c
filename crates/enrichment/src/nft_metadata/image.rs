use bytes::Bytes;

/// An image of a kind that has no scripts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    pub kind: ImageKind,
    pub bytes: Bytes,
}

/// Raster images. SVG is not among them: it is a document that can contain scripts and references.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImageKind {
    Png,
    Jpeg,
    Gif,
    Webp,
    Avif,
}

impl Image {
    /// Headers of a response with the image: nothing is executed or embedded, even if it is opened by itself.
    #[must_use]
    pub fn headers(&self) -> [(&'static str, &'static str); 4] {
        [
            ("content-type", self.kind.content_type()),
            ("x-content-type-options", "nosniff"),
            ("content-security-policy", "default-src 'none'; sandbox"),
            ("content-disposition", "attachment"),
        ]
    }
}

impl ImageKind {
    /// Recognised by the first bytes, whatever the host says.
    pub(super) fn of(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some(Self::Png),
            [0xff, 0xd8, 0xff, ..] => Some(Self::Jpeg),
            [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some(Self::Gif),
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some(Self::Webp),
            [_, _, _, _, b'f', b't', b'y', b'p', b'a', b'v', b'i', b'f' | b's', ..] => Some(Self::Avif),
            _ => None,
        }
    }

    fn content_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Gif => "image/gif",
            Self::Webp => "image/webp",
            Self::Avif => "image/avif",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raster_images_are_recognised_and_nothing_else() {
        for (bytes, kind) in [
            (&b"\x89PNG\r\n\x1a\n...."[..], ImageKind::Png),
            (b"\xff\xd8\xff\xe0..", ImageKind::Jpeg),
            (b"GIF89a..", ImageKind::Gif),
            (b"RIFF\x10\0\0\0WEBPVP8 ", ImageKind::Webp),
            (b"\0\0\0\x20ftypavif....", ImageKind::Avif),
        ] {
            assert_eq!(ImageKind::of(bytes), Some(kind));
        }
        for bytes in
            [&b""[..], b"<svg xmlns='http://www.w3.org/2000/svg'>", b"<!doctype html>", b"%PDF-1.7", b"GIF88a", b"BM"]
        {
            assert_eq!(ImageKind::of(bytes), None, "{bytes:?}");
        }
    }
}
