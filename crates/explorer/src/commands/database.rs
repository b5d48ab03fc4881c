//! `explorer database`: updates, compacts and measures a PostgreSQL database.

use std::fmt::Write;

use anyhow::Context;

use crate::{
    cli::{DatabaseCommand, DatabaseOptions},
    config::location::Location,
    stores::{Create, OlderIndex, Opening, Purpose, ServerVersion, TableSize},
    terminal::print,
};

const MEGABYTE: f64 = 1e6;

pub(crate) async fn run(options: DatabaseOptions) -> anyhow::Result<()> {
    let url = options.database.context("no database: give one with --database, or set EXPLORER_DATABASE")?;
    let older_index = match options.command {
        DatabaseCommand::Migrate => OlderIndex::Replace,
        DatabaseCommand::Compact | DatabaseCommand::Size => OlderIndex::Refuse,
    };
    let location = Location::Database { url, read_url: None, connections: None };
    let opening = Opening { location: &location, create: Create::IfMissing, older_index, purpose: Purpose::Tables };
    let store = opening.open().await?.shared.context("a data folder has no tables")?;
    match options.command {
        DatabaseCommand::Migrate => {
            let ServerVersion { server, schema } = store.version().await?;
            print(&format!("PostgreSQL {server}: the tables are at schema {schema}\n"));
        }
        DatabaseCommand::Compact => {
            let (mut before, mut after) = (0, 0);
            loop {
                let step = store.compact(true).await?;
                before += step.runs_before;
                after += step.runs_after;
                if !step.has_more {
                    break;
                }
                tracing::info!(before, after, "merging rows of lists");
            }
            print(&format!("merged {before} rows into {after}\n"));
        }
        DatabaseCommand::Size => print(&table(&store.sizes().await?)),
    }
    Ok(())
}

fn table(sizes: &[TableSize]) -> String {
    let mut text = format!("{:30}  {:>12}  {:>10}  {:>10}\n", "table", "rows", "heap MB", "indexes MB");
    let mut line = |name: &str, rows: Option<u64>, heap: u64, indexes: u64| {
        let rows = rows.map_or_else(|| "?".to_owned(), |rows| rows.to_string());
        #[expect(clippy::cast_precision_loss, reason = "shown with one decimal")]
        let [heap, indexes] = [heap, indexes].map(|bytes| bytes as f64 / MEGABYTE);
        let _ = writeln!(text, "{name:30}  {rows:>12}  {heap:>10.1}  {indexes:>10.1}");
    };
    for TableSize { table, rows, heap, indexes } in sizes {
        line(table, *rows, *heap, *indexes);
    }
    let sum = |part: fn(&TableSize) -> u64| sizes.iter().map(part).sum();
    line("all", sizes.iter().map(|size| size.rows).sum(), sum(|size| size.heap), sum(|size| size.indexes));
    text
}
