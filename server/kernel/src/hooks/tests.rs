//! How hooks are dispatched, and what a broken listener leaves behind.

use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use serde_json::Value;

use super::*;
use crate::kernel::Kernel;
use crate::plugin::{Plugin, Row, StartError};
use crate::service::Key;

/// What a test registers under the name of a row's plugin.
type Wire = fn(&Context, &Arc<Said>) -> Result<(), InactiveEffect>;

struct World {
    said: Arc<Said>,
    wires: Vec<(&'static str, Wire)>,
}

#[derive(Default)]
struct Said(Mutex<Vec<String>>);

impl Said {
    fn say(&self, line: impl Into<String>) {
        self.0.lock().unwrap().push(line.into());
    }

    fn all(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

const WORLD: Key<World> = Key::new("world");
const TOLD: Observe<u32> = Observe::new("test/told", "tests tell a number");
const ASKED: Serial<u32, &'static str> = Serial::new("test/asked", "a decision is a word");
const AROUND: Waterfall<u32, String> = Waterfall::new("test/around", "tests make a text");

fn start(context: Context, _: Value) -> BoxFuture<'static, Result<(), StartError>> {
    Box::pin(async move {
        let world = context.get(&WORLD)?;
        for (_, wire) in world.wires.iter().filter(|(row, _)| *row == context.row()) {
            wire(&context, &world.said)?;
        }
        Ok(())
    })
}

const PLUGINS: &[Plugin] = &[Plugin { inject: &["world"], ..Plugin::new("listener", start) }];

async fn listening(wires: Vec<(&'static str, Wire)>) -> (Kernel, Arc<Said>) {
    let said = Arc::new(Said::default());
    let mut rows: Vec<Row> = Vec::new();
    for (id, _) in &wires {
        if rows.iter().all(|row| row.id != *id) {
            rows.push(Row { name: "listener".to_owned(), ..Row::new(id, Value::Null) });
        }
    }
    let world = Arc::new(World { said: Arc::clone(&said), wires });
    (Kernel::mount(rows, PLUGINS, &WORLD, world).await, said)
}

fn hears(context: &Context, said: &Arc<Said>) -> Result<(), InactiveEffect> {
    let (row, said) = (context.row().to_owned(), Arc::clone(said));
    TOLD.listen(context, Position::Last, move |number| {
        said.say(format!("{row} hears {number}"));
        async { Ok(()) }
    })
}

#[tokio::test(start_paused = true)]
async fn observers_all_hear_whatever_the_others_do() {
    let (kernel, said) = listening(vec![
        ("panics", |context, _| {
            TOLD.listen(context, Position::Last, |_| async { panic!("told to") })
        }),
        ("panics at once", |context, _| {
            TOLD.listen(context, Position::Last, |number| {
                assert!(*number == 0, "told to");
                async { Ok(()) }
            })
        }),
        ("fails", |context, _| {
            TOLD.listen(context, Position::Last, |_| async { Err("told to".to_owned()) })
        }),
        ("hangs", |context, _| TOLD.listen(context, Position::Last, |_| std::future::pending())),
        ("hears", hears),
    ])
    .await;
    TOLD.dispatch(kernel.hooks(), 7).await;
    assert_eq!(said.all(), ["hears hears 7"]);
}

#[tokio::test]
async fn the_first_decision_ends_a_serial_hook_and_first_listeners_go_first() {
    fn says(
        context: &Context,
        said: &Arc<Said>,
        position: Position,
        decision: Option<&'static str>,
    ) -> Result<(), InactiveEffect> {
        let (row, said) = (context.row().to_owned(), Arc::clone(said));
        ASKED.listen(context, position, move |_| {
            said.say(&row);
            async move { Ok(decision) }
        })
    }
    let (kernel, said) = listening(vec![
        ("one", |context, said| says(context, said, Position::Last, None)),
        ("two", |context, said| says(context, said, Position::Last, Some("yes"))),
        ("three", |context, said| says(context, said, Position::Last, Some("no"))),
        ("zero", |context, said| says(context, said, Position::First, None)),
    ])
    .await;
    assert_eq!(ASKED.dispatch(kernel.hooks(), 1).await, Ok(Some("yes")));
    assert_eq!(said.all(), ["zero", "one", "two"]);
    assert_eq!(kernel.hooks().rows("test/asked"), ["zero", "one", "two", "three"]);
    kernel.dispose().await;
    assert_eq!(ASKED.dispatch(kernel.hooks(), 1).await, Ok(None));
    assert!(kernel.hooks().rows("test/asked").is_empty());
}

#[tokio::test]
async fn a_listener_that_fails_or_panics_ends_a_serial_hook_as_a_failure() {
    for (wire, message) in [
        (
            (|context, _| {
                ASKED.listen(context, Position::Last, |_| async { Err("no idea".to_owned()) })
            }) as Wire,
            "no idea",
        ),
        (
            (|context, _| ASKED.listen(context, Position::Last, |_| async { panic!("oh") }))
                as Wire,
            "panicked: oh",
        ),
    ] {
        let (kernel, _) = listening(vec![("it", wire)]).await;
        let failure = ASKED.dispatch(kernel.hooks(), 1).await.unwrap_err();
        assert_eq!((failure.row.as_str(), failure.message.as_str()), ("it", message));
    }
}

#[tokio::test]
async fn a_waterfall_goes_in_and_out_and_may_stop_or_break_on_the_way() {
    let doubles: Wire = |context, _| {
        AROUND.listen(context, Position::Last, |number, next| async move {
            format!("({})", next.run(number * 2).await)
        })
    };
    let answers: Wire = |context, _| {
        AROUND.listen(context, Position::Last, |number, next| async move {
            if number > 9 { format!("{number} is enough") } else { next.run(number + 1).await }
        })
    };
    let breaks: Wire =
        |context, _| AROUND.listen(context, Position::Last, |_, _| async { panic!("oh") });
    let run = async |wires: Vec<(&'static str, Wire)>, number: u32| {
        let (kernel, _) = listening(wires).await;
        AROUND.dispatch(kernel.hooks(), number, |number| async move { number.to_string() }).await
    };
    assert_eq!(run(vec![], 1).await.unwrap(), "1");
    assert_eq!(run(vec![("a", doubles), ("b", answers)], 1).await.unwrap(), "(3)");
    assert_eq!(run(vec![("a", doubles), ("b", answers)], 5).await.unwrap(), "(10 is enough)");
    assert_eq!(run(vec![("a", answers), ("b", doubles)], 5).await.unwrap(), "(12)");
    let failure = run(vec![("a", doubles), ("b", breaks)], 1).await.unwrap_err();
    assert_eq!((failure.row.as_str(), failure.message.as_str()), ("b", "panicked: oh"));
}

#[tokio::test]
async fn a_dispatch_works_on_the_listeners_that_were_there_when_it_began() {
    let (kernel, said) = listening(vec![("adds", |context, said| {
        let (context_too, said) = (context.clone(), Arc::clone(said));
        TOLD.listen(context, Position::Last, move |_| {
            let added = hears(&context_too, &said).map_err(|error| error.to_string());
            async move { added }
        })
    })])
    .await;
    TOLD.dispatch(kernel.hooks(), 1).await;
    assert_eq!(said.all(), Vec::<String>::new());
    TOLD.dispatch(kernel.hooks(), 2).await;
    assert_eq!(said.all(), ["adds hears 2"]);
}

#[tokio::test]
async fn a_listener_goes_with_its_row() {
    let (kernel, said) = listening(vec![("one", hears), ("two", hears)]).await;
    let two = Row { name: "listener".to_owned(), ..Row::new("two", Value::Null) };
    kernel.update(vec![two]).await.unwrap();
    TOLD.dispatch(kernel.hooks(), 3).await;
    assert_eq!(said.all(), ["two hears 3"]);
}
