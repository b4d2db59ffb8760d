//! The server's own log, on standard error or in a file. Standard output belongs to the protocol.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Mutex;

use anyhow::Context;
use tracing_subscriber::EnvFilter;

/// Starts logging. `DSH_LS_LOG` says what is logged, in the syntax of `RUST_LOG`; without it, warnings.
pub(crate) fn start(file: Option<&Path>) -> anyhow::Result<()> {
    let filter = EnvFilter::try_from_env("DSH_LS_LOG").unwrap_or_else(|_| EnvFilter::new("warn"));
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_target(false).with_ansi(false);
    match file {
        Some(path) => {
            let file = OpenOptions::new()
                .create(true)
                .append(true)
                .mode(0o600)
                .open(path)
                .with_context(|| format!("cannot write the log `{}`", path.display()))?;
            log.with_writer(Mutex::new(file)).init();
        }
        None => log.with_writer(std::io::stderr).init(),
    }
    std::panic::set_hook(Box::new(|panic| tracing::error!("{panic}")));
    Ok(())
}
