use super::Launch;

/// Shows another time of day to the process, from the start; timers go on as before. Where `FAKETIME_TIMESTAMP_FILE` is set,
/// the file has the difference.
pub(crate) fn with_clock(launch: Launch, variable: &str, value: impl ToString) -> Launch {
    let library =
        ["x86_64", "aarch64"].map(|machine| format!("/usr/lib/{machine}-linux-gnu/faketime/libfaketime.so.1"));
    let library = library.into_iter().find(|path| std::path::Path::new(path).exists());
    let library = library.expect("libfaketime: install the package faketime");
    let launch = launch.variable("LD_PRELOAD", library).variable("FAKETIME_DONT_FAKE_MONOTONIC", "1");
    launch.variable(variable, value)
}
