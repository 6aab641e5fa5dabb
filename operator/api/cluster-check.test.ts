/** What is refused of a SvcCluster's spec, and what a spec becomes with its defaults. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {checkCluster} from './cluster-check.ts';
import type {JsonMap} from './kube-object.ts';
import {clusterObject} from './testing-cluster.ts';

test('the shortest spec gets every default', () => {
  const {cluster, problems} = checkCluster(clusterObject());
  assert.deepEqual(problems, []);
  const {spec} = cluster;
  assert.equal(spec.replicas, 3);
  assert.deepEqual(spec.ha.electionTimeoutMs, {min: 2_000, max: 5_000});
  assert.deepEqual(spec.storage.retention, {whenDeleted: 'Retain', whenScaled: 'Retain'});
  assert.equal(spec.services.rw.type, 'ClusterIP');
  assert.equal(spec.bootstrap, undefined);
});

test('fields that are not known are dropped', () => {
  const {cluster} = checkCluster(clusterObject({replica: 5, ha: {raft: 1}}));
  assert.equal('replica' in cluster.spec, false);
  assert.equal('raft' in cluster.spec.ha, false);
});

const refused: readonly (readonly [string, JsonMap, RegExp])[] = [
  ['no version', {version: undefined}, /^spec\.version: is required$/],
  ['a version of another form', {version: 'latest'}, /^spec\.version: 'latest' does not match/],
  ['a text for a number', {replicas: '3'}, /^spec\.replicas: must be a whole number$/],
  ['half a member', {replicas: 2.5}, /^spec\.replicas: must be a whole number$/],
  ['no members', {replicas: 0}, /^spec\.replicas: must be from 1 to 9, and is 0$/],
  ['too many', {replicas: 10}, /^spec\.replicas: must be from 1 to 9, and is 10$/],
  ['no storage', {storage: undefined}, /^spec\.storage: is required$/],
  ['a size that is none', {storage: {size: 'big'}}, /^spec\.storage\.size: 'big' does not match/],
  ['a list for an object', {ha: []}, /^spec\.ha: must be an object$/],
  ['another word', {ha: {quorum: 'one'}}, /^spec\.ha\.quorum: must be one of majority, all/],
  ['text for a flag', {pdb: {enabled: 'yes'}}, /^spec\.pdb\.enabled: must be true or false$/],
  [
    'an object for a list',
    {image: {pullSecrets: {}}},
    /^spec\.image\.pullSecrets: must be a list$/,
  ],
  [
    'equal election times',
    {ha: {electionTimeoutMs: {min: 500, max: 500}}},
    /^spec\.ha\.electionTimeoutMs: electionTimeoutMs\.min must be below max/,
  ],
  [
    'a priority by name',
    {ha: {priorities: {first: 1}}},
    /^spec\.ha: priorities are named by ordinal/,
  ],
  [
    'an own setting',
    {settings: {'svc.ha.enabled': 'false'}},
    /^spec\.settings: settings holds a key/,
  ],
  ['half a name', {settings: {txRetries: '3'}}, /^spec\.settings: settings are named in full/],
  ['an unknown setting', {settings: {'svc.txRetrys': '3'}}, /^spec\.settings: .*svc\.txRetries/],
  [
    'a value out of range',
    {settings: {'svc.txRetries': '-1'}},
    /^spec\.settings: .*svc\.txRetries/,
  ],
  ['keys without a Secret', {tls: {mode: 'Secret'}}, /^spec\.tls: tls\.secretName/],
  [
    'two beginnings',
    {bootstrap: {initialize: {}, recovery: {claim: {name: 'a'}}}},
    /^spec\.bootstrap: /,
  ],
  [
    'an address without names',
    {bootstrap: {recovery: {url: 'https://a'}}},
    /^spec\.bootstrap\.recovery: .*needs databases/,
  ],
  ['no source', {bootstrap: {recovery: {}}}, /^spec\.bootstrap\.recovery: .*exactly one/],
  [
    'a log without a size',
    {storage: {size: '1Gi', raft: {separate: true}}},
    /^spec\.storage\.raft: /,
  ],
  ['no kind of volume', {backups: {volume: {}}}, /^spec\.backups\.volume: .*either/],
];

for (const [what, spec, problem] of refused) {
  test(`refused: ${what}`, () => {
    const {problems} = checkCluster(clusterObject(spec));
    assert.equal(problems.length, 1, problems.join('\n'));
    assert.match(problems[0] ?? '', problem);
  });
}

test('a long name is refused, since those of its objects would not fit', () => {
  const {problems} = checkCluster(clusterObject({}, {metadata: {name: 'a'.repeat(41)}}));
  assert.match(problems[0] ?? '', /^metadata\.name: has more than 40 characters/);
});

const begun = {
  initialMembers: ['db-0.db-headless.shop.svc.cluster.local_2434'],
  clusterName: 'db',
  version: '26.11.1',
  storage: {requested: '10Gi', lastGood: '10Gi', resizing: []},
};

test('a port that the volumes of a former cluster of the name do not have is refused', () => {
  const object = clusterObject({ha: {raftPort: 2500}});
  assert.deepEqual(checkCluster(object, undefined).problems, []);
  assert.deepEqual(checkCluster(object, 2500).problems, []);
  const {problems, cluster} = checkCluster(object, 2434);
  assert.match(problems.join('\n'), /^spec\.ha\.raftPort: the volumes .* have 2434 in their names/);
  assert.equal(cluster.spec.ha.raftPort, 2434, 'by which its members are known meanwhile');
});

const changes: readonly (readonly [string, JsonMap, RegExp | undefined])[] = [
  ['a later patch', {version: '26.11.3'}, undefined],
  ['an earlier patch', {version: '26.11.0'}, undefined],
  ['a later minor', {version: '27.1.0'}, undefined],
  ['an earlier minor', {version: '26.10.9'}, /version cannot go below/],
  ['a larger volume', {storage: {size: '11Gi'}}, undefined],
  ['a smaller volume', {storage: {size: '9Gi'}}, /storage\.size cannot shrink/],
  ['another port', {ha: {raftPort: 2500}}, /raftPort cannot change/],
  ['another name', {clusterName: 'other'}, /clusterName cannot change/],
  ['the same name, written out', {clusterName: 'db'}, undefined],
];

for (const [what, spec, problem] of changes) {
  test(`past the API server, to a running cluster: ${what}`, () => {
    const {problems} = checkCluster(clusterObject(spec, {status: begun}));
    if (problem === undefined) assert.deepEqual(problems, []);
    else assert.match(problems.join('\n'), problem);
  });
}
