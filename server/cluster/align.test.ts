/** ALIGN DATABASE: whose copy is replaced, whose is not, and what the rows say of it. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {alignDatabase, type AlignedMember, type ClusterCopies} from './align.ts';
import {type PeerDigest, verifyResult} from './verify.ts';

/** What each member holds in its one bucket, the leader `a` first; a text: why it does not say. */
type Held = Record<string, number | string>;

/** Members that do as they are told; `refuses` keeps its copy. */
class Copies implements ClusterCopies {
  readonly held: Held;
  readonly replaced: string[] = [];
  compared = 0;
  readonly #refuses: string | undefined;

  constructor(held: Held, refuses?: string) {
    this.held = {...held};
    this.#refuses = refuses;
  }

  compare(database: string) {
    this.compared += 1;
    const [local, ...others] = Object.entries(this.held).map(([peerId, sum]): PeerDigest => {
      const files = [{name: 'T_0.bucket', checksum: Number(sum), size: 9, type: 'bucket'}];
      const digest = typeof sum === 'string' ? {error: sum} : {localServer: peerId, files};
      return {peerId, httpAddress: undefined, digest};
    });
    assert.ok(local !== undefined && 'files' in local.digest);
    const about = {database, localPeerId: local.peerId};
    return Promise.resolve(verifyResult(about, local.digest, others));
  }

  replace(peerId: string): Promise<void> {
    if (peerId === this.#refuses) return Promise.reject(new Error('it takes one already'));
    this.replaced.push(peerId);
    this.held[peerId] = this.held['a'] ?? 0;
    return Promise.resolve();
  }
}

const goesOn = {aborted: false};

function shown({member, found, done, status}: AlignedMember): string {
  return [member, found, done, status].join(' ');
}

const cases = [
  // held, rows, comparisons, because
  [{a: 1}, ['a CONSISTENT nothing CONSISTENT'], 1, 'nobody else is there'],
  [
    {a: 1, b: 1, c: 1},
    [
      'a CONSISTENT nothing CONSISTENT',
      'b CONSISTENT nothing CONSISTENT',
      'c CONSISTENT nothing CONSISTENT',
    ],
    1,
    'all hold the same',
  ],
  [
    {a: 1, b: 1, c: 2},
    [
      'a CONSISTENT nothing CONSISTENT',
      'b CONSISTENT nothing CONSISTENT',
      'c INCONSISTENT taken anew CONSISTENT',
    ],
    2,
    'one differs',
  ],
  [
    {a: 1, b: 2},
    ['a CONSISTENT nothing CONSISTENT', 'b INCONSISTENT taken anew CONSISTENT'],
    2,
    'of two the leader is believed',
  ],
  [
    {a: 1, b: 2, c: 3},
    [
      'a CONSISTENT nothing CONSISTENT',
      'b INCONSISTENT taken anew CONSISTENT',
      'c INCONSISTENT taken anew CONSISTENT',
    ],
    2,
    'no copy is held by more than the leader’s',
  ],
  [
    {a: 1, b: 2, c: 2},
    [
      'a INCONSISTENT nothing INCONSISTENT',
      'b INCONSISTENT nothing INCONSISTENT',
      'c INCONSISTENT nothing INCONSISTENT',
    ],
    1,
    'most hold another copy than the leader',
  ],
  [
    {a: 1, b: 'silent', c: 2},
    [
      'a CONSISTENT nothing CONSISTENT',
      'b ERROR nothing ERROR',
      'c INCONSISTENT taken anew CONSISTENT',
    ],
    2,
    'who is silent stays as he is',
  ],
] as const;

for (const [held, rows, compared, because] of cases) {
  test(`${JSON.stringify(held)}: ${because}`, async () => {
    const copies = new Copies(held);
    assert.deepEqual((await alignDatabase(copies, 'db', goesOn)).map(shown), rows);
    assert.equal(copies.compared, compared);
  });
}

test('parts that differed are named, and so is why a member is as it was', async () => {
  const copies = new Copies({a: 1, b: 2, c: 3}, 'b');
  const [, b, c] = await alignDatabase(copies, 'db', goesOn);
  assert.deepEqual(b, {
    member: 'b',
    found: 'INCONSISTENT',
    differing: ['T_0.bucket'],
    done: 'nothing',
    status: 'INCONSISTENT',
    error: 'it takes one already',
  });
  assert.equal(c?.done, 'taken anew');
  const [leader] = await alignDatabase(new Copies({a: 1, b: 2, c: 2}), 'db', goesOn);
  assert.match(leader?.error ?? '', /Move the leadership/);
});

test('told to stop, it replaces no further copy', async () => {
  const copies = new Copies({a: 1, b: 2, c: 3});
  await assert.rejects(alignDatabase(copies, 'db', {aborted: true}), {code: 'query.terminated'});
  assert.deepEqual(copies.replaced, []);
});
