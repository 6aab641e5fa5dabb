/** What another server says of its snapshot is believed only when every part of it can be. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {decodeManifest, encodeManifest} from './manifest.ts';

const good = {
  version: 2,
  checkpoint: {
    last: {index: 9, term: 2},
    membership: [{id: 'a_1', role: 'voter', priority: 0}],
  },
  state: {
    version: 1,
    formatLevel: 1,
    logId: '0'.repeat(32),
    index: 3,
    durableIndex: 9,
    nextDatabaseId: 3,
    databases: [{id: 2, name: 'music'}],
    positions: {'2': 8},
    documents: {'server-users.jsonl': {version: 1, base64: ''}},
  },
  databases: [{id: 2, name: 'music', files: [{name: '000012.sst', bytes: 100}]}],
};

type Value = Record<string, unknown>;

/** A copy in which what lies under `path` is `value`. */
function changed(path: string, value: unknown): string {
  const copy = structuredClone(good) as Value;
  const names = path.split('/');
  const last = names.pop() ?? '';
  let at = copy;
  for (const name of names) at = at[name] as Value;
  at[last] = value;
  return JSON.stringify(copy);
}

test('a manifest comes back as it was', () => {
  const manifest = decodeManifest(JSON.stringify(good), {fileBytesMax: 1000});
  assert.deepEqual(JSON.parse(encodeManifest(manifest)), good);
});

const hostile: readonly (readonly [path: string, value: unknown, says: RegExp])[] = [
  ['version', 1, /version 1, this release reads 2/],
  ['databases/0/files/0/name', '../../etc/passwd', /named '..\/..\/etc\/passwd'/],
  ['databases/0/files/0/name', '/etc/000001.sst', /a file of music named/],
  ['databases/0/files/0/name', '.snapshot-pending', /a file of music named/],
  ['databases/0/files/0/name', 'a'.repeat(300), /a file of music named/],
  ['databases/0/files/0/bytes', 1001, /svc.ha.snapshotMaxEntrySize \(1000\)/],
  ['databases/0/files/0/bytes', -1, /the size of 000012.sst/],
  ['databases/0/files/0/bytes', '100', /the size of 000012.sst/],
  ['databases/0/files/1', {name: '000012.sst', bytes: 1}, /a file twice/],
  ['databases/0/id', 3, /no files of music/],
  ['databases/1', {id: 5, name: 'x', files: []}, /other databases than its state/],
  ['state/databases/0/name', '../config', /a database name/],
  ['state/databases/0/name', '.snapshots', /a database name/],
  ['state/databases/0/id', 2.5, /the id of music/],
  ['state/databases/1', {id: 2, name: 'films'}, /named twice/],
  ['state/positions', {}, /the position of music/],
  ['state/positions/2', 10, /the position of music/],
  ['state/logId', 'x', /the id of its log/],
  ['state/documents/..%2Fstate', {version: 1, base64: ''}, /a document named/],
  ['state/documents/server-users.jsonl', {version: 1}, /server-users.jsonl/],
  ['state/durableIndex', 10, /two indexes/],
  ['checkpoint/last/term', null, /no place in the log/],
  ['checkpoint/membership/0/role', 'king', /a member/],
  ['state', [], /the server state/],
];

for (const [path, value, says] of hostile) {
  test(`${path} as ${JSON.stringify(value)?.slice(0, 40)} is refused by name`, () => {
    assert.throws(() => decodeManifest(changed(path, value), {fileBytesMax: 1000}), says);
  });
}

test('what is no JSON object is refused', () => {
  for (const text of ['', '[]', '1', '{"version":1', 'null']) {
    assert.throws(() => decodeManifest(text, {fileBytesMax: 1}), /no JSON object/);
  }
});
