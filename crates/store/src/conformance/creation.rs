//! What only the creating transaction can know: keys that are taken, tenants that are full.

use stepwell_core::id::Tenant;
use stepwell_core::run::Header;

use super::Subject;
use super::world::{
    World, all, at, decided, failure, header, item, key, moved, run_id, started, success, undoing,
};
use crate::model::{Create, Filter, Item, KeyHolder, Verdict};

fn keyed(number: u64, name: u8, request: u8) -> Create {
    Create { key: Some(key(name, request)), ..started(header(number)) }
}

fn capped(number: u64, cap: u32) -> Item {
    item(Create { tenant_cap: Some(cap), ..started(header(number)) })
}

fn holder(number: u64, request: u8) -> KeyHolder {
    KeyHolder { run: run_id(number), request_hash: [request; 32], created_at: at(0) }
}

/// A key that is taken answers with its holder, and nothing is stored.
pub async fn a_taken_key_stores_nothing(subject: Subject) {
    let world = World::of(&subject).await;
    world.stores(item(keyed(1, b'k', b'r'))).await;
    let verdicts =
        world.commits(vec![item(keyed(2, b'k', b's')), item(keyed(3, b'l', b'r'))]).await;
    assert_eq!(verdicts, [Verdict::Duplicate(holder(1, b'r')), Verdict::Done]);
    assert_eq!(world.lists(Filter::default(), all()).await, [run_id(3), run_id(1)]);

    let acme = Tenant::new("acme");
    let found = world.store.by_key(acme.clone(), [b'k'; 32]).await.expect("a key");
    assert_eq!(found, Some(holder(1, b'r')));
    assert_eq!(world.store.by_key(acme, [b'x'; 32]).await.expect("no key"), None);
}

/// Of two requests with one key in the same group, the first wins.
pub async fn a_key_is_taken_by_the_first_of_a_group(subject: Subject) {
    let world = World::of(&subject).await;
    let verdicts =
        world.commits(vec![item(keyed(1, b'k', b'r')), item(keyed(2, b'k', b'r'))]).await;
    assert_eq!(verdicts, [Verdict::Done, Verdict::Duplicate(holder(1, b'r'))]);
    assert_eq!(world.lists(Filter::default(), all()).await, [run_id(1)]);
}

/// The same key of another tenant is another key.
pub async fn a_key_belongs_to_its_tenant(subject: Subject) {
    let world = World::of(&subject).await;
    world.stores(item(keyed(1, b'k', b'r'))).await;
    let theirs = Header { tenant: Tenant::new("globex"), ..header(2) };
    world.stores(item(Create { key: Some(key(b'k', b'r')), ..started(theirs) })).await;
    let found = world.store.by_key(Tenant::new("globex"), [b'k'; 32]).await.expect("a key");
    assert_eq!(found.map(|holder| holder.run), Some(run_id(2)));
}

/// A repeated request gets its answer even from a tenant that is full.
pub async fn a_repetition_is_recognized_before_the_cap(subject: Subject) {
    let world = World::of(&subject).await;
    let capped = |create: Create| item(Create { tenant_cap: Some(1), ..create });
    world.stores(capped(keyed(1, b'k', b'r'))).await;
    let verdicts =
        world.commits(vec![capped(keyed(2, b'k', b'r')), capped(keyed(3, b'l', b'r'))]).await;
    assert_eq!(verdicts, [Verdict::Duplicate(holder(1, b'r')), Verdict::TenantFull { open: 1 }]);
}

/// The cap counts the runs of the same group too; a refused run leaves nothing behind.
pub async fn a_tenant_is_full_at_its_cap(subject: Subject) {
    let world = World::of(&subject).await;
    world.stores(capped(1, 2)).await;
    let theirs = Header { tenant: Tenant::new("globex"), ..header(4) };
    let full = Create { tenant_cap: Some(2), key: Some(key(b'k', b'r')), ..started(header(3)) };
    let other = Create { tenant_cap: Some(2), ..started(theirs) };
    let verdicts = world.commits(vec![capped(2, 2), item(full), item(other)]).await;
    assert_eq!(verdicts, [Verdict::Done, Verdict::TenantFull { open: 2 }, Verdict::Done]);
    assert_eq!(world.stored(run_id(3)).await, None);
    assert_eq!(world.store.by_key(Tenant::new("acme"), [b'k'; 32]).await.expect("no key"), None);
    assert_eq!(world.store.figures().await.expect("figures").runs_open, 3);
}

/// A run that ends makes room, once, in the transaction that ends it.
pub async fn a_run_that_ends_makes_room(subject: Subject) {
    let world = World::of(&subject).await;
    world.stores(capped(1, 1)).await;
    let run = world.run(1).await;
    let run = world.moves(&run, &success(&run)).await;
    assert_eq!(world.commits(vec![capped(2, 1)]).await, [Verdict::TenantFull { open: 1 }]);

    let verdicts = world.commits(vec![moved(&run, &success(&run)), capped(2, 1)]).await;
    assert_eq!(verdicts, [Verdict::Done, Verdict::Done]);
    assert_eq!(world.commits(vec![capped(3, 1)]).await, [Verdict::TenantFull { open: 1 }]);
}

/// A compensation runs however busy its tenant is, and takes nobody's place.
pub async fn a_compensation_takes_no_room(subject: Subject) {
    let world = World::of(&subject).await;
    let run = world.begins(header(1)).await;
    let mut failed = decided(&run, &failure(&run));
    failed.children = vec![Create { tenant_cap: Some(0), ..started(undoing(run_id(1), 2)) }];
    world.stores(Item::Advance(Box::new(failed))).await;
    assert_eq!(world.store.figures().await.expect("figures").runs_open, 1);
    world.stores(capped(3, 1)).await;
    assert_eq!(world.store.figures().await.expect("figures").runs_open, 2);

    let undoing = world.run(2).await;
    world.moves(&undoing, &success(&undoing)).await;
    assert_eq!(world.store.figures().await.expect("figures").runs_open, 1);
}
