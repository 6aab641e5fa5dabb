/** The directory of servers: whose address is known, derived, or withheld. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {addressOfId, type KnownServers, peerDirectory} from './peer-directory.ts';
import type {PeerIntroduction} from './peer-transport.ts';
import {parseServerList} from './server-list.ts';
import {introductionOf} from './links/testing-links.ts';

interface Situation {
  readonly own: string;
  readonly declared?: string;
  readonly added?: string;
  readonly members?: readonly string[];
  readonly introduced?: Readonly<Record<string, Partial<PeerIntroduction>>>;
  readonly httpsPort?: number;
}

const list = (text = ''): KnownServers['declared'] =>
  parseServerList(text, {raftPort: 2434, suffix: ''});

function directory({own, declared, added, members = [], introduced = {}, httpsPort}: Situation) {
  return peerDirectory({
    own: {id: own, httpPort: 2480, httpsPort},
    declared: list(declared),
    added: list(added),
    members,
    introductions: new Map(
      Object.entries(introduced).map(([id, changed]) => [id, introductionOf(id, changed)]),
    ),
  });
}

const cases: readonly (readonly [string, Situation, readonly string[], readonly string[]])[] = [
  [
    'declared ports are taken',
    {own: 'a_1', declared: 'a:1:11,b:2:12,c:{raft:3,http:13}'},
    ['a_1 a:11', 'b_2 b:12', 'c_3 c:13'],
    [],
  ],
  [
    'what is not declared is derived, with a warning',
    {own: 'a_1', declared: 'a:1,b:1'},
    ['a_1 a:2480', 'b_1 b:2480'],
    ['http'],
  ],
  [
    'what a peer says of itself comes before what is derived',
    {own: 'a_1', declared: 'a:1,b:1', introduced: {b_1: {httpPort: 99}}},
    ['a_1 a:2480', 'b_1 b:99'],
    [],
  ],
  [
    'what is declared comes before what a peer says of itself',
    {own: 'a_1', declared: 'a:1,b:1:12', introduced: {b_1: {httpPort: 99}}},
    ['a_1 a:2480', 'b_1 b:12'],
    [],
  ],
  [
    'peers of one host derive the same address, which is none',
    {own: 'h_1', declared: 'h:1,h:2,h:3'},
    ['h_1 h:2480', 'h_2 ambiguous', 'h_3 ambiguous'],
    ['http'],
  ],
  [
    'a derived address that another has declared is none',
    {own: 'a_1', declared: 'a:1,h:2:2480,h:3'},
    ['a_1 a:2480', 'h_2 h:2480', 'h_3 ambiguous'],
    ['http'],
  ],
  [
    'two that are declared with one address have none',
    {own: 'a_1', declared: 'a:1,h:2:80,h:3:80'},
    ['a_1 a:2480', 'h_2 ambiguous', 'h_3 ambiguous'],
    [],
  ],
  [
    'added peers and members that nobody declared are listed',
    {
      own: 'a_1',
      declared: 'a:1',
      added: 'b:1:12',
      members: ['a_1', 'b_1', 'c_3'],
      introduced: {c_3: {}},
    },
    ['a_1 a:2480', 'b_1 b:12', 'c_3 c:2480'],
    [],
  ],
];

for (const [name, situation, wanted, derived] of cases) {
  test(name, () => {
    const found = directory(situation);
    const lines = found.servers.map(
      ({id, host, httpPort}) =>
        `${id} ${httpPort === 'ambiguous' ? httpPort : `${host}:${httpPort}`}`,
    );
    assert.deepEqual(lines, wanted);
    assert.deepEqual(found.derived, derived);
  });
}

test('HTTPS is derived where this node has it, and not of a peer that says it has none', () => {
  const declared = 'a:1,b:1,c:{raft:1,https:7}';
  const https = (situation: Situation): readonly (number | undefined)[] =>
    directory(situation).servers.map(({httpsPort}) => httpsPort);
  assert.deepEqual(https({own: 'a_1', declared}), [undefined, undefined, 7]);
  assert.deepEqual(https({own: 'a_1', declared, httpsPort: 2490}), [2490, 2490, 7]);
  const introduced = {b_1: {}};
  assert.deepEqual(https({own: 'a_1', declared, httpsPort: 2490, introduced}), [
    2490,
    undefined,
    7,
  ]);
});

test('who is declared, who is a member, and what they are called', () => {
  const {servers} = directory({
    own: 'a_1',
    declared: 'east@a:1:11:7,b:1:12',
    members: ['a_1', 'c_1'],
    introduced: {b_1: {serverName: 'west'}},
  });
  assert.deepEqual(
    servers.map(({id, name, priority, isDeclared, inConfiguration}) =>
      [id, name, priority, isDeclared, inConfiguration].join(' '),
    ),
    ['a_1 east 7 true true', 'b_1 west 0 true false', 'c_1  0 false true'],
  );
});

test('an id tells where to dial, whatever the host', () => {
  assert.deepEqual(addressOfId('my_host_2434'), {id: 'my_host_2434', host: 'my_host', port: 2434});
  assert.deepEqual(addressOfId('2001:db8::1_7').host, '2001:db8::1');
});
