/**
 * Input that is built to cost much, against one real server: bodies over the limit and just below
 * it, patterns and parameters that grow, and statements that need much memory.
 *
 * Whatever is sent: the status that is due, an answer within 20 s (without what the server waited
 * for a processor), and what hostile-round.ts holds.
 */
import assert from 'node:assert/strict';
import type {Socket} from 'node:net';
import {after, before, test} from 'node:test';
import {setTimeout as pause} from 'node:timers/promises';
import {bombStatements} from './bad-statements.ts';
import {head, type HostileWorld} from './fuzz-world.ts';
import {check, HostileRound} from './hostile-round.ts';

let round: HostileRound;
let world: HostileWorld;

before(async () => {
  round = await HostileRound.start({
    'svc.network.socketTimeout': 2_000,
    'svc.queryMemoryMax': '64MB',
  });
  ({world} = round);
});

after(() => round?.dispose());

test('bodies over the limit are refused as soon as it shows', async () => {
  const lies = await world.raw(head('POST /api/v1/command/hostile', 'Content-Length: 1073741824'));
  assert.match(lies, /^HTTP\/1\.1 413 .*107374182/s);
  const socket = await world.connection();
  let received = '';
  socket.on('data', data => (received += data.toString('latin1')));
  // Each wait for it to drain listens for its end too.
  socket.setMaxListeners(0);
  socket.write(head('POST /api/v1/command/hostile', 'Transfer-Encoding: chunked'));
  const piece = Buffer.from(`100000\r\n${' '.repeat(1 << 20)}\r\n`);
  for (let sent = 0; sent < 200 && received === '' && !socket.destroyed; sent++) {
    if (!socket.write(piece)) await Promise.race([drained(socket), pause(2_000)]);
  }
  await Promise.race([new Promise(resolve => socket.once('close', resolve)), pause(3_000)]);
  assert.match(received, /^HTTP\/1\.1 413 /);
  socket.destroy();
  round.checkOthers('large bodies');
});

function drained(socket: Socket): Promise<unknown> {
  return new Promise(resolve => {
    socket.once('drain', resolve);
    socket.once('close', resolve);
  });
}

test('a body of 100 MB that is built to cost much does not', async () => {
  const bodies: readonly (readonly [string, number])[] = [
    [`{"language":"sql","command":"SELECT 1","params":{"a":[${'[],'.repeat(30_000_000)}[]]}}`, 413],
    [`{"language":"sql","command":"SELECT 1","params":{"a":"${'\\n'.repeat(30_000_000)}"}}`, 200],
    [`{"language":"sql","command":"${'x'.repeat(90_000_000)}"}`, 400],
    ['['.repeat(90_000_000), 400],
  ];
  for (const [body, status] of bodies) {
    check(await world.call('/command/hostile', {body}), {status, says: /./}, body.slice(0, 60));
  }
  round.checkOthers('bodies of 100 MB');
});

test('bombs of patterns and parameters are answered', async () => {
  for (const {command, params, ...wanted} of bombStatements) {
    const more = params === undefined ? {} : {params};
    check(await world.command(command, more), wanted, command.slice(0, 60));
  }
  round.checkOthers('bombs');
});

test('what needs more memory than a statement may have is refused', async () => {
  const product = 'MATCH {type: Many, as: a}, {type: Many, as: b}, {type: Many, as: c}';
  const needs = [
    `${product} RETURN a.t, b.t, c.t ORDER BY a.t, b.t`,
    `${product} RETURN count(DISTINCT a.t + b.t + c.t)`,
    `${product} RETURN list(a.t)`,
  ];
  for (const command of needs) {
    check(await world.command(command), {status: 400, says: /QueryHeapBudget/}, command);
  }
  round.checkOthers('products', 2_000);
});

test('memory is back, nothing was stored, nothing lies outside the root', () =>
  round.checkNothingLeft());

test('after a kill everything acknowledged is there and nothing else', () =>
  round.checkAfterKill());
