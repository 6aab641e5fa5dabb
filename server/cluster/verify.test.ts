/** The roll-up of a verification: what is said of each member, and of all of them. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {type LocalDigest, type PeerDigest, verifyResult} from './verify.ts';

const about = {database: 'music', localPeerId: 'a_2434'};
const local = digest({'Artist_0.bucket': 11, 'Artist[name].index': 12, schema: 13});

function digest(checksums: Readonly<Record<string, number>>): LocalDigest {
  const files = Object.entries(checksums).map(([name, checksum]) => ({
    name,
    checksum,
    size: 100,
    type: name.split('.').at(-1) ?? '',
  }));
  return {localServer: 'svc_0', files};
}

const peer = (peerId: string, of: PeerDigest['digest']): PeerDigest => ({
  peerId,
  digest: of,
  httpAddress: `${peerId}:2480`,
});

const same = peer('b', digest({'Artist_0.bucket': 11, 'Artist[name].index': 12, schema: 13}));
const differs = peer('c', digest({'Artist_0.bucket': 11, 'Artist[name].index': 99, names: 1}));
const silent = peer('d', {error: 'it did not answer within 60 s'});

const cases = [
  // peers, overall, because
  [[], 'ALL_CONSISTENT', 'nobody else is there'],
  [[same], 'ALL_CONSISTENT', 'all were asked and hold the same'],
  [[same, differs], 'INCONSISTENCY_DETECTED', 'one differs'],
  [[same, silent], 'VERIFICATION_INCOMPLETE', 'one could not be asked'],
  [[silent, differs], 'INCONSISTENCY_DETECTED', 'what was seen weighs more than what was not'],
] as const;

for (const [peers, expected, because] of cases) {
  test(`${peers.length} peers: ${expected}, since ${because}`, () => {
    assert.equal(verifyResult(about, local, peers).overallStatus, expected);
  });
}

test('what differs is named on both sides, and what one lacks is missing', () => {
  const [verified] = verifyResult(about, local, [differs]).peers;
  assert.equal(verified?.status, 'INCONSISTENT');
  assert.equal(verified?.matchingFiles, 1);
  assert.equal(verified?.mismatchedFiles, 3);
  assert.deepEqual(verified?.mismatches, [
    {file: 'Artist[name].index', type: 'index', localChecksum: 12, remoteChecksum: 99},
    {file: 'schema', type: 'schema', localChecksum: 13, remoteChecksum: 'MISSING'},
    {file: 'names', type: 'names', localChecksum: 'MISSING', remoteChecksum: 1},
  ]);
});

test('equal checksums of different sizes are no match', () => {
  const longer = {...local, files: local.files.map(file => ({...file, size: file.size + 1}))};
  const [verified] = verifyResult(about, local, [peer('b', longer)]).peers;
  assert.equal(verified?.mismatchedFiles, 3);
});

test('a member that cannot be asked has no figures, and says why', () => {
  const [verified] = verifyResult(about, local, [silent]).peers;
  assert.equal(verified?.status, 'ERROR');
  assert.equal(verified?.error, 'it did not answer within 60 s');
  assert.equal(verified?.matchingFiles, 0);
});
