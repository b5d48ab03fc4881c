//! The process as the system sees it, with the names that Prometheus clients use for it. Without values on systems other than
//! Linux.

use metrics::Text;

/// Figures of the process.
#[derive(Debug, Default)]
struct Process {
    cpu_seconds: Option<f64>,
    start_seconds: Option<f64>,
    resident_bytes: Option<u64>,
    virtual_bytes: Option<u64>,
    threads: Option<u64>,
    open_files: Option<usize>,
}

pub(super) fn write(text: &mut Text) {
    let process = Process::read();
    text.counter("process_cpu_seconds_total", "CPU time of the process.").value(process.cpu_seconds);
    text.gauge("process_start_time_seconds", "When the process started, as unix time.").value(process.start_seconds);
    text.gauge("process_resident_memory_bytes", "Resident memory of the process.").value(process.resident_bytes);
    text.gauge("process_virtual_memory_bytes", "Virtual memory of the process.").value(process.virtual_bytes);
    text.gauge("process_threads", "Threads of the process.").value(process.threads);
    text.gauge("process_open_fds", "Open file descriptors of the process.").value(process.open_files);
}

impl Process {
    #[cfg(not(target_os = "linux"))]
    fn read() -> Self {
        Self::default()
    }

    #[cfg(target_os = "linux")]
    fn read() -> Self {
        let files = std::fs::read_dir("/proc/self/fd").ok().map(Iterator::count);
        let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
        let system = std::fs::read_to_string("/proc/stat").unwrap_or_default();
        Self { open_files: files, ..Self::parse(&stat, &system) }
    }

    /// From `/proc/self/stat` and `/proc/stat`.
    #[cfg(target_os = "linux")]
    fn parse(stat: &str, system: &str) -> Self {
        let ticks = rustix::param::clock_ticks_per_second().max(1) as f64;
        // The name of the process comes first, in parentheses, and may contain anything.
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        // Numbered as in proc(5), where the field after the name is the third.
        let field = |number: usize| fields.get(number - 3).and_then(|field| field.parse::<u64>().ok());
        let booted = system.lines().find_map(|line| line.strip_prefix("btime ")?.trim().parse::<u64>().ok());
        Self {
            cpu_seconds: field(14).zip(field(15)).map(|(user, kernel)| (user + kernel) as f64 / ticks),
            start_seconds: field(22).zip(booted).map(|(after, booted)| booted as f64 + after as f64 / ticks),
            resident_bytes: field(24).map(|pages| pages * rustix::param::page_size() as u64),
            virtual_bytes: field(23),
            threads: field(20),
            open_files: None,
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn figures_are_those_of_this_process() {
        let process = Process::read();
        let now = unix_time::now().as_secs_f64();
        let age = now - process.start_seconds.unwrap();
        assert!((-2.0..3_600.0).contains(&age), "{process:?}");
        assert!(process.resident_bytes.unwrap() > 1 << 20 && process.open_files.unwrap() > 2, "{process:?}");
        assert!(process.threads.unwrap() >= 1 && process.cpu_seconds.unwrap() >= 0.0, "{process:?}");
    }

    #[test]
    fn a_name_with_spaces_and_parentheses_does_not_shift_the_fields() {
        let stat = "7 (a) b (c)) S 1 7 7 0 -1 0 0 0 0 0 100 50 0 0 20 0 9 0 200 4096 3 0";
        let process = Process::parse(stat, "cpu 1 2\nbtime 1000\n");
        assert_eq!((process.threads, process.virtual_bytes), (Some(9), Some(4_096)));
        assert!(process.start_seconds > Some(1_000.0) && process.cpu_seconds > Some(0.0), "{process:?}");
    }
}
