#!/usr/bin/env node
// The JavaScript build of the Solidity compiler 0.8.20 with the command line of the native one, as far as forge uses it. Forge
// stores it without its extension.
const { createRequire } = require('node:module');
const { readFileSync, writeSync } = require('node:fs');
const { join } = require('node:path');

const solc = createRequire(join(process.env.EXPLORER_TEST_CLIENTS, 'package.json'))('solc-0.8.20');
if (process.argv.includes('--version')) {
  console.log(`solc, the solidity compiler commandline interface\nVersion: ${solc.version()}`);
} else {
  const output = Buffer.from(solc.compile(readFileSync(0, 'utf8')));
  for (let sent = 0; sent < output.length; ) sent += writeSync(1, output, sent);
}
process.exit(0);
