//! `explorer repair`: restores a damaged data folder.

use std::fmt::Write;

use crate::{
    cli::RepairOptions,
    config::location::{self, Location},
    stores::{self, LostRecords, OlderIndex, Opening, Repair},
    terminal::print,
};

pub(crate) async fn run(options: RepairOptions) -> anyhow::Result<()> {
    let data = location::data_folder(options.data)?;
    let repaired = stores::repair(&data)?;
    let Some(repair) = repaired else {
        print(&format!("{} is not damaged.\n", data.display()));
        return Ok(());
    };
    let location = Location::Folder(data);
    let opened = Opening::of_command(&location, OlderIndex::Refuse).open().await?;
    let tip = opened.store.reader().find_tip().await?.map(|tip| tip.number);
    print(&report(&repair, tip));
    Ok(())
}

fn report(repair: &Repair, tip: Option<u64>) -> String {
    let Repair { found, last_commit, newest_known, lost, copies } = repair;
    let mut text = format!("Damage: {found}.\nThe index was restored to commit {last_commit}.\n");
    // Writing to a string cannot fail.
    let _ = match newest_known.saturating_sub(*last_commit) {
        0 => writeln!(text, "No later commit is known."),
        1 => writeln!(text, "Commit {newest_known} was acknowledged later and is lost."),
        count => writeln!(text, "{count} later commits, up to {newest_known}, are lost."),
    };
    let _ = match tip {
        Some(tip) => writeln!(text, "Blocks above {tip} are fetched again."),
        None => writeln!(text, "All blocks are fetched again."),
    };
    text.push_str(&describe(lost));
    let _ = writeln!(
        text,
        "Other changes to API keys, webhooks, deliveries and verified contracts in the lost commits may be lost, too."
    );
    let _ = writeln!(text, "The original files were copied to {}", copies.display());
    text
}

fn describe(lost: &LostRecords) -> String {
    let list = |ids: &std::collections::BTreeSet<u64>| ids.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
    let mut text = String::new();
    for (name, ids) in [("API keys", &lost.api_keys), ("Webhooks", &lost.webhooks)] {
        if !ids.is_empty() {
            let _ = writeln!(text, "{name} changed in the lost commits: {}", list(ids));
        }
    }
    if !lost.verified.is_empty() {
        let hex = |bytes: &Vec<u8>| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let addresses: Vec<String> = lost.verified.iter().map(|address| format!("0x{}", hex(address))).collect();
        let _ = writeln!(text, "Verified contracts changed in the lost commits: {}", addresses.join(", "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_lists_lost_records_and_blocks_to_refetch() {
        let repair = Repair {
            found: "the journal 0.jnl cannot be read at byte 77".to_owned(),
            last_commit: 40,
            newest_known: 45,
            lost: LostRecords { api_keys: [3, 4].into(), webhooks: [9].into(), ..LostRecords::default() },
            copies: "/data/before-repair-1".into(),
        };
        let text = report(&repair, Some(120));
        for expected in
            ["byte 77", "restored to commit 40", "5 later commits, up to 45", "above 120", "API keys changed", "3, 4"]
        {
            assert!(text.contains(expected), "{expected}: {text}");
        }
        assert!(report(&repair, None).contains("All blocks"));
    }
}
