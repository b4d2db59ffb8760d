//! Notices when the client's process has ended, also when it could not say so.

use std::time::Duration;

use rustix::process::Pid;
use tokio_util::sync::CancellationToken;

/// How often the client's process is looked for.
const LOOK: Duration = Duration::from_secs(1);

/// Fires `gone` when the process has ended. One that is not seen now, as from inside a container, is not
/// watched: the end of the input then says it.
pub(crate) fn watch(process_id: Option<i64>, gone: &CancellationToken) {
    // Zero and below name no process but groups of them.
    let id = process_id.and_then(|id| i32::try_from(id).ok()).filter(|id| *id > 0);
    let Some(process) = id.and_then(Pid::from_raw).and_then(Process::open) else { return };
    let gone = gone.clone();
    tokio::spawn(async move {
        while !process.has_ended() {
            tokio::time::sleep(LOOK).await;
        }
        gone.cancel();
    });
}

/// A handle to this very process: a later one under the same number is another.
#[cfg(target_os = "linux")]
struct Process(rustix::fd::OwnedFd);

#[cfg(target_os = "linux")]
impl Process {
    fn open(pid: Pid) -> Option<Self> {
        rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).ok().map(Self)
    }

    /// A handle can be read once its process has ended, also while nobody has collected it yet.
    fn has_ended(&self) -> bool {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let mut handles = [PollFd::new(&self.0, PollFlags::IN)];
        poll(&mut handles, Some(&Timespec::default())).is_ok_and(|ready| ready > 0)
    }
}

/// A process by its number.
#[cfg(not(target_os = "linux"))]
struct Process(Pid);

#[cfg(not(target_os = "linux"))]
impl Process {
    fn open(pid: Pid) -> Option<Self> {
        rustix::process::test_kill_process(pid).ok().map(|()| Self(pid))
    }

    fn has_ended(&self) -> bool {
        rustix::process::test_kill_process(self.0) == Err(rustix::io::Errno::SRCH)
    }
}
