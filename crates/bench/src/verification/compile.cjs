// Compiles the standard JSON input on stdin with the package at the path that is given, in the package's own glue, twice:
// a compiler is slower the first time. Prints what came out, and the seconds of both.
const compiler = require(process.argv[1]);
const compile = compiler.compileStandardWrapper ?? compiler.compile;
const input = require('fs').readFileSync(0, 'utf8');
const seconds = [];
let output;
for (let round = 0; round < 2; round++) {
  const begun = performance.now();
  output = JSON.parse(compile(input));
  seconds.push((performance.now() - begun) / 1000);
}
process.stdout.write(JSON.stringify({ output, seconds }), () => process.exit(0));
