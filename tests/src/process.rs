//! What the system says of a running server.

use crate::client::Client;

impl Client {
    /// A line of the process's memory in `/proc`, such as `VmRSS` or `VmHWM`, in bytes.
    pub fn memory(&self, line: &str) -> u64 {
        let text = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap();
        let value = text.lines().find_map(|found| found.strip_prefix(line)?.strip_prefix(':'));
        let kilobytes = value.unwrap().trim().trim_end_matches(" kB");
        kilobytes.parse::<u64>().unwrap() * 1024
    }
}
