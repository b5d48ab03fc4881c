// Compiles: an array of standard JSON inputs on stdin, an array of outputs on stdout. The compiler's version is the argument.
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const require = createRequire(join(process.env.EXPLORER_TEST_CLIENTS, 'package.json'));
const solc = require(`solc-${process.argv[2]}`);
const compile = solc.compileStandardWrapper ?? solc.compile;
const inputs = JSON.parse(readFileSync(0, 'utf8'));
const outputs = inputs.map((input) => {
  const started = performance.now();
  const output = JSON.parse(compile(JSON.stringify(input)));
  return { ...output, seconds: (performance.now() - started) / 1000 };
});
process.stdout.write(JSON.stringify(outputs), () => process.exit(0));
