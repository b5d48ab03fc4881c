// Called by ./build, which puts the pinned compiler on the module path.
"use strict";

const fs = require("node:fs");
const path = require("node:path");
const solc = require("solc");

const SOURCES = path.join(__dirname, "src");
const ARTIFACTS = path.join(__dirname, "artifacts");

const names = fs.readdirSync(SOURCES, { recursive: true }).filter((name) => name.endsWith(".sol")).sort();
const sources = Object.fromEntries(names.map((name) => [name, { content: fs.readFileSync(path.join(SOURCES, name), "utf8") }]));
const settings = {
  // An old EVM version, so that the code runs on all chains.
  evmVersion: "paris",
  optimizer: { enabled: true, runs: 200 },
  metadata: { bytecodeHash: "none", appendCBOR: false },
  outputSelection: { "*": { "*": ["evm.bytecode.object"] } },
};
const output = JSON.parse(solc.compile(JSON.stringify({ language: "Solidity", sources, settings })));
const faults = (output.errors ?? []).filter((message) => message.severity === "error");
for (const fault of faults) console.error(fault.formattedMessage);
if (faults.length > 0) process.exit(1);

fs.rmSync(ARTIFACTS, { recursive: true, force: true });
fs.mkdirSync(ARTIFACTS);
for (const contracts of Object.values(output.contracts)) {
  for (const [contract, { evm }] of Object.entries(contracts)) {
    fs.writeFileSync(path.join(ARTIFACTS, `${contract}.hex`), `${evm.bytecode.object}\n`);
  }
}
