use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::UnixStream,
};

/// Sends a request over a unix socket, and returns the status and the body.
pub(crate) async fn over_socket(socket: &Path, method: &str, path: &str) -> (u16, String) {
    let mut stream = UnixStream::connect(socket).await.unwrap();
    let request = format!("{method} {path} HTTP/1.1\r\nHost: admin\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).await.unwrap();
    let (head, body) = response.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

/// The metrics of a process at one moment.
#[derive(Debug, Clone)]
pub(crate) struct Metrics {
    pub(crate) text: String,
    /// By name with labels.
    samples: BTreeMap<String, f64>,
}

impl Metrics {
    /// Over the socket in this data folder.
    pub(crate) async fn of(data: &Path) -> Self {
        Self::at(&data.join("admin.sock")).await
    }

    pub(crate) async fn at(socket: &Path) -> Self {
        let (status, text) = over_socket(socket, "GET", "/metrics").await;
        assert_eq!(status, 200, "{text}");
        Self::parse(text)
    }

    pub(crate) fn parse(text: String) -> Self {
        let samples = text.lines().filter(|line| !line.starts_with('#')).map(|line| {
            let (name, value) = line.rsplit_once(' ').unwrap_or_else(|| panic!("{line}"));
            (name.to_owned(), value.parse().unwrap_or_else(|_| panic!("{line}")))
        });
        let counted = samples.clone().count();
        let samples: BTreeMap<String, f64> = samples.collect();
        assert_eq!(samples.len(), counted, "a sample occurs twice");
        Self { samples, text }
    }

    /// The names of all metrics with their kinds, also of those without samples.
    pub(crate) fn names(&self) -> BTreeMap<&str, &str> {
        self.text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' ')).collect()
    }

    /// The names of all series: a histogram has three.
    pub(crate) fn series(&self) -> BTreeSet<String> {
        let series = |(name, kind): (&str, &str)| match kind {
            "histogram" => ["_bucket", "_sum", "_count"].map(|end| format!("{name}{end}")).to_vec(),
            _ => vec![name.to_owned()],
        };
        self.names().into_iter().flat_map(series).collect()
    }

    pub(crate) fn find(&self, sample: &str) -> Option<f64> {
        self.samples.get(sample).copied()
    }

    #[track_caller]
    pub(crate) fn get(&self, sample: &str) -> f64 {
        self.find(sample).unwrap_or_else(|| panic!("no {sample} in\n{}", self.text))
    }

    /// How much a counter has grown since; one without a value counts as 0.
    pub(crate) fn since(&self, before: &Self, sample: &str) -> f64 {
        self.find(sample).unwrap_or_default() - before.find(sample).unwrap_or_default()
    }

    /// The sum of the samples whose name and labels contain all these texts.
    pub(crate) fn sum(&self, parts: &[&str]) -> f64 {
        self.samples
            .iter()
            .filter(|(name, _)| parts.iter().all(|part| name.contains(part)))
            .map(|(_, value)| value)
            .sum()
    }
}
