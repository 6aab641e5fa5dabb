/**
 * Members of a real cluster whose disk others fill up at once, log and databases alike, while
 * clients write: the rest goes on, and when there is room again the member does so too, by itself.
 * Nothing that was acknowledged is lost, and all hold the same.
 */
import assert from 'node:assert/strict';
import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {after, test} from 'node:test';
import type {Client} from '#server/client/client.ts';
import {ServerError} from '#server/client/server-error.ts';
import {findLeader, type Member, untilLed} from '../cluster/cluster-system.ts';
import {startSvcCluster, type SvcCluster} from '../cluster/svc-cluster.ts';
import {eventually} from '../time/eventually.ts';
import {SmallDisk} from './small-disk.ts';

const MB = 1 << 20;
const base = mkdtempSync(join(tmpdir(), 'svc-full-disk-cluster-'));
const disks = new Map<string, SmallDisk>();
for (const name of ['svc_0', 'svc_1', 'svc_2']) {
  const disk = SmallDisk.mount(join(base, name), 200 * MB);
  if (disk !== undefined) disks.set(name, disk);
}
const skip = disks.size < 3 ? 'needs the right to mount a tmpfs' : false;
const settings = {
  'svc.storage.freeSpaceMin': '24MB',
  'svc.ha.logSegmentSize': '4MB',
  'svc.storage.writeBufferSize': '2MB',
  'svc.ha.electionTimeoutMin': 1_000,
  'svc.ha.electionTimeoutMax': 2_000,
};
const writers = 8;
const answerMillisMax = 5_000;
let running: SvcCluster | undefined;

after(async () => {
  await running?.dispose(true);
  for (const disk of disks.values()) disk.unmount();
  rmSync(base, {recursive: true, force: true});
});

async function cluster(): Promise<SvcCluster> {
  if (running !== undefined) return running;
  running = await startSvcCluster({size: 3, folder: base, settings});
  const client = running.client(await untilLed(running));
  await client.createDatabase('d');
  await client.command('d', 'CREATE VERTEX TYPE V');
  await client.command('d', 'CREATE PROPERTY V.id LONG');
  await client.command('d', 'CREATE INDEX ON V (id) UNIQUE');
  client.close();
  return running;
}

function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const told = (): string =>
    (running?.members ?? []).map(({name, process}) => `${name}:\n${process.log}`).join('\n');
  return eventually(what, holds, {millisMax: 60_000, told});
}

let next = 0;

/** Writers at all members, each id once, until they are told to end. */
class Load {
  readonly acknowledged = new Set<number>();
  refused = 0;
  unknown = 0;
  readonly #clients: readonly Client[];
  readonly #working: readonly Promise<void>[];
  #isOver = false;

  constructor(of: SvcCluster) {
    this.#clients = of.members.map(member => of.client(member, answerMillisMax));
    this.#working = Array.from({length: writers}, (_, index) => this.#write(index));
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#working);
    for (const client of this.#clients) client.close();
  }

  async #write(index: number): Promise<void> {
    for (let turn = index; !this.#isOver; turn += 1) {
      const client = this.#clients[turn % this.#clients.length];
      assert.ok(client !== undefined);
      const id = next++;
      const params = {id, filler: 'x'.repeat(2_000)};
      try {
        await client.command('d', 'INSERT INTO V SET id = :id, filler = :filler', {params});
        this.acknowledged.add(id);
      } catch (error) {
        if (error instanceof ServerError && error.exceptionName === 'NeedRetryException') {
          this.refused += 1;
        } else this.unknown += 1;
        await new Promise(resolve => setTimeout(resolve, 10));
      }
    }
  }
}

async function idsAt(of: SvcCluster, member: Member): Promise<Set<number>> {
  const client = of.client(member);
  const stored = new Set<number>();
  for await (const row of client.queryStream('d', 'SELECT id FROM V', {limit: -1})) {
    stored.add(Number(row['id']));
  }
  client.close();
  return stored;
}

async function isConsistent(of: SvcCluster): Promise<boolean> {
  const client = of.client(await untilLed(of));
  try {
    const path = '/api/v1/cluster/verify/d';
    return (await client.send({method: 'POST', path, again: true})).text.includes('ALL_CONSISTENT');
  } finally {
    client.close();
  }
}

for (const who of ['a follower', 'the leader'] as const) {
  test(`${who} whose disk is full at once goes on by itself when there is room`, {
    skip,
    timeout: 300_000,
  }, async t => {
    const of = await cluster();
    const leader = await untilLed(of);
    const member = who === 'the leader' ? leader : of.members.find(one => one !== leader);
    const disk = disks.get(member?.name ?? '');
    assert.ok(member !== undefined && disk !== undefined);
    const load = new Load(of);
    const {acknowledged} = load;
    try {
      await until('writers have begun', () => acknowledged.size > 200);
      disk.fill(0);
      if (who === 'a follower') {
        const before = acknowledged.size;
        await until('the others write', () => acknowledged.size > before + 200);
      } else {
        // Whoever leads then: it waits for room, or another one has taken over.
        const before = acknowledged.size + load.refused + load.unknown;
        await until('clients are answered', () => {
          return acknowledged.size + load.refused + load.unknown > before + 20;
        });
      }
      disk.empty();
      const before = acknowledged.size;
      await until('writes go on', () => acknowledged.size > before + 200);
    } finally {
      disk.empty();
      await load.end();
    }
    t.diagnostic(
      `${acknowledged.size} acknowledged, ${load.refused} refused, ${load.unknown} unknown`,
    );
    assert.ok(
      of.members.every(({process}) => process.isRunning),
      'no member ended',
    );
    await until('all hold the same', () => isConsistent(of));
    await member.process.kill();
    member.process.start();
    await until('somebody leads', async () => (await findLeader(of)) !== undefined);
    for (const one of of.members) {
      await until(`${one.name} has everything`, async () => {
        const stored = await idsAt(of, one).catch(() => new Set<number>());
        return [...acknowledged].every(id => stored.has(id));
      });
    }
  });
}
