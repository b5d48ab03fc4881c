use std::path::Path;

use alloy_primitives::bytes::{Bytes, BytesMut};
use futures::{Sink, Stream, sink, stream};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        UnixStream,
        unix::{OwnedReadHalf, OwnedWriteHalf},
    },
};

use super::link::Link;
use crate::error::BoxError;

const READ: usize = 64 << 10;

#[derive(Debug, thiserror::Error)]
#[error("the response is longer than {0} bytes")]
struct TooLong(usize);

pub(super) async fn open(path: &Path, max_response_bytes: usize) -> Result<Link, BoxError> {
    let (read, write) = UnixStream::connect(path).await?.into_split();
    let reader = Reader { read, buffer: BytesMut::new(), frames: Frames::default(), max_response_bytes };
    Ok(Link::over(Box::pin(messages(reader)), Box::pin(requests(write))))
}

fn requests(write: OwnedWriteHalf) -> impl Sink<String, Error = BoxError> + Send {
    sink::unfold(write, |mut write, mut request: String| async move {
        request.push('\n');
        write.write_all(request.as_bytes()).await?;
        Ok(write)
    })
}

fn messages(reader: Reader) -> impl Stream<Item = Result<Bytes, BoxError>> + Send {
    stream::unfold(reader, |mut reader| async move { Some((reader.next().await.transpose()?, reader)) })
}

struct Reader {
    read: OwnedReadHalf,
    buffer: BytesMut,
    frames: Frames,
    max_response_bytes: usize,
}

impl Reader {
    async fn next(&mut self) -> Result<Option<Bytes>, BoxError> {
        loop {
            if let Some(length) = self.frames.end_of_value(&self.buffer) {
                return Ok(Some(self.buffer.split_to(length).freeze()));
            }
            if self.buffer.len() > self.max_response_bytes {
                return Err(TooLong(self.max_response_bytes).into());
            }
            self.buffer.reserve(READ);
            if self.read.read_buf(&mut self.buffer).await? == 0 {
                return Ok(None);
            }
        }
    }
}

/// Finds the end of each JSON value: IPC has no other framing, not always even a line break.
#[derive(Debug, Default)]
struct Frames {
    seen: usize,
    depth: usize,
    in_string: bool,
    escaped: bool,
}

impl Frames {
    /// The length of the first complete value in the buffer. The caller appends to the buffer, and removes found values.
    fn end_of_value(&mut self, buffer: &[u8]) -> Option<usize> {
        for (position, byte) in buffer.iter().enumerate().skip(self.seen) {
            if self.in_string {
                match byte {
                    _ if self.escaped => self.escaped = false,
                    b'\\' => self.escaped = true,
                    b'"' => self.in_string = false,
                    _ => {}
                }
                continue;
            }
            match byte {
                b'"' => self.in_string = true,
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth == 0 {
                        *self = Self::default();
                        return Some(position + 1);
                    }
                }
                _ => {}
            }
        }
        self.seen = buffer.len();
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(stream: &[u8], step: usize) -> Vec<String> {
        let (mut frames, mut buffer, mut found) = (Frames::default(), BytesMut::new(), Vec::new());
        for piece in stream.chunks(step) {
            buffer.extend_from_slice(piece);
            while let Some(length) = frames.end_of_value(&buffer) {
                found.push(String::from_utf8(buffer.split_to(length).to_vec()).unwrap().trim().to_owned());
            }
        }
        found
    }

    #[test]
    fn values_are_split_however_the_bytes_arrive() {
        let values = [r#"{"id":1,"result":{"a":"}]\"{"}}"#, "[[1],{}]", r#"{"b":"\\"}"#];
        for glue in ["", "\n", " \r\n"] {
            let stream = values.join(glue);
            for step in 1..=stream.len() {
                assert_eq!(frames(stream.as_bytes(), step), values, "glue {glue:?}, step {step}");
            }
        }
    }
}
