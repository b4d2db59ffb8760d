//! `server/status`.

use dsh_protocol::params::server::ServerStatusResult;

use crate::cx::Cx;

pub(crate) fn status(cx: &Cx) -> ServerStatusResult {
    let runtime = &cx.server.runtime;
    ServerStatusResult {
        version: cx.server.version.to_owned(),
        pid: std::process::id(),
        uptime_ms: u64::try_from(cx.server.started.elapsed().as_millis()).unwrap_or(u64::MAX),
        rss_bytes: resident_bytes().unwrap_or(0),
        workspaces: runtime.folder_uris(),
        sessions: runtime.session_count() as u64,
        connections: runtime.notices().listeners() as u64,
    }
}

/// The process's resident memory, from `/proc`; `None` where there is no such thing.
fn resident_bytes() -> Option<u64> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = statm.split_whitespace().nth(1)?.parse().ok()?;
    Some(pages * rustix::param::page_size() as u64)
}
