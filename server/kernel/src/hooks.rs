//! Typed hooks: places at which plugins take part in what another part does.
//!
//! A hook is declared once, as a constant beside the code that dispatches it, and its type says how it works:
//!
//! - [`Observe`]: all listeners hear of an event, at the same time. None can change anything, and one that
//!   fails, panics or takes too long is logged and does not disturb the others.
//! - [`Serial`]: listeners are asked one after the other; the first decision ends it. One that fails or panics
//!   ends it too, and whoever asked decides what that means.
//! - [`Waterfall`]: each listener stands around the ones after it, and the innermost is what happens without
//!   listeners. One that panics ends it as a failure.
//!
//! Listeners stand in the order of their registration and are gone when their plugin unloads. Each dispatch
//! works on the list as it was when it began.

use std::any::Any;
use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, join_all};

use crate::context::Context;
use crate::effects::InactiveEffect;
use crate::panics;
use crate::registration::Registration;

/// How long an observer may take.
const OBSERVE_DEADLINE: Duration = Duration::from_secs(10);

/// How a hook works; see the types of the same names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// [`Observe`].
    Observe,
    /// [`Serial`].
    Serial,
    /// [`Waterfall`].
    Waterfall,
}

/// What is known of a hook without its types: for tables of hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Declaration {
    /// Its name.
    pub name: &'static str,
    /// How it works.
    pub mode: Mode,
    /// When it is dispatched, what a decision is, what a failure means.
    pub doc: &'static str,
}

/// Where a listener is put among those that are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// Before all others.
    First,
    /// After all others.
    Last,
}

/// A listener failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("hook `{hook}` of row `{row}`: {message}")]
pub struct HookFailure {
    /// The hook.
    pub hook: &'static str,
    /// The row whose plugin listens.
    pub row: String,
    /// What went wrong.
    pub message: String,
}

struct Listener {
    number: u64,
    row: String,
    /// The function in the form that the hook's mode has.
    function: Arc<dyn Any + Send + Sync>,
}

#[derive(Default)]
struct Listeners {
    by_hook: BTreeMap<&'static str, Vec<Arc<Listener>>>,
    registered: u64,
}

/// The listeners of one kernel. Clones share them.
#[derive(Clone, Default)]
pub struct Hooks(Arc<Mutex<Listeners>>);

impl Hooks {
    fn add(
        &self,
        hook: &'static str,
        row: &str,
        position: Position,
        function: Arc<dyn Any + Send + Sync>,
    ) -> Registration {
        let mut listeners = self.lock();
        listeners.registered += 1;
        let number = listeners.registered;
        let listener = Arc::new(Listener { number, row: row.to_owned(), function });
        let of_hook = listeners.by_hook.entry(hook).or_default();
        match position {
            Position::First => of_hook.insert(0, listener),
            Position::Last => of_hook.push(listener),
        }
        drop(listeners);
        let hooks = self.clone();
        Registration::named(format!("hook `{hook}`"), move || {
            let mut listeners = hooks.lock();
            let Some(of_hook) = listeners.by_hook.get_mut(hook) else { return };
            let at = of_hook.iter().position(|listener| listener.number == number);
            let removed = at.map(|at| of_hook.remove(at));
            drop(listeners);
            // Dropped outside the lock: what a listener holds may do anything when it goes.
            drop(removed);
        })
    }

