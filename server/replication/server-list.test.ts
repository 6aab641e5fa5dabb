/** The list of peers: both forms, whose entry is whose, and what is refused. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import fc from 'fast-check';
import {Refusal} from '#server/base/errors.ts';
import {type DeclaredPeer, ordinalOf, ownPeer, parseServerList, peerId} from './server-list.ts';

const options = {raftPort: 2434, suffix: ''};

const read: readonly (readonly [string, readonly Partial<DeclaredPeer>[]])[] = [
  ['', []],
  ['a.example', [{name: undefined, host: 'a.example', ports: {raft: 2434}, priority: 0}]],
  ['a:2500', [{host: 'a', ports: {raft: 2500}}]],
  ['a:2500:2480:7:2490', [{ports: {raft: 2500, http: 2480, https: 2490}, priority: 7}]],
  ['one@a:{raft:1,grpc:2}, b', [{name: 'one', ports: {raft: 1, grpc: 2}}, {host: 'b'}]],
  ['a:{ priority : -3 , bolt : 7687 }', [{ports: {raft: 2434, bolt: 7687}, priority: -3}]],
  ['a:{},b:{}', [{host: 'a'}, {host: 'b'}]],
  ['x@[2001:db8::1]:2500', [{name: 'x', host: '2001:db8::1', ports: {raft: 2500}}]],
  ['127.0.0.1:1,127.0.0.1:2', [{ports: {raft: 1}}, {ports: {raft: 2}}]],
];

for (const [text, wanted] of read) {
  test(`'${text}' is read`, () => {
    const peers = parseServerList(text, options);
    assert.equal(peers.length, wanted.length);
    for (const [index, peer] of peers.entries()) {
      assert.deepEqual({...peer, ...wanted[index]}, peer);
    }
  });
}

const refused: readonly (readonly [string, RegExp])[] = [
  ['a:0', /'0' is no raft: a whole number from 1 to 65535/],
  ['a:65536', /'65536' is no raft/],
  ['a:2x', /'2x' is no raft/],
  ['a:1:2:3:4:5', /more fields than host:raft:http:priority:https/],
  ['a:{raft:1,raft:2}', /the field 'raft' occurs twice/],
  ['a:{raf:1}', /'raf:1' is none of the fields raft, http, https, bolt, grpc, priority/],
  ['a:{raft:1', /the fields end with }/],
  ['../a', /'\.\.\/a' is no host/],
  ['a b', /'a b' is no host/],
  ['@a', /'' is no name of a peer/],
  ['x/y@a', /'x\/y' is no name of a peer/],
  ['[12]:1', /'12' is no IPv6 address/],
  ['x@a,x@b', /the name 'x' occurs twice/],
  ['a:1,a:1', /the peer 'a_1' occurs twice/],
  ['localhost,b.example', /'localhost' is an address of each machine by itself/],
];

for (const [text, says] of refused) {
  test(`'${text}' is refused`, () => {
    assert.throws(
      () => parseServerList(text, options),
      error => error instanceof Refusal && says.test(error.message),
    );
  });
}

test('short hosts are completed, whole ones, addresses and localhost are not', () => {
  const suffix = '.svc.default.svc.cluster.local';
  const hosts = (text: string): readonly string[] =>
    parseServerList(text, {...options, suffix}).map(({host}) => host);
  assert.deepEqual(hosts(`svc-0,svc-1${suffix},10.0.0.1`), [
    `svc-0${suffix}`,
    `svc-1${suffix}`,
    '10.0.0.1',
  ]);
  assert.deepEqual(hosts('localhost:1,localhost:2'), ['localhost', 'localhost']);
});

test('a node finds itself by name, by host, then by its number', () => {
  const peers = parseServerList('east@a,svc-1.x,svc-7.x,d', options);
  const found = (name: string): string | undefined => {
    const peer = ownPeer(peers, name);
    return peer && peerId(peer);
  };
  assert.equal(found('east'), 'a_2434');
  assert.equal(found('svc-7'), 'svc-7.x_2434');
  assert.equal(found('svc-7.x'), 'svc-7.x_2434');
  assert.equal(found('node_3'), 'd_2434');
  assert.equal(found('node_4'), undefined);
  assert.equal(found('nobody'), undefined);
  assert.equal(ordinalOf('svc-12'), 12);
  assert.equal(ordinalOf('svc'), undefined);
});

test('whatever the text, the answer is a list or a refusal', () => {
  const pieces = ['a', 'b.c', ':', '1', '{', '}', ',', '@', 'raft', '[', ']', ' ', '-', 'priority'];
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...pieces), {maxLength: 24}), words => {
      try {
        for (const {ports} of parseServerList(words.join(''), options)) assert.ok(ports.raft > 0);
      } catch (error) {
        assert.ok(error instanceof Refusal);
      }
    }),
    {numRuns: 5_000},
  );
});
