use axum::body::Bytes;

use crate::assets::Asset;

/// Nothing runs and nothing is fetched, also if the image is opened by itself. The styles of an SVG are in the file.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox";
/// Pixels of each side of a raster image.
const MAX_SIDE: u32 = 4_096;
const SVG_NAMESPACE: &str = "http://www.w3.org/2000/svg";

/// An image for the header of the pages and the icon of the site.
#[derive(Debug)]
pub struct Logo {
    asset: Asset,
    format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Svg,
    Png,
    Webp,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LogoError {
    #[error("it has {bytes} bytes, and at most {} are allowed: make it smaller", Logo::MAX_BYTES)]
    TooLarge { bytes: u64 },
    #[error("it is not an SVG, PNG or WebP image: convert it to one of them")]
    UnknownFormat,
    #[error("the {format} image {reason}")]
    Invalid { format: &'static str, reason: &'static str },
}

impl Logo {
    pub const MAX_BYTES: usize = 256 * 1024;

    /// The format is recognised by the content, whatever the name of the file.
    ///
    /// # Errors
    /// If browsers could not show the image, or if it is too large.
    pub fn new(bytes: Vec<u8>) -> Result<Self, LogoError> {
        if bytes.len() > Self::MAX_BYTES {
            return Err(LogoError::TooLarge { bytes: bytes.len() as u64 });
        }
        let (format, name, checked) = match bytes.as_slice() {
            [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', rest @ ..] => (Format::Png, "PNG", check_png(rest)),
            [b'R', b'I', b'F', b'F', a, b, c, d, b'W', b'E', b'B', b'P', rest @ ..] => {
                (Format::Webp, "WebP", check_webp(u32::from_le_bytes([*a, *b, *c, *d]), rest))
            }
            other => match std::str::from_utf8(other).ok().and_then(svg_element) {
                Some(svg) => (Format::Svg, "SVG", check_svg(svg)),
                None => return Err(LogoError::UnknownFormat),
            },
        };
        checked.map_err(|reason| LogoError::Invalid { format: name, reason })?;
        let asset = Asset::new("logo", format.extension(), format.content_type(), Bytes::from(bytes));
        Ok(Self { asset: asset.with_policy(POLICY), format })
    }

    pub(crate) fn asset(&self) -> &Asset {
        &self.asset
    }

    pub(crate) fn content_type(&self) -> &'static str {
        self.format.content_type()
    }

    /// Previews of links show raster images alone.
    pub(crate) fn is_raster(&self) -> bool {
        self.format != Format::Svg
    }
}

impl Format {
    fn extension(self) -> &'static str {
        match self {
            Self::Svg => "svg",
            Self::Png => "png",
            Self::Webp => "webp",
        }
    }

    fn content_type(self) -> &'static str {
        match self {
            Self::Svg => "image/svg+xml",
            Self::Png => "image/png",
            Self::Webp => "image/webp",
        }
    }
}

const CUT: &str = "is not complete: copy the file again";

/// The header has the size, and the last chunk is the end.
fn check_png(chunks: &[u8]) -> Result<(), &'static str> {
    let [0, 0, 0, 13, b'I', b'H', b'D', b'R', w0, w1, w2, w3, h0, h1, h2, h3, ..] = chunks else { return Err(CUT) };
    let sides = [[*w0, *w1, *w2, *w3], [*h0, *h1, *h2, *h3]].map(u32::from_be_bytes);
    if !sides.iter().all(|side| (1..=MAX_SIDE).contains(side)) {
        return Err("must have 1 to 4096 pixels on each side: make it smaller");
    }
    if chunks.ends_with(b"\0\0\0\0IEND\xae\x42\x60\x82") { Ok(()) } else { Err(CUT) }
}

/// The length in the header is that of the file without its first 8 bytes.
fn check_webp(length: u32, chunks: &[u8]) -> Result<(), &'static str> {
    let is_complete = u32::try_from(chunks.len()).is_ok_and(|bytes| bytes.checked_add(4) == Some(length));
    let is_image = [b"VP8 ", b"VP8L", b"VP8X"].into_iter().any(|kind| chunks.starts_with(kind));
    if is_complete && is_image { Ok(()) } else { Err(CUT) }
}

