// Called by ./build, which puts the pinned compiler on the module path.
"use strict";

const fs = require("node:fs");
const path = require("node:path");
const solc = require("solc");
const { keccak256 } = require("js-sha3"); // comes with solc

const { version, settings } = require("./compiler.json");
const SOURCES = path.join(__dirname, "src");
const ARTIFACTS = path.join(__dirname, "artifacts");

const sources = readSources();
const output = compile(sources);
fs.rmSync(ARTIFACTS, { recursive: true, force: true });
fs.mkdirSync(ARTIFACTS);
const artifacts = writeArtifacts(output);
writeJson("manifest.json", {
  compiler: { version, build: solc.version() },
  settings,
  sources: sourceHashes(output),
  artifacts,
});
console.log(`Wrote ${Object.keys(artifacts).length} artifacts`);

function readSources() {
  const files = fs
    .readdirSync(SOURCES, { recursive: true })
    .filter((name) => name.endsWith(".sol"))
    .map((name) => name.split(path.sep).join("/"))
    .sort();
  return Object.fromEntries(files.map((name) => [name, { content: fs.readFileSync(path.join(SOURCES, name), "utf8") }]));
}

function compile(sources) {
  const input = { language: "Solidity", sources, settings };
  const output = JSON.parse(solc.compile(JSON.stringify(input)));
  const messages = output.errors ?? [];
  for (const message of messages) console.error(message.formattedMessage);
  // Warnings fail the build as well: these sources are shown as examples.
  if (messages.length > 0) process.exit(1);
  return output;
}

// Abstract contracts and interfaces have no creation code and are skipped.
function writeArtifacts(output) {
  const written = {};
  for (const [source, contracts] of Object.entries(output.contracts)) {
    for (const [contract, { abi, evm }] of Object.entries(contracts)) {
      if (evm.bytecode.object === "") continue;
      if (contract in written) throw new Error(`two contracts are named ${contract}`);
      const bytecode = `0x${evm.bytecode.object}`;
      writeJson(`${contract}.json`, { contract, source, abi, bytecode });
      written[contract] = { source, keccak256: `0x${keccak256(Buffer.from(evm.bytecode.object, "hex"))}` };
    }
  }
  return Object.fromEntries(Object.entries(written).sort());
}

// The hashes from the compiler's own metadata, so they are of exactly the sources that it compiled.
function sourceHashes(output) {
  const hashes = {};
  for (const contracts of Object.values(output.contracts)) {
    for (const { metadata } of Object.values(contracts)) {
      for (const [source, seen] of Object.entries(JSON.parse(metadata).sources)) hashes[source] = seen.keccak256;
    }
  }
  return Object.fromEntries(Object.entries(hashes).sort());
}

// Indented, but with each ABI entry on one line, for short diffs.
function writeJson(name, value) {
  const { abi, ...rest } = value;
  let text = JSON.stringify(abi === undefined ? rest : { ...rest, abi: "@abi" }, null, 2);
  if (abi !== undefined) {
    const lines = abi.map((entry) => `    ${JSON.stringify(compact(entry))}`).join(",\n");
    text = text.replace('"@abi"', () => (abi.length === 0 ? "[]" : `[\n${lines}\n  ]`));
  }
  fs.writeFileSync(path.join(ARTIFACTS, name), `${text}\n`);
}

// internalType is redundant here and doubles the size.
function compact(value) {
  if (Array.isArray(value)) return value.map(compact);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => key !== "internalType")
      .map(([key, inner]) => [key, compact(inner)]),
  );
}
