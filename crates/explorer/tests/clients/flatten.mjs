// Flattens contracts of packages and their imports into one file.
import { readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

const modules = join(process.env.EXPLORER_TEST_CLIENTS, 'node_modules');
const seen = new Set();
const parts = [];

function visit(path) {
  if (seen.has(path)) return;
  seen.add(path);
  const text = readFileSync(join(modules, path), 'utf8');
  const imports = /^import\s[^;]*?["']([^"']+)["'][^;]*;[^\n]*\n?/gm;
  for (const [, found] of text.matchAll(imports)) {
    visit(found.startsWith('.') ? normalize(join(dirname(path), found)) : found);
  }
  const body = text.replace(imports, '').replace(/^pragma solidity[^;]*;[^\n]*\n?/gm, '');
  parts.push(`// ${path}\n${body.replace(/^\/\/ SPDX-License-Identifier:[^\n]*\n/gm, '').trim()}\n`);
}

for (const path of process.argv.slice(3)) visit(path);
const head = `// SPDX-License-Identifier: MIT\npragma solidity ${process.argv[2]};\n\n`;
process.stdout.write(head + parts.join('\n'));
