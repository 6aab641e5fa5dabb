/**
 * Real processes in some orders of start, name, list and signal: each forms, joins, refuses with a
 * reason, or says over HTTP what it waits for, and ends within five seconds of the first signal.
 * Two hundred more orders, of ten servers each, are simulated (`make cluster-orders`).
 */
import assert from 'node:assert/strict';
import {mkdirSync, rmSync} from 'node:fs';
import {join} from 'node:path';
import {after, test} from 'node:test';
import {MemberProcess} from '#server/testing/cluster/member-process.ts';
import {eventually} from '#server/testing/time/eventually.ts';
import {freePort} from '#server/testing/worlds/free-port.ts';
import {program, rootPassword, temporaryRoot} from '#server/testing/worlds/server-process.ts';

const folder = temporaryRoot('orders');
const started: MemberProcess[] = [];
const endsWithinMs = 5_000;

after(async () => {
  for (const member of started) await member.kill();
  rmSync(folder, {recursive: true, force: true});
});

interface Planned {
  readonly process: MemberProcess;
  readonly url: string;
}

interface OrderOptions {
  /** The entries of each server's list, by place; default: all of them. */
  readonly listOf?: (at: number) => readonly number[];
  readonly nameOf?: (at: number) => string;
}

let orders = 0;

async function prepare(size: number, options: OrderOptions = {}): Promise<Planned[]> {
  const order = ++orders;
  const ports: (readonly [number, number])[] = [];
  for (let at = 0; at < size; at++) ports.push([await freePort(), await freePort()]);
  const entry = (at: number): string => {
    const [raft, http] = ports[at] ?? [];
    return `db-${at}@127.0.${order}.${at + 1}:{raft:${raft},http:${http}}`;
  };
  return ports.map(([, http], at) => {
    const name = `order-${order}-${at}`;
    const root = join(folder, name);
    mkdirSync(root);
    const host = `127.0.${order}.${at + 1}`;
    const listed = options.listOf?.(at) ?? ports.map((_, number) => number);
    const settings = {
      'svc.server.name': options.nameOf?.(at) ?? `db-${at}`,
      'svc.server.rootPath': root,
      'svc.server.httpIncomingHost': host,
      'svc.server.httpIncomingPort': http,
      'svc.server.readinessRequiresHA': true,
      'svc.ha.enabled': true,
      'svc.ha.serverList': listed.map(entry).join(','),
    };
    const words = Object.entries(settings).flatMap(([key, value]) => ['--set', `${key}=${value}`]);
    const process = new MemberProcess(name, {
      words: [program, 'start', ...words],
      folder: root,
      logFile: join(folder, `${name}.log`),
      environment: {SVC_SERVER_ROOTPASSWORD: rootPassword},
    });
    started.push(process);
    return {process, url: `http://${host}:${http}`};
  });
}

async function statusOf({url}: Planned, path: string): Promise<{status: number; body: string}> {
  try {
    const answer = await fetch(`${url}/api/v1/${path}`);
    return {status: answer.status, body: await answer.text()};
  } catch {
    return {status: 0, body: ''};
  }
}

const serves = (planned: Planned): Promise<void> =>
  eventually(
    `${planned.url} serves`,
    async () => (await statusOf(planned, 'ready')).status === 204,
  );

const waits = (planned: Planned): Promise<void> =>
  eventually(`${planned.url} says what it waits for`, async () => {
    const {status, body} = await statusOf(planned, 'ready');
    return status === 503 && /waits for its cluster/.test(body);
  });

/** One signal; the process is judged by how long it took from there. */
async function stop(...planned: readonly Planned[]): Promise<void> {
  const stopping = planned.map(async ({process}) => {
    const sentAt = performance.now();
    await process.stop(endsWithinMs + 20_000);
    const tookMs = performance.now() - sentAt;
    assert.notEqual(process.ended, 'SIGKILL', process.log);
    return tookMs;
  });
  for (const tookMs of await Promise.all(stopping))
    assert.ok(tookMs < endsWithinMs, `${tookMs} ms`);
}

test('one after the other, the last first, ended in the order of their start', async () => {
  const servers = await prepare(3);
  const [first, second, third] = servers as [Planned, Planned, Planned];
  third.process.start();
  await waits(third);
  second.process.start();
  await waits(second);
  first.process.start();
  for (const server of servers) await serves(server);
  for (const server of [third, second, first]) await stop(server);
});

test('ended while it waits, begun again, all ended at once', async () => {
  const servers = await prepare(3);
  const [first, second, third] = servers as [Planned, Planned, Planned];
  first.process.start();
  await waits(first);
  await stop(first);
  for (const {process} of [second, third, first]) process.start();
  for (const server of servers) await serves(server);
  await stop(...servers);
});

test('one more than the list names joins, one that the list does not name refuses', async () => {
  const servers = await prepare(3, {
    listOf: at => (at === 1 ? [0, 1] : [0]),
    nameOf: at => (at === 2 ? 'stranger' : `db-${at}`),
  });
  const [first, more, stranger] = servers as [Planned, Planned, Planned];
  more.process.start();
  await waits(more);
  stranger.process.start();
  await eventually('the stranger has ended', () => !stranger.process.isRunning);
  assert.equal(stranger.process.ended, 1);
  assert.match(stranger.process.log, /svc.ha.serverList does not say which entry is this server/);
  first.process.start();
  await serves(first);
  await serves(more);
  await stop(first, more);
});
