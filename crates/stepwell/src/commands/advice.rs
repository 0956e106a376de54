//! What to do next, in the words of the command line: the server speaks of its routes.

use crate::failure::Failure;

/// What to do next, by the code of a problem.
const ADVICE: [(&str, &str); 12] = [
    ("runbook_not_found", "see `stepwell runbook list` and `stepwell runbook versions`"),
    ("batch_not_found", "see `stepwell batch list`"),
    ("member_not_found", "see `stepwell batch members`"),
    ("unknown_phase", "see `stepwell batch phases`"),
    (
        "invalid_members",
        "correct these lines; `stepwell template download` gives a list with every column",
    ),
    ("batch_ended", "see with `stepwell batch get` how it ended; make a new batch of who is left"),
    (
        "batch_not_manual",
        "wait until the next phase is due, or move T-0 with `stepwell batch move`",
    ),
    ("batch_manual", "move it on with `stepwell batch advance`"),
    ("batch_under_way", "see what is waited for with `stepwell batch explain`, then advance again"),
    ("batch_not_active", "see what is waited for with `stepwell batch explain`"),
    ("batch_paused", "let it go on with `stepwell batch resume`"),
    ("member_failed", "retry it with `stepwell batch operate`, or leave it as it is"),
];

/// The same failure, with advice that can be typed in.
pub(super) fn advised(failure: Failure) -> Failure {
    match ADVICE.iter().find(|(code, _)| *code == failure.code) {
        Some((_, advice)) => failure.next(*advice),
        None => failure,
    }
}
