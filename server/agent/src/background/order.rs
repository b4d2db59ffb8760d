//! In which order a parent is told of what one child was given.

use super::work::Work;
use super::{BETWEEN_LOOKS, Background, LOOKS};
use crate::agent::Agent;

impl Background {
    /// Waits until what the child was given before this is told: both may come out at once.
    pub(super) async fn in_order(&self, work: &Work, parent: &Agent) {
        let comes_first = || {
            let held = self.lock();
            parent.log().read(|fold| {
                let open = fold.activations.open().iter();
                let mut of_child = open.filter(|it| it.child == work.child);
                let first = of_child.find(|it| held.activations.contains(&it.id));
                first.is_none_or(|first| first.id == work.id)
            })
        };
        for _ in 0..LOOKS {
            if comes_first() {
                return;
            }
            tokio::time::sleep(BETWEEN_LOOKS).await;
        }
    }
}
