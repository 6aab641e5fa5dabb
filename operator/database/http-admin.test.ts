/** What the operator makes of servers that hang, never end, or answer with nonsense. */
import assert from 'node:assert/strict';
import {once} from 'node:events';
import {createServer, type RequestListener, type ServerResponse} from 'node:http';
import {test} from 'node:test';
import {AdminError, type AdminReason} from './admin.ts';
import {HttpAdmin} from './http-admin.ts';

const json = {'content-type': 'application/json'};
const statusSecondsMax = 8;

const servers: readonly (readonly [string, RequestListener, AdminReason])[] = [
  ['never answers', () => {}, 'silent'],
  ['answers with half of it', (_, response) => response.writeHead(200, json).write('{'), 'silent'],
  ['never ends its answer', (_, response) => pour(response.writeHead(200, json)), 'silent'],
  ['breaks off', (_, response) => response.destroy(), 'silent'],
  ['answers with no JSON', (_, response) => response.writeHead(200).end('<html>'), 'other'],
  ['answers with other JSON', (_, response) => response.writeHead(200, json).end('[1]'), 'other'],
  ['has an error of its own', (_, response) => response.writeHead(500).end(), 'other'],
];

/** Writes as much as is taken, for as long as it is. */
function pour(response: ServerResponse): void {
  while (!response.destroyed && response.write(Buffer.alloc(1 << 20, ' '))) {}
  response.once('drain', () => pour(response));
}

for (const [what, listener, reason] of servers) {
  test(`a server that ${what} is ${reason}, in time`, async () => {
    const server = createServer(listener).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const {port} = server.address() as {readonly port: number};
    const admin = new HttpAdmin();
    const began = performance.now();
    try {
      await assert.rejects(
        admin.status({host: '127.0.0.1', address: undefined, port, password: 'secret'}),
        (error: unknown) => {
          assert.ok(error instanceof AdminError, String(error));
          assert.equal(error.reason, reason, error.message);
          return true;
        },
      );
    } finally {
      admin.close();
      server.close();
      server.closeAllConnections();
    }
    assert.ok(performance.now() - began < statusSecondsMax * 1_000);
  });
}
