//! Work that makes more work: a stack of jobs that several threads take from until all of it is done.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

pub(super) struct Queue<J> {
    state: Mutex<State<J>>,
    changed: Condvar,
}

struct State<J> {
    jobs: Vec<J>,
    /// Jobs taken and not finished; each may still add others.
    running: usize,
}

/// Held while a job is being done. Its drop says that the job is finished, also when the work panicked.
pub(super) struct Running<'q, J>(&'q Queue<J>);

impl<J> Drop for Running<'_, J> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.running -= 1;
        if state.running == 0 {
            drop(state);
            self.0.changed.notify_all();
        }
    }
}

impl<J> Queue<J> {
    pub(super) fn new(first: J) -> Queue<J> {
        Queue {
            state: Mutex::new(State { jobs: vec![first], running: 0 }),
            changed: Condvar::new(),
        }
    }

    /// The next job; nothing when all are done and none can follow.
    pub(super) fn next(&self) -> Option<(J, Running<'_, J>)> {
        let mut state = self.lock();
        loop {
            if let Some(job) = state.jobs.pop() {
                state.running += 1;
                return Some((job, Running(self)));
            }
            if state.running == 0 {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    pub(super) fn add(&self, jobs: Vec<J>) {
        if jobs.is_empty() {
            return;
        }
        self.lock().jobs.extend(jobs);
        self.changed.notify_all();
    }

    pub(super) fn clear(&self) {
        self.lock().jobs.clear();
    }

    fn lock(&self) -> MutexGuard<'_, State<J>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
