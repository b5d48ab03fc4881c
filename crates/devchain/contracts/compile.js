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
const manifest = { compiler: { version, build: solc.version() }, settings, sources: sourceHashes(output), artifacts };
write("manifest.json", JSON.stringify(manifest, null, 2));
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

// Abstract contracts and interfaces have no creation code and are skipped. The interface of a contract is in its metadata,
// byte for byte as the compiler wrote it: the code contains its hash.
function writeArtifacts(output) {
  const written = {};
  for (const [source, contracts] of Object.entries(output.contracts)) {
    for (const [contract, { evm, metadata, storageLayout }] of Object.entries(contracts)) {
      if (evm.bytecode.object === "") continue;
      if (contract in written) throw new Error(`two contracts are named ${contract}`);
      if (Object.keys(evm.bytecode.linkReferences).length > 0) throw new Error(`${contract} has to be linked`);
      const { object, immutableReferences } = evm.deployedBytecode;
      const fields = {
        contract,
        source,
        bytecode: `0x${evm.bytecode.object}`,
        runtime: `0x${object}`,
        immutables: immutableReferences,
        storageLayout,
        metadata,
      };
      const lines = Object.entries(fields).map(([name, value]) => `  ${JSON.stringify(name)}: ${JSON.stringify(value)}`);
      write(`${contract}.json`, `{\n${lines.join(",\n")}\n}`);
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

function write(name, text) {
  fs.writeFileSync(path.join(ARTIFACTS, name), `${text}\n`);
}
