/** An open transaction of a console: kept alive while somebody thinks, honest about its end. */
import assert from 'node:assert/strict';
import http from 'node:http';
import type {AddressInfo} from 'node:net';
import {mock, test} from 'node:test';
import {Client} from '#server/client/client.ts';
import {ConsoleTransaction} from './transaction.ts';

/** A server that begins transactions and answers the status that `statusOf` gives a path. */
async function served(
  statusOf: (path: string) => number,
  work: (client: Client, asked: () => Promise<string>) => Promise<void>,
): Promise<void> {
  const waiting: ((path: string) => void)[] = [];
  const server = http.createServer((request, response) => {
    request.resume();
    const path = request.url?.split('/')[3] ?? '';
    const status = statusOf(path);
    const headers = {'svc-session-id': 'AS-1', 'Content-Type': 'application/json'};
    response.writeHead(status, headers).end(status === 204 ? '' : '{"result":[],"detail":"no"}');
    response.once('close', () => waiting.shift()?.(path));
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const {port} = server.address() as AddressInfo;
  const client = new Client({url: `http://127.0.0.1:${port}`, credentials: {kind: 'none'}});
  try {
    await work(client, () => new Promise(resolve => waiting.push(resolve)));
  } finally {
    client.close();
    server.closeAllConnections();
    await new Promise(resolve => server.close(resolve));
    mock.timers.reset();
  }
}

test('an idle transaction is used before the server takes it for left', async () => {
  mock.timers.enable({apis: ['setInterval']});
  await served(
    path => (path === 'query' ? 200 : 204),
    async (client, asked) => {
      const transaction = await ConsoleTransaction.begin(client, 'db', undefined);
      for (let round = 0; round < 3; round++) {
        const next = asked();
        mock.timers.tick(5_000);
        assert.equal(await next, 'query');
      }
      await transaction.commit();
      mock.timers.tick(60_000);
      assert.equal(transaction.isFailed, false);
    },
  );
});

test('one that the server has ended is failed, and then only rolled back', async () => {
  mock.timers.enable({apis: ['setInterval']});
  await served(
    path => (path === 'query' ? 404 : 204),
    async (client, asked) => {
      const transaction = await ConsoleTransaction.begin(client, 'db', 'REPEATABLE_READ');
      const next = asked();
      mock.timers.tick(5_000);
      await next;
      while (!transaction.isFailed) await new Promise(resolve => setImmediate(resolve));
      await assert.rejects(transaction.commit(), /was rolled back by the server/);
      await transaction.rollback();
    },
  );
});
