//! Metrics of the process, with the names that Prometheus's own libraries use. They are read from `/proc`, so only Linux has them.

use std::fs;

use metrics::{Unit, counter, describe_counter, describe_gauge, gauge};

/// The unit of times in `/proc`: Linux has always shown hundredths of a second to programs.
const TICKS_PER_SECOND: f64 = 100.0;

pub(crate) fn describe() {
    describe_counter!(
        "process_cpu_seconds_total",
        Unit::Seconds,
        "Time on a processor, of the program and of the system for it."
    );
    describe_gauge!("process_resident_memory_bytes", Unit::Bytes, "Memory that the process has.");
    describe_gauge!("process_virtual_memory_bytes", Unit::Bytes, "Addresses that the process has reserved.");
    describe_gauge!("process_open_fds", "Open files and connections.");
    describe_gauge!("process_max_fds", "The most files and connections that the process may open.");
    describe_gauge!("process_threads", "Threads.");
    describe_gauge!("process_start_time_seconds", Unit::Seconds, "When the process started, as Unix time.");
}

/// Reads the present values.
pub(crate) fn collect() {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let (status, stat) = (read("/proc/self/status"), read("/proc/self/stat"));
    if let Some(seconds) = cpu_seconds(&stat) {
        // Whole seconds, since a counter has whole numbers.
        counter!("process_cpu_seconds_total").absolute(seconds as u64);
    }
    let set = |name: &'static str, value: Option<f64>| {
        if let Some(value) = value {
            gauge!(name).set(value);
        }
    };
    let kib = |label| number_after(&status, label).map(|number| number * 1024.0);
    set("process_resident_memory_bytes", kib("VmRSS:"));
    set("process_virtual_memory_bytes", kib("VmSize:"));
    set("process_threads", number_after(&status, "Threads:"));
    set("process_open_fds", fs::read_dir("/proc/self/fd").ok().map(|open| open.count() as f64));
    set("process_max_fds", number_after(&read("/proc/self/limits"), "Max open files"));
    let boot = number_after(&read("/proc/stat"), "btime");
    set(
        "process_start_time_seconds",
        boot.zip(field(&stat, 22)).map(|(boot, ticks)| boot + ticks / TICKS_PER_SECOND),
    );
}

fn cpu_seconds(stat: &str) -> Option<f64> {
    Some((field(stat, 14)? + field(stat, 15)?) / TICKS_PER_SECOND)
}

/// A field of `/proc/self/stat`, counted from 1. The second is the name of the program, which may have blanks and brackets.
fn field(stat: &str, number: usize) -> Option<f64> {
    let (_, after_name) = stat.rsplit_once(')')?;
    after_name.split_whitespace().nth(number - 3)?.parse().ok()
}

/// The number after a label at the start of a line.
fn number_after(text: &str, label: &str) -> Option<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix(label))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_from_the_text_of_the_kernel() {
        let stat = "7 (a) b) S 1 7 7 0 -1 4194560 9 0 0 0 150 50 0 0 20 0 12 0 98765 1 2";
        assert_eq!(cpu_seconds(stat), Some(2.0));
        assert_eq!(field(stat, 22), Some(98765.0));
        let status = "Name:\ttriptych\nVmRSS:\t   40960 kB\nThreads:\t12\n";
        assert_eq!(number_after(status, "VmRSS:"), Some(40960.0));
        assert_eq!(number_after(status, "VmSwap:"), None);
        assert_eq!(
            number_after(
                "Max open files            1024                 4096                 files",
                "Max open files"
            ),
            Some(1024.0)
        );
        assert_eq!(field("", 22), None);
    }
}
