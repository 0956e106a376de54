//! What happens to servers and to PostgreSQL.

use std::sync::mpsc::Receiver;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime};

use rand::RngExt;
use rand::rngs::StdRng;
use serde_json::Value;
use stepwell_testing::postgres::Stop;

use super::ledger::Loss;
use super::{Fleet, LATE_MAX, Profile, SERVERS};
use crate::crash::site::Site;

/// From one accident to the next.
const EVERY: Duration = Duration::from_secs(1);

/// How long a server that is about to be killed may take to say who it is.
const LAST_WORDS: Duration = Duration::from_millis(300);

/// What happened so far.
#[derive(Debug, Default)]
pub(super) struct Accidents {
    pub(super) kills: u32,
    /// for less than the threshold
    pub(super) naps: u32,
    /// for longer: others have taken over
    pub(super) comas: u32,
    pub(super) losses: Vec<Loss>,
    /// writes that the store has refused to those who woke up too late
    pub(super) fenced_writes: u64,
    /// when PostgreSQL was away
    outage: Option<(SystemTime, SystemTime)>,
    absences: Vec<Absence>,
    frozen: Vec<Frozen>,
}

/// A server that does nothing for a while.
#[derive(Debug)]
struct Frozen {
    number: usize,
    until: Instant,
    is_coma: bool,
    awake: Arc<OnceLock<SystemTime>>,
    /// what was lost with it, once it is not thawed before its time
    loss: Option<Loss>,
}

/// When a server could not take over from anybody: it was frozen, or killed and not yet back.
#[derive(Clone, Debug)]
struct Absence {
    number: usize,
    from: SystemTime,
    until: Arc<OnceLock<SystemTime>>,
}

impl Absence {
    fn of(number: usize) -> Self {
        Self { number, from: SystemTime::now(), until: Arc::default() }
    }

    fn meets(&self, from: SystemTime, until: SystemTime) -> bool {
        self.from <= until && self.until.get().is_none_or(|end| *end >= from)
    }
}

/// One that was chosen by lot.
enum Accident {
    Kill,
    Freeze { time: Duration, is_coma: bool },
}

impl Accidents {
    /// Every second something happens to some server, and once to PostgreSQL, until the time is over.
    pub(super) async fn happen(
        &mut self,
        fleet: &mut Fleet,
        profile: Profile,
        time: Duration,
        rng: &mut StdRng,
    ) {
        let begun = Instant::now();
        // The pace of the accidents is the subject of the test, not a wait for something.
        let mut pace = tokio::time::interval(EVERY);
        while begun.elapsed() < time {
            pace.tick().await;
            self.thaw_due(fleet, begun);
            if self.outage.is_none() && begun.elapsed() >= time / 2 {
                self.restart_postgres(fleet, begun);
            }
            self.one(fleet, profile, rng, begun).await;
        }
        for frozen in std::mem::take(&mut self.frozen) {
            fleet.sites[frozen.number].signal("CONT");
            let _first = frozen.awake.set(SystemTime::now());
        }
        // One more while nothing happens to the others: at least this loss cannot escape them.
        let number = rng.random_range(0..fleet.sites.len());
        let stats = last_words(&fleet.sites[number], &fleet.token).await;
        self.kill(fleet, number, &stats, begun);
    }

    async fn one(&mut self, fleet: &mut Fleet, profile: Profile, rng: &mut StdRng, begun: Instant) {
        let servers = fleet.sites.len();
        let is_free = |number: &usize| self.frozen.iter().all(|it| it.number != *number);
        let free: Vec<usize> = (0..servers).filter(is_free).collect();
        let Some(number) = free.get(rng.random_range(0..free.len().max(1))).copied() else {
            return;
        };
        let site = &mut fleet.sites[number];
        assert_eq!(site.has_ended(), None, "a server ended by itself:\n{}", site.log());
        let stats = last_words(site, &fleet.token).await;
        match self.draw(servers, profile, rng) {
            Accident::Kill => self.kill(fleet, number, &stats, begun),
            Accident::Freeze { time, is_coma } => {
                *(if is_coma { &mut self.comas } else { &mut self.naps }) += 1;
                tell(begun, &format!("{number} is frozen for {} ms", time.as_millis()));
                site.signal("STOP");
                let absence = Absence::of(number);
                let (until, awake) = (Instant::now() + time, Arc::clone(&absence.until));
                let loss = loss(&stats, Some(Arc::clone(&awake))).filter(|_| is_coma);
                self.frozen.push(Frozen { number, until, is_coma, awake, loss });
                self.absences.push(absence);
            }
        }
    }

