//! Runs the receiver code of docs/webhooks.md on the example of docs/webhooks.md.

#[allow(unreachable_pub, reason = "it stands on the page as it stands here")]
mod verify;

use std::{path::PathBuf, process::Command};

use serde_json::{Value, json};

use crate::support::{permits, wallet_clients::installed_clients};

const PAGE: &str = include_str!("../../../../../docs/webhooks.md");

fn snippet(language: &str) -> &'static str {
    let (_, rest) = PAGE.split_once(&format!("```{language}\n")).unwrap_or_else(|| panic!("no code in {language}"));
    rest.split_once("```\n").unwrap().0
}

fn documented(name: &str) -> &'static str {
    let (_, rest) = PAGE.split_once(&format!("| `{name}` | `")).unwrap_or_else(|| panic!("{name} is not documented"));
    rest.split_once("` |").unwrap().0
}

/// A message, and whether it is valid.
struct Case {
    secret: String,
    body: String,
    signature: String,
    genuine: bool,
}

/// The documented example, and invalid variants of it.
fn cases() -> Vec<Case> {
    let (secret, body, signature) = (documented("secret"), documented("body"), documented("x-explorer-signature"));
    let case = |secret: &str, body: &str, signature: &str, genuine| Case {
        secret: secret.to_owned(),
        body: body.to_owned(),
        signature: signature.to_owned(),
        genuine,
    };
    vec![
        case(secret, body, signature, true),
        case(secret, &body.replace("1000000000000000000", "9000000000000000000"), signature, false),
        case(secret, &format!("{body} "), signature, false),
        case(&secret.replace("AAEC", "AAED"), body, signature, false),
        case(secret, body, &signature.replace("7afb", "7afc"), false),
        case(secret, body, signature.trim_start_matches("sha256="), false),
        case(secret, body, &signature[..signature.len() - 2], false),
        case(secret, body, "sha256=", false),
        case(secret, body, "sha256=\u{e9}", false),
        case(secret, body, "", false),
    ]
}

fn expected() -> Vec<bool> {
    cases().iter().map(|case| case.genuine).collect()
}

/// A language and the program that runs it.
struct Language {
    name: &'static str,
    /// The file for the documented code.
    file: &'static str,
    program: PathBuf,
    /// Reads the cases and prints the result of the documented function for each.
    driver: (&'static str, &'static str),
}

fn languages() -> [Language; 4] {
    [
        Language {
            name: "js",
            file: "verify.mjs",
            program: "node".into(),
            driver: (
                "driver.mjs",
                r#"import { readFileSync } from "node:fs";
import { verify } from "./verify.mjs";
const cases = JSON.parse(readFileSync("cases.json", "utf8"));
console.log(JSON.stringify(cases.map(({ secret, body, signature }) => verify(secret, Buffer.from(body), signature))));
"#,
            ),
        },
        Language {
            name: "python",
            file: "verify.py",
            program: installed_clients().join("python/bin/python"),
            driver: (
                "driver.py",
                r#"import json
from verify import verify
with open("cases.json", encoding="utf-8") as file:
    cases = json.load(file)
print(json.dumps([verify(case["secret"], case["body"].encode(), case["signature"]) for case in cases]))
"#,
            ),
        },
        Language {
            name: "php",
            file: "verify.php",
            program: "php".into(),
            driver: (
                "driver.php",
                r#"<?php
require 'verify.php';
$cases = json_decode(file_get_contents('cases.json'), true, 512, JSON_THROW_ON_ERROR);
echo json_encode(array_map(fn($case) => verify($case['secret'], $case['body'], $case['signature']), $cases));
"#,
            ),
        },
        Language {
            name: "ruby",
            file: "verify.rb",
            program: "ruby".into(),
            driver: (
                "driver.rb",
                r#"require "json"
require_relative "verify"
cases = JSON.parse(File.read("cases.json", encoding: "UTF-8"))
puts JSON.generate(cases.map { |one| verify(one["secret"], one["body"], one["signature"]) })
"#,
            ),
        },
    ]
}

fn run(language: &Language) -> Vec<bool> {
    let folder = tempfile::tempdir().unwrap();
    let cases: Vec<Value> = cases()
        .into_iter()
        .map(|case| json!({ "secret": case.secret, "body": case.body, "signature": case.signature }))
        .collect();
    let (driver, code) = language.driver;
    for (file, text) in [
        (language.file, snippet(language.name)),
        (driver, code),
        ("cases.json", &serde_json::to_string(&cases).unwrap()),
    ] {
        std::fs::write(folder.path().join(file), text).unwrap();
    }
    let mut command = Command::new(&language.program);
    let output = command.arg(driver).current_dir(folder.path()).output().unwrap_or_else(|error| {
        panic!("{} cannot be run: {error}. ./test gets it", language.program.display());
    });
    assert!(output.status.success(), "{}: {}", language.name, String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[tokio::test]
async fn the_documented_code_accepts_only_the_documented_example() {
    permits::enter();
    for language in languages() {
        let name = language.name;
        let verdicts = tokio::task::spawn_blocking(move || run(&language)).await.unwrap();
        assert_eq!(verdicts, expected(), "{name}");
    }
}

#[test]
fn the_documented_rust_code_accepts_only_the_documented_example() {
    assert_eq!(snippet("rust"), include_str!("documented/verify.rs"));
    let verdicts: Vec<bool> =
        cases().iter().map(|case| verify::verify(&case.secret, case.body.as_bytes(), &case.signature)).collect();
    assert_eq!(verdicts, expected());
}

#[test]
fn every_documented_language_is_tested() {
    let shown = PAGE.split("```").skip(1).step_by(2).filter_map(|block| block.lines().next());
    let shown: std::collections::BTreeSet<&str> = shown.filter(|language| *language != "sh").collect();
    let run = languages().iter().map(|language| language.name).chain(["rust"]).collect();
    assert_eq!(shown, run);
    assert_eq!(shown.len(), 5);
}