/// From the root element on, which must be `svg`. A document may begin with declarations and comments.
fn svg_element(text: &str) -> Option<&str> {
    let mut rest = text.strip_prefix('\u{feff}').unwrap_or(text).trim_start();
    loop {
        let end = match rest {
            _ if rest.starts_with("<?") => "?>",
            _ if rest.starts_with("<!--") => "-->",
            _ if rest.starts_with("<!DOCTYPE") => ">",
            _ => break,
        };
        let (_, after) = rest.split_once(end)?;
        rest = after.trim_start();
    }
    let after = rest.strip_prefix("<svg")?;
    after.starts_with(|next: char| next.is_whitespace() || next == '>').then_some(rest)
}

fn check_svg(svg: &str) -> Result<(), &'static str> {
    let root = svg.split('>').next().unwrap_or_default();
    if !['"', '\''].iter().any(|quote| root.contains(&format!("xmlns={quote}{SVG_NAMESPACE}{quote}"))) {
        return Err(
            "has no xmlns=\"http://www.w3.org/2000/svg\", without which browsers do not show it: add it to its first element",
        );
    }
    if svg.contains("<script") || svg.contains("javascript:") {
        return Err("has a script, which would not run: remove it");
    }
    if svg.trim_end().ends_with("</svg>") { Ok(()) } else { Err(CUT) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SVG: &str = r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"><path d="M0 0h1v1z"/></svg>"#;

    fn png(width: u32, height: u32) -> Vec<u8> {
        let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
        bytes.extend(width.to_be_bytes());
        bytes.extend(height.to_be_bytes());
        bytes.extend(b"\x08\x06\0\0\0....\0\0\0\0IEND\xae\x42\x60\x82");
        bytes
    }

    fn webp() -> Vec<u8> {
        let mut bytes = b"RIFF\x10\0\0\0WEBPVP8L\x04\0\0\0....".to_vec();
        bytes[4] = u8::try_from(bytes.len() - 8).unwrap();
        bytes
    }

    fn refused(bytes: impl Into<Vec<u8>>) -> String {
        Logo::new(bytes.into()).unwrap_err().to_string()
    }

    #[test]
    fn the_format_is_that_of_the_content() {
        for (bytes, extension, kind, is_raster) in [
            (SVG.as_bytes().to_vec(), "svg", "image/svg+xml", false),
            (png(64, 64), "png", "image/png", true),
            (webp(), "webp", "image/webp", true),
        ] {
            let logo = Logo::new(bytes).unwrap();
            assert!(logo.asset().path.starts_with("/assets/logo-") && logo.asset().path.ends_with(extension));
            assert_eq!((logo.content_type(), logo.is_raster()), (kind, is_raster));
        }
    }

    #[test]
    fn an_svg_may_begin_with_declarations() {
        let text =
            format!("\u{feff}<?xml version=\"1.0\"?>\n<!-- a > b -->\n<!DOCTYPE svg PUBLIC \"-//W3C//DTD\">\n{SVG}\n");
        assert!(Logo::new(text.into_bytes()).is_ok());
    }

    #[test]
    fn what_browsers_would_not_show_is_refused() {
        assert!(refused(vec![b' '; Logo::MAX_BYTES + 1]).contains("has 262145 bytes, and at most 262144"));
        for other in ["", "GIF89a", "<html></html>", "<svgx></svgx>", "hello"] {
            assert!(refused(other).contains("not an SVG, PNG or WebP"), "{other}");
        }
        assert!(refused(&SVG[..SVG.len() - 3]).contains("the SVG image is not complete"));
        assert!(refused(SVG.replace("xmlns", "title")).contains("has no xmlns"));
        assert!(refused(SVG.replace("<path", "<script>alert(1)</script><path")).contains("has a script"));
        assert!(refused(png(5_000, 10)).contains("4096 pixels"));
        assert!(refused(png(0, 10)).contains("4096 pixels"));
        let cut = png(10, 10);
        assert!(refused(&cut[..cut.len() - 1]).contains("the PNG image is not complete"));
        let cut = webp();
        assert!(refused(&cut[..cut.len() - 1]).contains("the WebP image is not complete"));
    }
}
