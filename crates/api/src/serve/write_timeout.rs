use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Instant, Sleep, sleep_until},
};

/// How long a write may wait for the peer to read.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);
/// How long the writes of a response may wait together: a peer that reads a few bytes now and then does not hold it forever.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(120);

/// A stream that fails when the peer stops reading, so that a response is not held in memory forever.
pub(super) struct WriteTimeout<T> {
    stream: T,
    /// Set while a write is pending.
    pending: Option<Pending>,
    /// How long earlier writes of the response have waited.
    waited: Duration,
}

struct Pending {
    since: Instant,
    deadline: Pin<Box<Sleep>>,
}

impl<T> WriteTimeout<T> {
    pub(super) fn new(stream: T) -> Self {
        Self { stream, pending: None, waited: Duration::ZERO }
    }

    /// Returns the result of a write, or an error if the write has been pending for too long.
    fn or_time_out<R>(&mut self, context: &mut Context<'_>, written: Poll<io::Result<R>>) -> Poll<io::Result<R>> {
        if written.is_ready() {
            match self.pending.take() {
                Some(pending) => self.waited += pending.since.elapsed(),
                // The peer reads as fast as the response is written.
                None => self.waited = Duration::ZERO,
            }
            return written;
        }
        let left = RESPONSE_TIMEOUT.saturating_sub(self.waited).min(WRITE_TIMEOUT);
        let pending = self.pending.get_or_insert_with(|| {
            let now = Instant::now();
            Pending { since: now, deadline: Box::pin(sleep_until(now + left)) }
        });
        ready!(pending.deadline.as_mut().poll(context));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the peer reads too slowly")))
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for WriteTimeout<T> {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_read(context, into)
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for WriteTimeout<T> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.stream).poll_write(context, bytes);
        this.or_time_out(context, written)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.stream).poll_write_vectored(context, slices);
        this.or_time_out(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let flushed = Pin::new(&mut this.stream).poll_flush(context);
        this.or_time_out(context, flushed)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let closed = Pin::new(&mut this.stream).poll_shutdown(context);
        this.or_time_out(context, closed)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_write_fails_if_the_peer_stops_reading() {
        let (ours, _theirs) = duplex(8);
        let started = Instant::now();
        let error = WriteTimeout::new(ours).write_all(&[0; 64]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert_eq!(started.elapsed(), WRITE_TIMEOUT);
    }

    /// Writes 64 bytes to a peer that reads eight of them at a time, with pauses.
    async fn write_to_slow_peer(pause: Duration) -> io::Result<()> {
        let (ours, mut theirs) = duplex(8);
        let reader = tokio::spawn(async move {
            let mut bytes = [0; 8];
            while theirs.read_exact(&mut bytes).await.is_ok() {
                tokio::time::sleep(pause).await;
            }
        });
        let written = WriteTimeout::new(ours).write_all(&[0; 64]).await;
        reader.abort();
        written
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_peer_that_keeps_reading_is_served() {
        write_to_slow_peer(WRITE_TIMEOUT / 3).await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_reads_a_few_bytes_now_and_then_is_not_served_forever() {
        let started = Instant::now();
        let error = write_to_slow_peer(WRITE_TIMEOUT - Duration::from_secs(1)).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(started.elapsed() <= RESPONSE_TIMEOUT + WRITE_TIMEOUT, "{:?}", started.elapsed());
    }
}
