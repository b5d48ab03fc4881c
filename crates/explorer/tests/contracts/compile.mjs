// Compiles the contracts of this folder, and adds Uniswap's and PancakeSwap's published builds.
//
//   node compile.mjs
//
// Prints { <contract>: { bytecode } } as JSON. The result is cached next to the libraries until the sources change.
import { createHash } from "node:crypto";
import { existsSync, readFileSync, readdirSync, renameSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const libraries = process.env.EXPLORER_TEST_CLIENTS;
const require = createRequire(join(libraries, "package.json"));

const PUBLISHED = {
  PancakeV3Factory: "@pancakeswap/v3-core/artifacts/contracts/PancakeV3Factory.sol/PancakeV3Factory.json",
  PancakeV3Pool: "@pancakeswap/v3-core/artifacts/contracts/PancakeV3Pool.sol/PancakeV3Pool.json",
  UniswapV2Factory: "@uniswap/v2-core/build/UniswapV2Factory.json",
  UniswapV3Factory: "@uniswap/v3-core/artifacts/contracts/UniswapV3Factory.sol/UniswapV3Factory.json",
};

const files = readdirSync(here).filter((name) => name.endsWith(".sol")).sort();
const sources = Object.fromEntries(files.map((name) => [name, { content: readFileSync(join(here, name), "utf8") }]));
const versions = readFileSync(join(libraries, "package.json"), "utf8");
const sum = createHash("sha256").update(JSON.stringify([sources, versions])).digest("hex").slice(0, 16);
const cached = join(libraries, `contracts-${sum}.json`);

if (!existsSync(cached)) {
  const contracts = { ...compile(), ...publishedBuilds() };
  // Renamed when complete, so that concurrent readers see all of it or nothing.
  const unfinished = `${cached}.${process.pid}`;
  writeFileSync(unfinished, JSON.stringify(contracts));
  renameSync(unfinished, cached);
}
process.stdout.write(readFileSync(cached));

function compile() {
  const solc = require("solc-0.8.37");
  const settings = {
    optimizer: { enabled: true, runs: 200 },
    outputSelection: { "*": { "*": ["evm.bytecode.object"] } },
  };
  const read = (path) => ({ contents: readFileSync(join(libraries, "node_modules", path), "utf8") });
  const input = JSON.stringify({ language: "Solidity", sources, settings });
  const output = JSON.parse(solc.compile(input, { import: read }));
  const faults = (output.errors ?? []).filter((message) => message.severity === "error");
  if (faults.length > 0) throw new Error(faults.map((fault) => fault.formattedMessage).join("\n"));
  const contracts = files.flatMap((file) => Object.entries(output.contracts[file] ?? {}));
  return Object.fromEntries(contracts.map(([name, { evm }]) => [name, { bytecode: `0x${evm.bytecode.object}` }]));
}

function publishedBuilds() {
  const bytecode = (path) => {
    const code = JSON.parse(readFileSync(join(libraries, "node_modules", path), "utf8")).bytecode;
    return code.startsWith("0x") ? code : `0x${code}`;
  };
  return Object.fromEntries(Object.entries(PUBLISHED).map(([name, path]) => [name, { bytecode: bytecode(path) }]));
}
