// Adds all imports of the sources on stdin, from the packages in the given folder.
const { readFileSync } = require('fs');
const { dirname, join, normalize } = require('path');
const sources = JSON.parse(readFileSync(0, 'utf8'));
const modules = process.argv[1];
const queue = Object.keys(sources);
while (queue.length > 0) {
  const path = queue.pop();
  sources[path] ??= { content: readFileSync(join(modules, path), 'utf8') };
  for (const [, found] of sources[path].content.matchAll(/^\s*import\s[^;]*?["']([^"']+)["'][^;]*;/gm)) {
    const imported = found.startsWith('.') ? normalize(join(dirname(path), found)) : found;
    if (!(imported in sources)) queue.push(imported);
  }
}
process.stdout.write(JSON.stringify(sources));
