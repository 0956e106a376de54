//! What an item of a group is about, in the words of the oracle.

use std::sync::Arc;

use stepwell_core::run::Header;
use stepwell_store::{BatchWrite, Create, Item};

use crate::oracle::{Touch, Touched};

pub(super) fn touched(item: &Item) -> Touched {
    match item {
        Item::Create(create) => Touched {
            children: children(&create.children),
            ..Touched::of(
                create.run.id(),
                Touch::Create {
                    header: Arc::clone(&create.run.header),
                    key: create.key,
                    // A run that ends with its creation takes no place.
                    tenant_cap: create.tenant_cap.filter(|_| !create.run.status.is_terminal()),
                },
            )
        },
        Item::Advance(advance) => Touched {
            children: children(&advance.children),
            ..Touched::of(advance.run.id(), Touch::Advance { version: advance.run.version })
        },
        Item::Reschedule { run, .. } => Touched::of(*run, Touch::Reschedule),
        Item::Audit(report) => Touched::of(report.run, Touch::Audit),
        Item::Forward(input) => Touched::of(input.run, Touch::Forward),
        Item::Batch(write) => Touched {
            run: None,
            batch: Some(write.batch.id()),
            touch: Touch::Batch { version: write.batch.version },
            children: runs_of(write),
        },
    }
}

fn children(creates: &[Create]) -> Vec<Arc<Header>> {
    creates.iter().map(|create| Arc::clone(&create.run.header)).collect()
}

/// Every run that begins with a decision on a batch.
fn runs_of(write: &BatchWrite) -> Vec<Arc<Header>> {
    let joined = write.joined.iter().map(|member| &member.run);
    let begun = joined.chain(&write.retaken).chain(&write.runs);
    begun
        .flat_map(|create| std::iter::once(create).chain(&create.children))
        .map(|create| Arc::clone(&create.run.header))
        .collect()
}
