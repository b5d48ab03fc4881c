// Starts ganache on a free loopback port, which its command line does not support.
import { createRequire } from 'node:module';
import { join } from 'node:path';

const { server } = createRequire(join(process.env.EXPLORER_TEST_CLIENTS, 'package.json'))('ganache');

const node = server({ logging: { quiet: true } });
await node.listen(0, '127.0.0.1');
console.log(`Listening on http://127.0.0.1:${node.address().port}`);
