// Compiles the standard JSON input on stdin with the package at the path that is given, in the package's own glue, twice:
// a compiler is slower the first time. Prints what came out, and the seconds of both, the first with the compiler's start.
const { join } = require('path');

// The package of 0.8.14 lacks a file of its glue; that of the newest takes every build.
function load(path) {
  try {
    return require(path);
  } catch (error) {
    if (error.code !== 'MODULE_NOT_FOUND') throw error;
    return require(join(path, '..', 'solc-0.8.37', 'wrapper'))(require(join(path, 'soljson.js')));
  }
}

const input = require('fs').readFileSync(0, 'utf8');
const seconds = [];
let output;
let begun = performance.now();
const compiler = load(process.argv[1]);
const compile = compiler.compileStandardWrapper ?? compiler.compile;
for (let round = 0; round < 2; round++) {
  output = JSON.parse(compile(input));
  seconds.push((performance.now() - begun) / 1000);
  begun = performance.now();
}
process.stdout.write(JSON.stringify({ output, seconds }), () => process.exit(0));
