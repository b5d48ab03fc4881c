'use strict';
// Runs one build of the compiler. Requests and answers are frames: four bytes of length, then the bytes; an answer begins
// with a mark of its kind. The compiler gets no way to read files: imports that are not part of the input fail.
const fs = require('fs');
const soljson = process.argv[1];

const READY = 0;
const OUTPUT = 1;
const FAILED = 2;

function answer(mark, text) {
  const body = Buffer.from(text, 'utf8');
  const head = Buffer.alloc(5);
  head.writeUInt32BE(body.length + 1, 0);
  head.writeUInt8(mark, 4);
  for (let frame = Buffer.concat([head, body]); frame.length > 0; ) {
    try {
      frame = frame.subarray(fs.writeSync(1, frame));
    } catch (error) {
      if (error.code !== 'EAGAIN') throw error;
    }
  }
}

function load() {
  const offered = { fs, path: require('path'), crypto: require('crypto') };
  const holder = { exports: {} };
  const required = (name) => {
    if (offered[name]) return offered[name];
    throw new Error(`the compiler asks for ${name}`);
  };
  const text = fs.readFileSync(soljson, 'utf8');
  const wrapped = `(function (module, exports, require, __filename, __dirname) {${text}\n})`;
  require('vm').runInThisContext(wrapped)(holder, holder.exports, required, '/soljson.js', '/');
  return holder.exports;
}

// What a build prints must not be taken for an answer.
console.log = console.info = console.warn = console.error = () => {};
for (const name of ['fetch', 'WebSocket', 'EventSource', 'XMLHttpRequest']) delete globalThis[name];

const compiler = load();
process.removeAllListeners('uncaughtException');
process.removeAllListeners('unhandledRejection');
process.on('uncaughtException', (error) => {
  answer(FAILED, String(error && error.message));
  process.exit(1);
});

const modern = typeof compiler._solidity_compile === 'function';
const run = modern
  ? compiler.cwrap('solidity_compile', 'string', ['number', 'number', 'number'])
  : compiler.cwrap('compileStandard', 'string', ['number', 'number']);

// The input goes to the heap. Left to the glue it would go to the stack, at four bytes for each character, and a megabyte
// and a quarter of it would be too much.
function compile(input) {
  const size = compiler.lengthBytesUTF8(input) + 1;
  const place = compiler._malloc(size);
  if (place === 0) throw new Error('there is no memory for the input');
  compiler.stringToUTF8(input, place, size);
  const output = run(place, 0, 0);
  compiler._free(place);
  return output;
}

answer(READY, compiler.cwrap(modern ? 'solidity_version' : 'version', 'string', [])());

let received = Buffer.alloc(0);
process.stdin.on('data', (bytes) => {
  received = Buffer.concat([received, bytes]);
  while (received.length >= 4 && received.length >= 4 + received.readUInt32BE(0)) {
    const end = 4 + received.readUInt32BE(0);
    const input = received.toString('utf8', 4, end);
    received = received.subarray(end);
    const output = compile(input);
    if (compiler._solidity_reset) compiler._solidity_reset();
    answer(OUTPUT, output);
  }
});
process.stdin.on('end', () => process.exit(0));
