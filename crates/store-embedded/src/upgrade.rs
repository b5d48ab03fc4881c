//! Brings data of earlier versions up to date. Records are migrated, one version at a time. An index is not: a new one takes
//! over the records, and is filled from the node.

use std::path::Path;

use store::{OlderIndex, StoreError};

use crate::{
    engine::{Batch, Engine, EngineOptions, View},
    meta::{self, RECORDS, SCHEMA, Versions},
    record_takeover::take_over,
    reindex::{Reindex, Served},
    replacement::{Replacement, folder_of_next},
};

/// Changes records of one version into those of the next.
type Step = fn(&View, &mut Batch) -> Result<(), StoreError>;

/// One for each version after the first, in order.
const STEPS: [Step; RECORDS as usize - 1] = [];

/// Brings an open folder up to date. Returns the engine to use from now on.
pub(crate) fn upgrade(
    engine: Engine,
    data: &Path,
    options: &EngineOptions,
    older: OlderIndex,
) -> Result<Engine, StoreError> {
    let current = Versions { index: SCHEMA, records: RECORDS };
    let found = match meta::find_versions(&engine.view())? {
        Some(found) => found,
        None => {
            let mut batch = engine.batch();
            meta::put_versions(&mut batch, current);
            batch.commit()?;
            current
        }
    };
    if found.index > SCHEMA {
        return Err(StoreError::NewerSchema { stored: found.index, known: SCHEMA });
    }
    if found.records > RECORDS {
        return Err(StoreError::NewerRecords { stored: found.records, known: RECORDS });
    }
    if found.index < SCHEMA && older == OlderIndex::Refuse {
        return Err(StoreError::OlderSchema { stored: found.index, known: SCHEMA });
    }
    migrate_records(&engine, found, &STEPS)?;
    if older != OlderIndex::Replace {
        return Ok(engine);
    }
    let served = if found.index < SCHEMA { Served::Older } else { Served::Readable };
    let engine = Reindex::of(data).take_place(data, engine, served, options)?;
    match meta::find_versions(&engine.view())? {
        Some(Versions { index, .. }) if index < SCHEMA => replace_index(engine, data, options, index),
        _ => Ok(engine),
    }
}

/// Each step is one commit with the new version, so that one that was interrupted is repeated as a whole.
fn migrate_records(engine: &Engine, found: Versions, steps: &[Step]) -> Result<(), StoreError> {
    for (version, step) in (2..).zip(steps).filter(|(version, _)| *version > found.records) {
        let mut batch = engine.batch();
        step(&engine.view(), &mut batch)?;
        meta::put_versions(&mut batch, Versions { records: version, ..found });
        batch.commit_durably()?;
        tracing::info!(version, "migrated the records of users");
    }
    Ok(())
}

fn replace_index(old: Engine, data: &Path, options: &EngineOptions, schema: u32) -> Result<Engine, StoreError> {
    let view = old.view();
    tracing::warn!(
        schema,
        "an earlier version has written this index: the chain is indexed again; keys, webhooks, messages and verified \
         contracts are kept"
    );
    let replacement = Replacement::begin(data)?;
    let next = Engine::open(&folder_of_next(data), options.clone())?;
    let rows = take_over(&view, &next)?;
    drop((view, old, next));
    replacement.complete()?;
    tracing::info!(rows, "took over the records of users");
    Engine::open(data, options.clone())
}

#[cfg(test)]
mod tests;