    /// The listeners of a hook as they are now, each with its row.
    fn snapshot<F: Send + Sync + 'static>(&self, hook: &str) -> Vec<(String, Arc<F>)> {
        let listeners = self.lock().by_hook.get(hook).cloned().unwrap_or_default();
        let typed = listeners.iter().filter_map(|listener| {
            let function = Arc::clone(&listener.function).downcast::<F>().ok()?;
            Some((listener.row.clone(), function))
        });
        typed.collect()
    }

    fn is_heard(&self, hook: &str) -> bool {
        self.lock().by_hook.get(hook).is_some_and(|listeners| !listeners.is_empty())
    }

    /// The rows that listen to a hook, in order.
    pub fn rows(&self, hook: &str) -> Vec<String> {
        let listeners = self.lock();
        let of_hook = listeners.by_hook.get(hook).into_iter().flatten();
        of_hook.map(|listener| listener.row.clone()).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Listeners> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

macro_rules! declaration {
    ($mode:ident) => {
        /// Declares a hook. `doc` says when it is dispatched and what follows.
        pub const fn new(name: &'static str, doc: &'static str) -> Self {
            let declared = Declaration { name, mode: Mode::$mode, doc };
            Self { declared, types: PhantomData }
        }

        /// Whether anybody listens: otherwise what a dispatch would be told need not be made.
        pub fn is_heard(&self, hooks: &Hooks) -> bool {
            hooks.is_heard(self.declared.name)
        }

        /// What is known of it without its types.
        pub const fn declaration(&self) -> Declaration {
            self.declared
        }
    };
}

/// A hook that tells all its listeners of an event.
pub struct Observe<E> {
    declared: Declaration,
    types: PhantomData<fn(E)>,
}

type ObserveFn<E> = Box<dyn Fn(Arc<E>) -> BoxFuture<'static, Result<(), String>> + Send + Sync>;

impl<E: Send + Sync + 'static> Observe<E> {
    declaration!(Observe);

    /// Listens until the plugin unloads.
    pub fn listen<F, Fut>(
        &self,
        context: &Context,
        position: Position,
        listener: F,
    ) -> Result<(), InactiveEffect>
    where
        F: Fn(Arc<E>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<(), String>> + Send + 'static,
    {
        let function: ObserveFn<E> = Box::new(move |event| Box::pin(listener(event)));
        let name = self.declared.name;
        context.keep(context.hooks().add(name, context.row(), position, Arc::new(function)))
    }

    /// Tells everyone; returns when all have heard of it or run out of time.
    pub async fn dispatch(&self, hooks: &Hooks, event: E) {
        let listeners = hooks.snapshot::<ObserveFn<E>>(self.declared.name);
        if listeners.is_empty() {
            return;
        }
        let event = Arc::new(event);
        let telling = listeners.into_iter().map(|(row, listener)| {
            let event = Arc::clone(&event);
            async move {
                let told = AssertUnwindSafe(async { listener(event).await }).catch_unwind();
                let outcome = match tokio::time::timeout(OBSERVE_DEADLINE, told).await {
                    Ok(Ok(outcome)) => outcome,
                    Ok(Err(panic)) => Err(format!("panicked: {}", panics::message(&*panic))),
                    Err(_) => Err(format!("took more than {OBSERVE_DEADLINE:?}")),
                };
                if let Err(error) = outcome {
                    tracing::error!(hook = self.declared.name, row, error, "an observer failed");
                }
            }
        });
        join_all(telling).await;
    }
}

/// A hook that asks its listeners for a decision `D`.
pub struct Serial<E, D> {
    declared: Declaration,
    types: PhantomData<fn(E) -> D>,
}

type SerialFn<E, D> =
    Box<dyn Fn(Arc<E>) -> BoxFuture<'static, Result<Option<D>, String>> + Send + Sync>;

impl<E: Send + Sync + 'static, D: 'static> Serial<E, D> {
    declaration!(Serial);

    /// Listens until the plugin unloads. `None` leaves the decision to the others.
    pub fn listen<F, Fut>(
        &self,
        context: &Context,
        position: Position,
        listener: F,
    ) -> Result<(), InactiveEffect>
    where
        F: Fn(Arc<E>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Option<D>, String>> + Send + 'static,
    {
        let function: SerialFn<E, D> = Box::new(move |event| Box::pin(listener(event)));
        let name = self.declared.name;
        context.keep(context.hooks().add(name, context.row(), position, Arc::new(function)))
    }

    /// Asks one after the other until one decides or fails. A listener may take its time: whoever asks says
    /// when to stop waiting, by dropping the future.
    pub async fn dispatch(&self, hooks: &Hooks, event: E) -> Result<Option<D>, HookFailure> {
        let event = Arc::new(event);
        for (row, listener) in hooks.snapshot::<SerialFn<E, D>>(self.declared.name) {
            let event = Arc::clone(&event);
            let asked = AssertUnwindSafe(async move { listener(event).await }).catch_unwind();
            let message = match asked.await {
                Ok(Ok(None)) => continue,
                Ok(Ok(Some(decision))) => return Ok(Some(decision)),
                Ok(Err(error)) => error,
                Err(panic) => format!("panicked: {}", panics::message(&*panic)),
            };
            return Err(HookFailure { hook: self.declared.name, row, message });
        }
        Ok(None)
    }
}

/// A hook whose listeners stand around each other: each may change the event on its way in, the result on its
/// way out, or answer by itself.
pub struct Waterfall<E, R> {
    declared: Declaration,
    types: PhantomData<fn(E) -> R>,
}

type WaterfallFn<E, R> = Box<dyn Fn(E, Next<E, R>) -> BoxFuture<'static, R> + Send + Sync>;

type Innermost<E, R> = Box<dyn FnOnce(E) -> BoxFuture<'static, R> + Send>;

/// What a listener of a [`Waterfall`] stands around. Used up by running it: it cannot run twice.
pub struct Next<E, R> {
    rest: std::vec::IntoIter<(String, Arc<WaterfallFn<E, R>>)>,
    innermost: Innermost<E, R>,
    /// The row whose listener was entered last, for reports.
    entered: Arc<Mutex<String>>,
}

impl<E: 'static, R: 'static> Next<E, R> {
    /// Goes on with an event.
    pub fn run(mut self, event: E) -> BoxFuture<'static, R> {
        match self.rest.next() {
            Some((row, listener)) => {
                *self.entered.lock().unwrap_or_else(PoisonError::into_inner) = row;
                listener(event, self)
            }
            None => (self.innermost)(event),
        }
    }
}

impl<E: Send + 'static, R: Send + 'static> Waterfall<E, R> {
    declaration!(Waterfall);

    /// Listens until the plugin unloads. The first listener is the outermost.
    pub fn listen<F, Fut>(
        &self,
        context: &Context,
        position: Position,
        listener: F,
    ) -> Result<(), InactiveEffect>
    where
        F: Fn(E, Next<E, R>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = R> + Send + 'static,
    {
        let function: WaterfallFn<E, R> =
            Box::new(move |event, next| Box::pin(listener(event, next)));
        let name = self.declared.name;
        context.keep(context.hooks().add(name, context.row(), position, Arc::new(function)))
    }

    /// Runs the listeners around `innermost`.
    pub async fn dispatch<F, Fut>(
        &self,
        hooks: &Hooks,
        event: E,
        innermost: F,
    ) -> Result<R, HookFailure>
    where
        F: FnOnce(E) -> Fut + Send + 'static,
        Fut: Future<Output = R> + Send + 'static,
    {
        let entered = Arc::<Mutex<String>>::default();
        let next = Next {
            rest: hooks.snapshot::<WaterfallFn<E, R>>(self.declared.name).into_iter(),
            innermost: Box::new(move |event| Box::pin(innermost(event))),
            entered: Arc::clone(&entered),
        };
        let running = AssertUnwindSafe(async move { next.run(event).await }).catch_unwind();
        running.await.map_err(|panic| HookFailure {
            hook: self.declared.name,
            row: entered.lock().unwrap_or_else(PoisonError::into_inner).clone(),
            message: format!("panicked: {}", panics::message(&*panic)),
        })
    }
}

#[cfg(test)]
mod tests;
