// Compiles the standard JSON input on stdin twice with the package at the given path, since a compiler is slower the first
// time. Prints the output and the seconds of both runs; the first includes the start of the compiler.
const { join } = require('path');

// The package of 0.8.14 lacks a file of its wrapper; the wrapper of the newest package supports every build.
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
let started = performance.now();
const compiler = load(process.argv[1]);
const compile = compiler.compileStandardWrapper ?? compiler.compile;
for (let round = 0; round < 2; round++) {
  output = JSON.parse(compile(input));
  seconds.push((performance.now() - started) / 1000);
  started = performance.now();
}
process.stdout.write(JSON.stringify({ output, seconds }), () => process.exit(0));
