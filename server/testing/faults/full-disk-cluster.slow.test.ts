/**
 * Members of a real cluster whose disk others fill up at once, that of log and databases alike or
 * that of the log alone, while clients write: the rest goes on, a leader hands over, the member's
 * status says why it does not go on, and when there is room again the member does so too, by
 * itself, however long that took. Nothing that was
 * acknowledged is lost, and all hold the same.
 */
import assert from 'node:assert/strict';
import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {after, test} from 'node:test';
import {findLeader, type Member, untilLed} from '../cluster/cluster-system.ts';
import {startSvcCluster, type SvcCluster} from '../cluster/svc-cluster.ts';
import {eventually} from '../time/eventually.ts';
import {SmallDisk} from './small-disk.ts';
import {isConsistent, numbersAt, prepareNumbers, UniqueWriters} from './unique-writers.ts';

const MB = 1 << 20;
const base = mkdtempSync(join(tmpdir(), 'svc-full-disk-cluster-'));
const settings = {
  'svc.storage.freeSpaceMin': '24MB',
  'svc.ha.logSegmentSize': '4MB',
  'svc.storage.writeBufferSize': '2MB',
  'svc.ha.electionTimeoutMin': 1_000,
  'svc.ha.electionTimeoutMax': 2_000,
};

/** A cluster each of whose members has a small disk, mounted at `place` in its root. */
class SmallCluster {
  readonly #folder: string;
  readonly #settings: Readonly<Record<string, string | number>>;
  readonly #disks = new Map<string, SmallDisk>();
  #running: SvcCluster | undefined;

  constructor(name: string, place: string, more: Readonly<Record<string, string>>) {
    this.#folder = join(base, name);
    this.#settings = {...settings, ...more};
    for (const member of ['svc_0', 'svc_1', 'svc_2']) {
      const disk = SmallDisk.mount(join(this.#folder, member, place), 200 * MB);
      if (disk !== undefined) this.#disks.set(member, disk);
    }
  }

  get skip(): string | false {
    return this.#disks.size < 3 ? 'needs the right to mount a tmpfs' : false;
  }

  disk({name}: Member): SmallDisk {
    const disk = this.#disks.get(name);
    assert(disk !== undefined);
    return disk;
  }

  async cluster(): Promise<SvcCluster> {
    if (this.#running !== undefined) return this.#running;
    const given = {size: 3, folder: this.#folder, settings: this.#settings};
    this.#running = await startSvcCluster(given);
    await prepareNumbers(this.#running);
    return this.#running;
  }

  async until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
    const told = (): string =>
      (this.#running?.members ?? [])
        .map(({name, process}) => `${name}:\n${process.log}`)
        .join('\n');
    await eventually(what, holds, {millisMax: 100_000, told});
  }

  async dispose(): Promise<void> {
    await this.#running?.dispose(true);
    this.#running = undefined;
    for (const disk of this.#disks.values()) disk.unmount();
    this.#disks.clear();
  }
}

const layouts = [
  ['its disk', new SmallCluster('whole', '.', {})],
  ['the disk of its log', new SmallCluster('log', 'log', {'svc.ha.raftStorageDirectory': 'log'})],
] as const;

after(async () => {
  for (const [, small] of layouts) await small.dispose();
  rmSync(base, {recursive: true, force: true});
});

/** Numbers of writers go on from test to test of a cluster. */
let next = 0;

async function alertsOf(of: SvcCluster, member: Member): Promise<readonly string[]> {
  const {alerts} = await of.clientOf(member).cluster('GET', '');
  return (alerts as readonly {readonly id: string}[]).map(({id}) => id);
}

/** Waits until the rest goes on, led by another one, and the member says what is wrong with it. */
async function fillUnder(small: SmallCluster, load: UniqueWriters, member: Member): Promise<void> {
  const of = await small.cluster();
  const {acknowledged} = load;
  await small.until('writers have begun', () => acknowledged.size > 200);
  small.disk(member).fill(0);
  await small.until('its status says so', async () => {
    return (await alertsOf(of, member)).includes('disk-full');
  });
  await small.until('another one leads', async () => {
    const led = await findLeader(of);
    return led !== undefined && led !== member;
  });
  const before = acknowledged.size;
  await small.until('the others go on', () => acknowledged.size > before + 200);
}

const shortMs = 0;
/** Longer than a minute, the patience of earlier releases: make full-disks. */
const longMs = process.env['FULL_DISKS'] === 'long' ? 65_000 : 5_000;

async function fillAndEmpty(small: SmallCluster, who: string, fullMs: number): Promise<string> {
  const of = await small.cluster();
  const leader = await untilLed(of);
  const member = who === 'the leader' ? leader : of.members.find(one => one !== leader);
  assert.ok(member !== undefined);
  const disk = small.disk(member);
  const acknowledged = new Set<number>();
  const told: string[] = [];
  const underLoad = async (work: (load: UniqueWriters) => Promise<void>): Promise<void> => {
    const load = new UniqueWriters(of, next);
    try {
      await work(load);
    } finally {
      await load.end();
      next = load.next;
      for (const id of load.acknowledged) acknowledged.add(id);
      told.push(load.told);
    }
  };
  try {
    await underLoad(load => fillUnder(small, load, member));
    // Without load: it would fill the disks of the others.
    const until = performance.now() + fullMs;
    await small.until('it has been full for so long', () => performance.now() > until);
    disk.empty();
    await underLoad(async load => {
      await small.until('writes go on', () => load.acknowledged.size > 200);
    });
  } finally {
    disk.empty();
  }
  await small.until(
    'the alert ends',
    async () => !(await alertsOf(of, member)).includes('disk-full'),
  );
  assert.ok(
    of.members.every(({process}) => process.isRunning),
    'no member ended',
  );
  await small.until('all hold the same', () => isConsistent(of));
  await member.process.kill();
  member.process.start();
  await small.until('somebody leads', async () => (await findLeader(of)) !== undefined);
  for (const one of of.members) {
    await small.until(`${one.name} has everything`, async () => {
      const stored = await numbersAt(of, one).catch(() => new Set<number>());
      return [...acknowledged].every(id => stored.has(id));
    });
  }
  return told.join('; ');
}

for (const [what, small] of layouts) {
  for (const [who, fullMs] of [
    ['a follower', longMs],
    ['the leader', shortMs],
  ] as const) {
    test(
      `${who}: ${what} is full at once, and it goes on by itself when there is room`,
      {
        skip: small.skip,
        timeout: 300_000,
      },
      async t => t.diagnostic(await fillAndEmpty(small, who, fullMs)),
    );
  }
  // One cluster at a time.
  test(`${what}: the end`, () => small.dispose());
}