    fn kill(&mut self, fleet: &mut Fleet, number: usize, stats: &Value, begun: Instant) {
        self.kills += 1;
        self.fenced_writes += stats["fenced_writes"].as_u64().unwrap_or(0);
        self.losses.extend(loss(stats, None));
        tell(begun, &format!("{number} is killed"));
        let absence = Absence::of(number);
        let site = &mut fleet.sites[number];
        tokio::task::block_in_place(|| site.kill());
        note_return(site.spawn(), Arc::clone(&absence.until));
        self.absences.push(absence);
    }

    fn restart_postgres(&mut self, fleet: &Fleet, begun: Instant) {
        tell(begun, "PostgreSQL is restarted");
        let away = SystemTime::now();
        tokio::task::block_in_place(|| fleet.cluster.restart(Stop::AtOnce));
        self.outage = Some((away, SystemTime::now()));
        tell(begun, "PostgreSQL is back");
    }

    /// Losses that others had to notice in time: while a loss was due to be noticed, and until it would be
    /// late, it lasted, somebody was fit to see it, and PostgreSQL was there.
    pub(super) fn noticeable(&self, profile: Profile) -> Vec<Loss> {
        let must_be_noticed = |loss: &&Loss| {
            let due = loss.at + profile.threshold();
            let late = due + LATE_MAX;
            let lasts = loss.woke.as_ref().is_none_or(|woke| *woke.get().expect("it woke") > late);
            let is_fit = |number: usize| {
                let mut own = self.absences.iter().filter(|absence| absence.number == number);
                !own.any(|absence| absence.meets(due, late))
            };
            let is_hidden = self.outage.is_some_and(|(away, back)| away <= late && back >= loss.at);
            lasts && !is_hidden && (0..SERVERS).any(is_fit)
        };
        self.losses.iter().filter(must_be_noticed).cloned().collect()
    }

    /// By lot; but somebody stays awake, or there would be nobody to take over.
    fn draw(&self, servers: usize, profile: Profile, rng: &mut StdRng) -> Accident {
        let threshold = profile.threshold();
        let coma_is_free = !self.frozen.iter().any(|frozen| frozen.is_coma);
        match rng.random_range(0..100) {
            0..50 => Accident::Kill,
            _ if self.frozen.len() + 1 >= servers => Accident::Kill,
            50..75 if coma_is_free => {
                let time = threshold + Duration::from_millis(rng.random_range(500..2_500));
                Accident::Freeze { time, is_coma: true }
            }
            _ => Accident::Freeze {
                time: threshold.mul_f64(rng.random_range(0.1..0.6)),
                is_coma: false,
            },
        }
    }

    fn thaw_due(&mut self, fleet: &Fleet, begun: Instant) {
        let now = Instant::now();
        let due: Vec<Frozen> = self.frozen.extract_if(.., |it| it.until <= now).collect();
        for frozen in due {
            fleet.sites[frozen.number].signal("CONT");
            let _first = frozen.awake.set(SystemTime::now());
            self.losses.extend(frozen.loss);
            tell(begun, &format!("{} wakes up", frozen.number));
        }
    }

    /// Asks those that are left how many of their writes were refused.
    pub(super) async fn ask_survivors(&mut self, fleet: &Fleet) {
        for site in &fleet.sites {
            let stats = last_words(site, &fleet.token).await;
            self.fenced_writes += stats["fenced_writes"].as_u64().unwrap_or(0);
        }
    }
}

fn tell(begun: Instant, what: &str) {
    println!("{:>7.1} s  {what}", begun.elapsed().as_secs_f64());
}

/// What is lost with a server that says this of itself.
fn loss(stats: &Value, woke: Option<Arc<OnceLock<SystemTime>>>) -> Option<Loss> {
    let instance = stats["owner_id"].as_str()?.to_owned();
    Some(Loss { instance, at: SystemTime::now(), woke })
}

/// Notes when a server that was started says that it listens.
fn note_return(said: Receiver<String>, back: Arc<OnceLock<SystemTime>>) {
    std::thread::spawn(move || {
        if said.recv().is_ok_and(|line| !line.is_empty()) {
            let _first = back.set(SystemTime::now());
        }
    });
}

/// What a server says of itself; nothing, if it cannot answer now.
async fn last_words(site: &Site, token: &str) -> Value {
    let client = reqwest::Client::builder().no_proxy().build().expect("an HTTP client");
    let request = client.get(format!("{}/api/v1/stats", site.url())).bearer_auth(token);
    let Ok(answer) = request.timeout(LAST_WORDS).send().await else { return Value::Null };
    answer.json().await.unwrap_or(Value::Null)
}
