//! Lists and details: runs, their history, and reports that came too late.

use std::sync::Arc;

use stepwell_core::id::{LeaseId, Tenant};
use stepwell_core::run::{Dialect, Header, RunStatus};
use uuid::Uuid;

use super::Subject;
use super::world::{World, all, at, failure, header, run_id, success, workflow};
use crate::model::{Filter, Item, Page, RunSummary, STALE_REPORTS_MAX, StaleReport};

/// A report on a run that came too late, told from others by the attempt it names.
pub(super) fn stale_report(run: u64, attempt: u32) -> StaleReport {
    StaleReport {
        run: run_id(run),
        step: "first".to_owned(),
        kind: "result".to_owned(),
        attempt,
        lease: LeaseId(Uuid::from_u128(7)),
        reason: "lease_lost".to_owned(),
        at: at(u64::from(attempt)),
    }
}

/// Runs are listed newest first, page by page, without gaps or repetitions.
pub async fn runs_are_listed_newest_first(subject: Subject) {
    let world = World::of(&subject).await;
    for number in [3, 1, 5, 2, 4] {
        let run = world.begins(header(number)).await;
        if number % 2 == 0 {
            world.finishes(run).await;
        }
    }
    let mut seen = Vec::new();
    let mut before = None;
    loop {
        let filter = Filter { tenant: Some(Tenant::new("acme")), ..Filter::default() };
        let page = world.lists(filter, Page { before, limit: 2 }).await;
        let Some(last) = page.last() else { break };
        before = Some(*last);
        seen.extend(page);
    }
    assert_eq!(seen, [5, 4, 3, 2, 1].map(run_id));
    let first = world.lists(Filter::default(), Page { before: None, limit: 3 }).await;
    assert_eq!(first, [5, 4, 3].map(run_id));
}

/// Every filter restricts, and together they restrict together.
pub async fn filters_restrict_together(subject: Subject) {
    let world = World::of(&subject).await;
    let globex = Tenant::new("globex");
    let other = Arc::new(workflow("offboard"));
    let correlated = Some("case-7".to_owned());
    world.begins(Header { tenant: globex.clone(), ..header(1) }).await;
    world.begins(Header { workflow: Arc::clone(&other), created_at: at(60), ..header(2) }).await;
    world.begins(Header { dialect: Dialect::Platform, ..header(3) }).await;
    world.begins(Header { correlation_id: correlated.clone(), ..header(4) }).await;
    let ended = world.begins(Header { workflow: other, tenant: globex.clone(), ..header(5) }).await;
    world.finishes(ended).await;
    let failed = world.begins(header(6)).await;
    world.moves(&failed, &failure(&failed)).await;

    let none = Filter::default;
    let of_globex = || Filter { tenant: Some(globex.clone()), ..none() };
    let offboard = || Filter { workflow: Some("offboard".to_owned()), ..none() };
    let ended = vec![RunStatus::Failed, RunStatus::Succeeded];
    let cases: [(Filter, &[u64]); 13] = [
        (of_globex(), &[5, 1]),
        (Filter { statuses: vec![RunStatus::Running], ..of_globex() }, &[1]),
        (offboard(), &[5, 2]),
        (Filter { tenant: Some(globex.clone()), ..offboard() }, &[5]),
        (Filter { statuses: ended.clone(), ..offboard() }, &[5]),
        (Filter { dialect: Some(Dialect::Platform), ..none() }, &[3]),
        (Filter { correlation_id: correlated.clone(), ..none() }, &[4]),
        (Filter { correlation_id: correlated.clone(), ..of_globex() }, &[]),
        (Filter { correlation_id: correlated, statuses: ended.clone(), ..none() }, &[]),
        (Filter { statuses: ended, ..none() }, &[6, 5]),
        (Filter { created_from: Some(at(60)), ..none() }, &[2]),
        (Filter { created_until: Some(at(60)), ..offboard() }, &[5]),
        (Filter { workflow: Some("nothing".to_owned()), ..none() }, &[]),
    ];
    for (filter, expected) in cases {
        let expected: Vec<_> = expected.iter().copied().map(run_id).collect();
        assert_eq!(world.lists(filter.clone(), all()).await, expected, "{filter:?}");
    }
}

