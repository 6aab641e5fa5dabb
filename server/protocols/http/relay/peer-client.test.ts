/** The token of the cluster on its way to other members: what is told where it goes in clear. */
import assert from 'node:assert/strict';
import {createServer} from 'node:http';
import {test, type TestContext} from 'node:test';
import {PeerClient} from './peer-client.ts';

const question = {method: 'GET', path: '/cluster', token: 'secret', timeoutMs: 5_000} as const;

async function listenOn(context: TestContext): Promise<number> {
  const server = createServer((_request, response) => response.end('{}'));
  context.after(() => server.close());
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

function clientIn(context: TestContext, isSecure: boolean) {
  const warnings: unknown[] = [];
  const logger = {
    log: (_level: unknown, event: string, fields?: object) => void warnings.push([event, fields]),
  };
  const client = new PeerClient({isSecure: () => isSecure, authorities: () => [], logger});
  context.after(() => client.close());
  return {client, warnings};
}

test('a member that is asked in clear instead of HTTPS is told once', async context => {
  const port = await listenOn(context);
  const {client, warnings} = clientIn(context, true);
  const peer = {id: 'one', host: '127.0.0.1', httpPort: port, httpsPort: undefined};
  for (let count = 0; count < 2; count++) await client.ask({...question, peer});
  assert.match(JSON.stringify(warnings), /^\[\["cluster\.token-in-clear",\{"to":"127\.0\.0\.1:/);
  assert.equal(warnings.length, 1);
  assert.doesNotMatch(JSON.stringify(warnings), /secret/);
});

test('without HTTPS it is told of members on other machines', async context => {
  const port = await listenOn(context);
  const {client, warnings} = clientIn(context, false);
  const peer = {id: 'one', host: '127.0.0.1', httpPort: port, httpsPort: undefined};
  await client.ask({...question, peer});
  client.warnOfClear({host: 'db-1.db', port: 2490, isSecure: true});
  assert.deepEqual(warnings, []);
  client.warnOfClear({host: 'db-1.db', port: 2480, isSecure: false});
  assert.match(JSON.stringify(warnings), /"to":"db-1\.db:2480"/);
});
