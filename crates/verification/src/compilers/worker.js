'use strict';
// Runs one build of the compiler. Requests and responses are frames: four bytes of length, then the bytes; a response
// starts with one byte for its kind. The compiler cannot read files: imports that are not part of the input fail.
const fs = require('fs');
const soljson = process.argv[1];

const READY = 0;
const OUTPUT = 1;
const FAILED = 2;

function respond(kind, text) {
  const body = Buffer.from(text, 'utf8');
  const head = Buffer.alloc(5);
  head.writeUInt32BE(body.length + 1, 0);
  head.writeUInt8(kind, 4);
  for (let frame = Buffer.concat([head, body]); frame.length > 0; ) {
    try {
      frame = frame.subarray(fs.writeSync(1, frame));
    } catch (error) {
      if (error.code !== 'EAGAIN') throw error;
    }
  }
}

function load() {
  const allowed = { fs, path: require('path'), crypto: require('crypto') };
  const holder = { exports: {} };
  const required = (name) => {
    if (allowed[name]) return allowed[name];
    throw new Error(`the compiler requires the module ${name}`);
  };
  const text = fs.readFileSync(soljson, 'utf8');
  const wrapped = `(function (module, exports, require, __filename, __dirname) {${text}\n})`;
  require('vm').runInThisContext(wrapped)(holder, holder.exports, required, '/soljson.js', '/');
  return holder.exports;
}

// What a build prints must not be mixed with responses.
console.log = console.info = console.warn = console.error = () => {};
for (const name of ['fetch', 'WebSocket', 'EventSource', 'XMLHttpRequest']) delete globalThis[name];

const compiler = load();
process.removeAllListeners('uncaughtException');
process.removeAllListeners('unhandledRejection');
process.on('uncaughtException', (error) => {
  respond(FAILED, String(error && error.message));
  process.exit(1);
});

const modern = typeof compiler._solidity_compile === 'function';
const run = modern
  ? compiler.cwrap('solidity_compile', 'string', ['number', 'number', 'number'])
  : compiler.cwrap('compileStandard', 'string', ['number', 'number']);

// The input is put on the heap. Emscripten's glue code would put it on the stack, four bytes per character, which
// overflows at about 1.25 MB.
function compile(input) {
  const size = compiler.lengthBytesUTF8(input) + 1;
  const pointer = compiler._malloc(size);
  if (pointer === 0) throw new Error('out of memory for the input');
  compiler.stringToUTF8(input, pointer, size);
  const output = run(pointer, 0, 0);
  compiler._free(pointer);
  return output;
}

respond(READY, compiler.cwrap(modern ? 'solidity_version' : 'version', 'string', [])());

let received = Buffer.alloc(0);
process.stdin.on('data', (bytes) => {
  received = Buffer.concat([received, bytes]);
  while (received.length >= 4 && received.length >= 4 + received.readUInt32BE(0)) {
    const end = 4 + received.readUInt32BE(0);
    const input = received.toString('utf8', 4, end);
    received = received.subarray(end);
    const output = compile(input);
    if (compiler._solidity_reset) compiler._solidity_reset();
    respond(OUTPUT, output);
  }
});
process.stdin.on('end', () => process.exit(0));