/// A list says of a run what the run itself says.
pub async fn a_list_says_what_the_run_says(subject: Subject) {
    let world = World::of(&subject).await;
    let first = world.begins(Header { correlation_id: Some("c".to_owned()), ..header(1) }).await;
    let first = world.moves(&first, &failure(&first)).await;
    let second = world.begins(header(2)).await;
    let second = world.moves(&second, &success(&second)).await;
    let listed = world.summaries(Filter::default(), all()).await;
    assert_eq!(listed, [RunSummary::of(&second), RunSummary::of(&first)]);
    assert_eq!(listed[0].current_step.as_deref(), Some("second"));
    assert_eq!(listed[1].error.as_ref().map(|error| error.code.as_str()), Some("no_such_user"));
}

/// Ids that do not exist are missing in the answer; the others come in the order asked for.
pub async fn unknown_runs_are_missing_in_the_answer(subject: Subject) {
    let world = World::of(&subject).await;
    for number in [1, 2] {
        world.begins(header(number)).await;
    }
    let found = world.store.load([9, 2, 8, 1].map(run_id).to_vec()).await.expect("runs");
    assert_eq!(found.iter().map(|run| run.header.id).collect::<Vec<_>>(), [2, 1].map(run_id));
    assert_eq!(world.store.load(Vec::new()).await.expect("nothing"), []);
    assert_eq!(world.store.history(run_id(9), 0, 9).await.expect("nothing"), []);
    assert_eq!(world.store.stub(run_id(9)).await.expect("nothing"), None);
}

/// A history is read oldest first, from a version on, as far as asked for.
pub async fn a_history_is_read_from_a_version_on(subject: Subject) {
    let world = World::of(&subject).await;
    let run = world.begins(header(1)).await;
    world.finishes(run).await;
    world.begins(header(2)).await;
    let versions = async |after, limit| {
        let records = world.store.history(run_id(1), after, limit).await.expect("history");
        records.iter().map(|record| record.version).collect::<Vec<_>>()
    };
    assert_eq!(versions(0, 9).await, [1, 2, 3]);
    assert_eq!(versions(1, 9).await, [2, 3]);
    assert_eq!(versions(0, 2).await, [1, 2]);
    assert_eq!(versions(3, 9).await, [0_u64; 0]);
}

/// The beginnings of several histories come in the order asked, each as far as asked for.
pub async fn the_beginnings_of_histories_come_in_the_order_asked(subject: Subject) {
    let world = World::of(&subject).await;
    for number in [1, 2, 3] {
        let run = world.begins(header(number)).await;
        if number != 2 {
            world.finishes(run).await;
        }
    }
    let asked = [3, 9, 2, 1, 3].map(run_id);
    for (limit, lengths) in [(9, [3, 0, 1, 3, 3]), (2, [2, 0, 1, 2, 2])] {
        let beginnings = world.store.beginnings(asked.to_vec(), limit).await.expect("beginnings");
        assert_eq!(beginnings.iter().map(Vec::len).collect::<Vec<_>>(), lengths);
        for (run, beginning) in asked.into_iter().zip(beginnings) {
            let history = world.store.history(run, 0, limit).await.expect("history");
            assert_eq!(beginning, history, "{run}");
        }
    }
    let none = world.store.beginnings(Vec::new(), 9).await.expect("nothing");
    assert_eq!(none, Vec::<Vec<_>>::new());
}

/// Reports that changed nothing are kept in order, up to a limit for each run.
pub async fn stale_reports_are_kept_up_to_a_limit(subject: Subject) {
    let world = World::of(&subject).await;
    world.begins(header(1)).await;
    world.begins(header(2)).await;
    let before = world.stored(run_id(1)).await;
    for attempt in 0..=u32::try_from(STALE_REPORTS_MAX).expect("a small limit") {
        world.stores(Item::Audit(stale_report(1, attempt))).await;
    }
    world.stores(Item::Audit(stale_report(2, 7))).await;
    let kept = world.store.stale_reports(run_id(1)).await.expect("reports");
    assert_eq!(kept.len(), STALE_REPORTS_MAX);
    assert_eq!(kept[0], stale_report(1, 0));
    assert_eq!(kept[99], stale_report(1, 99));
    assert_eq!(world.store.stale_reports(run_id(2)).await.expect("reports").len(), 1);
    assert_eq!(world.stored(run_id(1)).await, before, "a stale report changes nothing");
}
