//! The queue of the embedded bus: a dispatched step is its own entry.

use stepwell_core::command::Command;
use stepwell_core::id::{LeaseId, StepIndex};
use stepwell_core::lane::{Lane, RoutingKey};
use stepwell_core::run::{Header, Routing, Run};
use stepwell_core::step::Outcome;

use super::Subject;
use super::world::{World, ack, header, moved, pooled, report, run_id, success, woken};
use crate::model::{QueueKey, Queued};

fn lease(run: &Run, step: usize) -> LeaseId {
    run.steps[step].lease.expect("the step is under way").id
}

async fn queue(world: &World) -> Vec<Queued> {
    world.store.queued(world.epoch, "default".to_owned(), None, 100).await.expect("a queue")
}

/// Urgent work goes first, then the oldest run; a key is where the next chunk begins.
pub async fn urgent_work_goes_first_then_the_oldest(subject: Subject) {
    let world = World::of(&subject).await;
    for (number, priority) in [(4, 5), (2, 5), (3, 10), (1, 0)] {
        world.begins(Header { priority, ..header(number) }).await;
    }
    let order = [(0, 3), (5, 2), (5, 4), (10, 1)];
    let expected =
        order.map(|(rank, number)| QueueKey { rank, run: run_id(number), step: StepIndex(0) });
    let keys: Vec<QueueKey> = queue(&world).await.iter().map(|queued| queued.key).collect();
    assert_eq!(keys, expected);

    let mut paged = Vec::new();
    let mut after = None;
    loop {
        let chunk =
            world.store.queued(world.epoch, "default".to_owned(), after, 1).await.expect("a chunk");
        let Some(last) = chunk.last() else { break };
        after = Some(last.key);
        paged.extend(chunk.into_iter().map(|queued| queued.key));
    }
    assert_eq!(paged, expected);
}

/// Each pool has its own queue, and a pool without work is not named.
pub async fn pools_do_not_mix(subject: Subject) {
    let world = World::of(&subject).await;
    assert_eq!(world.store.queued_pools(world.epoch).await.expect("pools"), Vec::<String>::new());
    for (number, pool) in [(1, "mail"), (2, "files"), (3, "mail")] {
        world.begins(Header { workflow: pooled(pool), ..header(number) }).await;
    }
    assert_eq!(world.store.queued_pools(world.epoch).await.expect("pools"), ["files", "mail"]);
    let mail = world.store.queued(world.epoch, "mail".to_owned(), None, 9).await.expect("a queue");
    assert_eq!(
        mail.iter().map(|queued| queued.key.run).collect::<Vec<_>>(),
        [run_id(1), run_id(3)]
    );
    let none = world.store.queued(world.epoch, "other".to_owned(), None, 9).await.expect("a queue");
    assert_eq!(none, []);
}

/// A queued step carries what the bus needs: lease, attempt, question and lane.
pub async fn a_queued_step_names_its_attempt(subject: Subject) {
    let world = World::of(&subject).await;
    let routing_key = RoutingKey::of_tenant("acme");
    let lane = Lane::of(&routing_key);
    let routing = Some(Routing { lane, key: routing_key.to_string() });
    let run = world.begins(Header { routing, ..header(1) }).await;
    let key = QueueKey { rank: 5, run: run_id(1), step: StepIndex(0) };
    let first = Queued { key, lease: lease(&run, 0), attempt: 1, poll: 0, lane: lane.number() };
    assert_eq!(queue(&world).await, std::slice::from_ref(&first));

    let run = world.moves(&run, &report(&run, Outcome::Incomplete)).await;
    assert_eq!(queue(&world).await, [], "while a poll rests, nothing is with the bus");
    let run = world.takes(woken(&run)).await;
    let asked = Queued { lease: lease(&run, 0), poll: 1, ..first };
    assert_eq!(queue(&world).await, [asked]);
}

/// An attempt leaves the queue when a worker has taken it or it has ended; the next step enters it.
pub async fn work_that_is_taken_leaves_the_queue(subject: Subject) {
    let world = World::of(&subject).await;
    let taken = world.begins(header(1)).await;
    let done = world.begins(header(2)).await;
    let published = world.begins(header(3)).await;
    let confirm = Command::Published { step: StepIndex(0), lease: lease(&published, 0) };
    let items = vec![
        moved(&taken, &ack(&taken)),
        moved(&done, &success(&done)),
        moved(&published, &confirm),
    ];
    world.commits(items).await;

    let keys: Vec<QueueKey> = queue(&world).await.iter().map(|queued| queued.key).collect();
    assert_eq!(keys, [QueueKey { rank: 5, run: run_id(2), step: StepIndex(1) }]);
}
