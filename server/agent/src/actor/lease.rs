//! The right to append, and what comes with taking it: other processes' events, the repair of what a crash left, and
//! the news that the session is gone.

use std::time::Duration;

use dsh_protocol::notifications::{Notification, SessionChanged};
use dsh_session::repair::repair;
use dsh_session::store::LeaseError;
use dsh_session::writer::AcquireError;

use super::{Actor, rest_status};
use crate::agent::CommandError;

/// How often, and after which pause each, the right to append is asked for again while another process has it
/// and runs no turn.
const LOOKS: u32 = 200;
const BETWEEN_LOOKS: Duration = Duration::from_millis(5);

impl Actor {
    /// Takes the right to append, unless this process has it, and closes what a crash left open.
    ///
    /// Another process that has the right but runs no turn is about to give it back: that is waited for.
    pub(super) async fn lease(&mut self) -> Result<(), CommandError> {
        if self.leased {
            return Ok(());
        }
        let mut looks = 0;
        loop {
            let refused = match self.writer.acquire().await.map_err(CommandError::from) {
                Ok(()) => break,
                Err(refused) => refused,
            };
            if refused == CommandError::Deleted {
                self.notice_deletion();
                return Err(refused);
            }
            self.refresh().await?;
            let runs_a_turn = self.writer.log().read(|fold| fold.open_turn.is_some());
            if refused != CommandError::WriterConflict || runs_a_turn || looks == LOOKS {
                return Err(refused);
            }
            looks += 1;
            tokio::time::sleep(BETWEEN_LOOKS).await;
        }
        self.leased = true;
        repair(&self.writer)?;
        self.adopt().await;
        Ok(())
    }

    /// Takes in what other processes have appended. What cannot be read is left as it was: whoever wants to
    /// append is told why. Fails only where the log is gone.
    pub(super) async fn refresh(&mut self) -> Result<(), CommandError> {
        if self.leased {
            return Ok(());
        }
        match self.writer.refresh().await {
            Ok(()) => {}
            Err(AcquireError::Lease(LeaseError::Deleted)) => {
                self.notice_deletion();
                return Err(CommandError::Deleted);
            }
            Err(error) => {
                tracing::warn!(session = %self.writer.log().header().id, %error, "the log was not read again");
            }
        }
        let status = self.writer.log().read(rest_status);
        self.set_status(status);
        Ok(())
    }

    /// Another process has deleted the session: everybody here is told, and the task ends.
    fn notice_deletion(&mut self) {
        if std::mem::replace(&mut self.deleted, true) {
            return;
        }
        let removed = self.writer.log().header().id.clone();
        let notice = Notification::SessionChanged(SessionChanged::Removed { removed });
        self.shared.host.observer.notice(&notice);
    }
}
