/**
 * Three servers in three network namespaces, between which the kernel loses packets one way or
 * both: what was acknowledged is there, no term has two leaders, and clients are answered while the
 * cut lasts. A test file runs itself in a network of its own.
 *
 * `make test` takes the two cuts that ask the most, a file each: a leader that hears everybody and
 * reaches nobody, and a follower that does. `make cuts` takes them all, in the file of the leader.
 */
import assert from 'node:assert/strict';
import {spawn, spawnSync} from 'node:child_process';
import {test} from 'node:test';
import {findLeader, untilLed} from '../cluster/cluster-system.ts';
import {startSvcCluster, type SvcCluster} from '../cluster/svc-cluster.ts';
import {eventually} from '../time/eventually.ts';
import {NetworkNamespaces} from './network-namespaces.ts';
import {isConsistent, numbersAt, prepareNumbers, UniqueWriters} from './unique-writers.ts';

const inside = 'SVC_TEST_OWN_NETWORK';
const settings = {'svc.ha.electionTimeoutMin': 1_000, 'svc.ha.electionTimeoutMax': 2_000};
const size = 3;

/**
 * Cuts, from whom to whom by their places behind the leader, which is 0. Two that are cut one way
 * have no connection at all, so one of the three must be left that has both of its ways to another.
 */
const allCuts: readonly (readonly [string, readonly (readonly [number, number])[]])[] = [
  ['the leader does not reach one follower', [[0, 1]]],
  ['one follower does not reach the leader', [[1, 0]]],
  [
    'one follower reaches nobody',
    [
      [1, 0],
      [1, 2],
    ],
  ],
  [
    'the leader reaches nobody',
    [
      [0, 1],
      [0, 2],
    ],
  ],
  [
    'nobody reaches the leader',
    [
      [1, 0],
      [2, 0],
    ],
  ],
  [
    'the leader is alone',
    [
      [0, 1],
      [0, 2],
      [1, 0],
      [2, 0],
    ],
  ],
];

type Cuts = typeof allCuts;

/** Who led each term, as members say of themselves. */
class Leaders {
  readonly #byTerm = new Map<number, string>();
  readonly #of: SvcCluster;
  #isOver = false;
  readonly #looking: Promise<void>;

  constructor(of: SvcCluster) {
    this.#of = of;
    this.#looking = Promise.all(of.members.map((_, at) => this.#look(at))).then(() => undefined);
  }

  get terms(): number {
    return this.#byTerm.size;
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await this.#looking;
  }

  async #look(at: number): Promise<void> {
    const member = this.#of.members[at];
    assert.ok(member !== undefined);
    while (!this.#isOver) {
      const {currentTerm, isLeader, localPeerId} = await this.#of
        .clientOf(member)
        .cluster('GET', '');
      if (isLeader === true) this.#saw(Number(currentTerm), String(localPeerId));
      await new Promise(resolve => setTimeout(resolve, 50));
    }
  }

  #saw(term: number, leader: string): void {
    const known = this.#byTerm.get(term) ?? leader;
    assert.equal(leader, known, `term ${term} has two leaders`);
    this.#byTerm.set(term, leader);
  }
}

async function cutAndMend(cuts: Cuts, of: SvcCluster, network: NetworkNamespaces): Promise<string> {
  const told = (): string =>
    of.members.map(({name, process}) => `${name}:\n${process.log}`).join('\n');
  const until = (what: string, holds: () => boolean | Promise<boolean>): Promise<void> =>
    eventually(what, holds, {millisMax: 60_000, told});
  await prepareNumbers(of);
  const leaders = new Leaders(of);
  const load = new UniqueWriters(of, 0);
  const {acknowledged} = load;
  try {
    for (const [what, ways] of cuts) {
      const first = of.members.indexOf(await untilLed(of));
      const placed = ways.map(way => way.map(at => (first + at) % size));
      for (const [from = 0, to = 0] of placed) network.cut(from, to);
      const before = acknowledged.size;
      await until(`${what}: clients are answered`, () => acknowledged.size > before + 100);
      for (const [from = 0, to = 0] of placed) network.mend(from, to);
      await until(
        `${what}, mended: somebody leads`,
        async () => (await findLeader(of)) !== undefined,
      );
    }
  } finally {
    await load.end();
    await leaders.end();
  }
  await until('all hold the same', () => isConsistent(of));
  for (const member of of.members) {
    const stored = await numbersAt(of, member);
    assert.deepEqual(
      [...acknowledged].filter(id => !stored.has(id)),
      [],
      `lost at ${member.name}`,
    );
  }
  return `${load.told}, ${leaders.terms} terms`;
}

async function withinOwnNetwork(cuts: Cuts): Promise<string> {
  const network = NetworkNamespaces.make(size, `svc-${process.pid}`);
  try {
    const addresses = Array.from({length: size}, (_, at) => {
      return {host: network.address(at), raftPort: 2434, httpPort: 2480};
    });
    const launcher = (at: number): readonly string[] => network.launcher(at);
    const of = await startSvcCluster({size, settings, addresses, launcher});
    try {
      return await cutAndMend(cuts, of, network);
    } finally {
      await of.dispose();
    }
  } finally {
    network.remove();
  }
}

/** A test file once more, in a network where nothing else is. */
function inOwnNetwork(
  file: string,
): Promise<{readonly status: number | null; readonly text: string}> {
  const {NODE_TEST_CONTEXT: _, ...inherited} = process.env;
  const words = ['-n', process.execPath, ...process.execArgv, file];
  const child = spawn('unshare', words, {env: {...inherited, [inside]: '1'}});
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (piece: string) => {
      text += piece;
    });
  }
  return new Promise(resolve => child.once('close', status => resolve({status, text})));
}

/** Tests the cut of this name, and all of them where that is asked for; `file` is the caller. */
export function holdsUnderCut(shape: string, file: string): void {
  const isWhole = process.env['CUTS'] === 'all';
  const cuts = isWhole ? allCuts : allCuts.filter(([what]) => what === shape);
  assert.ok(cuts.length > 0, shape);
  if (process.env[inside] !== undefined) {
    test(`${cuts.length} shapes of cuts`, async t => t.diagnostic(await withinOwnNetwork(cuts)));
    return;
  }
  const isAllowed = spawnSync('unshare', ['-n', 'ip', 'netns']).status === 0;
  const skip = isAllowed ? false : 'needs the right to make network namespaces';
  const lost = isWhole ? 'packets lost one way or both' : shape;
  test(`${lost}: nothing is lost, a term has one leader`, {skip, timeout: 600_000}, async t => {
    const {status, text} = await inOwnNetwork(file);
    assert.equal(status, 0, text);
    for (const [, line = ''] of text.matchAll(/ℹ (\d+ acknowledged.*)/g)) t.diagnostic(line);
  });
}
