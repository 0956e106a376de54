//! A store that says what it does, and nothing of what it holds.

use std::io;
use std::sync::{Arc, Mutex};

use stepwell_store::conformance::Subject;
use stepwell_store::conformance::world::{World, header, run_id};
use stepwell_store::memory::MemoryStore;
use stepwell_store::{Observed, StoreError};
use tracing_subscriber::fmt::MakeWriter;

/// A log that can be read again.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    fn lines(&self) -> Vec<String> {
        let bytes = self.0.lock().unwrap().clone();
        String::from_utf8(bytes).unwrap().lines().map(str::to_owned).collect()
    }
}

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

fn listen() -> (Log, tracing::subscriber::DefaultGuard) {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::DEBUG)
        .with_ansi(false)
        .with_writer(log.clone())
        .finish();
    (log.clone(), tracing::subscriber::set_default(subscriber))
}

// B-006: one standard record an operation, with its name and what it was about.
#[tokio::test]
async fn every_operation_is_one_record() {
    let (log, _listening) = listen();
    let store = Observed::around(Arc::new(MemoryStore::new()));
    let world = World::of(&Subject { store, reopen: None }).await;
    world.begins(header(7)).await;
    world.stored(run_id(7)).await;
    let lines = log.lines();
    let of = |name: &str| lines.iter().filter(|line| line.contains(name)).collect::<Vec<_>>();
    for operation in ["open_epoch", "commit", "load"] {
        let records = of(&format!("operation=\"{operation}\""));
        assert_eq!(records.len(), 1, "{lines:#?}");
        assert!(records[0].contains("store_operation"), "{records:?}");
        assert!(records[0].contains("ms="), "{records:?}");
    }
    let about = format!("about=run {}", run_id(7));
    assert_eq!(of(&about).len(), 2, "the commit and the load: {lines:#?}");
    assert!(!lines.iter().any(|line| line.contains("ada")), "nothing of the input is in it");
}

// B-004: an error says in which operation, and about what; its kind stays what it is.
#[tokio::test]
async fn an_error_names_the_operation_and_what_it_was_about() {
    let (log, _listening) = listen();
    let store = Observed::around(Arc::new(MemoryStore::new()));
    store.close().await.unwrap();
    let failed = store.load(vec![run_id(1), run_id(2)]).await.unwrap_err();
    assert!(matches!(failed, StoreError::Unavailable { .. }), "{failed:?}");
    let said = failed.to_string();
    assert!(said.contains(&format!("load (run {} and 1 more)", run_id(1))), "{said}");
    assert!(said.contains("the store is closed"), "{said}");
    let failed: Vec<String> =
        log.lines().into_iter().filter(|line| line.contains("store_operation_failed")).collect();
    assert_eq!(failed.len(), 1, "{failed:#?}");
}

// B-017: closing what was never used, and closing it again, is no error.
#[tokio::test]
async fn a_store_may_be_closed_at_any_time() {
    let store = Observed::around(Arc::new(MemoryStore::new()));
    store.close().await.unwrap();
    store.close().await.unwrap();
}
