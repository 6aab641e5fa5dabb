/** Whom the operator believes: tables of answers, and what comes of them. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {type Answer, type MemberReport, agreementOf} from './agreement.ts';

const voters = ['a', 'b', 'c'];

function report(peerId: string, more: Partial<MemberReport> = {}): Answer {
  const peers = voters.map(id => ({
    id,
    inConfiguration: true,
    isVoter: true,
    lag: 0,
    isStuck: false,
  }));
  const base = {
    clusterName: 'db',
    peerId,
    term: 3,
    leaderId: 'a',
    isReadyLeader: peerId === 'a',
    isDiskFull: false,
    peers,
  };
  return {kind: 'report', report: {...base, ...more}};
}

const silent: Answer = {kind: 'silent', message: 'no route'};

function seen(...answers: readonly (readonly [string, Answer])[]): string {
  const agreement = agreementOf('db', new Map(answers));
  return agreement.kind === 'agreed' ? `${agreement.leader} in ${agreement.term}` : agreement.why;
}

const cases: readonly (readonly [string, readonly (readonly [string, Answer])[], string])[] = [
  ['all agree', voters.map(id => [id, report(id)] as const), 'a in 3'],
  [
    'two of three agree',
    [
      ['a', report('a')],
      ['b', report('b')],
      ['c', silent],
    ],
    'a in 3',
  ],
  [
    'the leader alone',
    [
      ['a', report('a')],
      ['b', silent],
      ['c', silent],
    ],
    'no-majority',
  ],
  [
    'followers without their leader',
    [
      ['b', report('b')],
      ['c', report('c')],
    ],
    'no-leader',
  ],
  ['nobody', [['a', silent]], 'silence'],
  [
    'an old leader that was cut off, beside a new one',
    [
      ['a', report('a')],
      ['b', report('b', {term: 4, leaderId: 'b', isReadyLeader: true})],
      ['c', report('c', {term: 4, leaderId: 'b'})],
    ],
    'b in 4',
  ],
  [
    'an old leader, and one that knows a later term',
    [
      ['a', report('a')],
      ['b', report('b')],
      ['c', report('c', {term: 4, leaderId: undefined})],
    ],
    'later-term',
  ],
  [
    'a leader that does not name itself a voter',
    [
      ['a', report('a', {peers: []})],
      ['b', report('b')],
      ['c', report('c')],
    ],
    'no-majority',
  ],
  [
    'a server of another cluster is not counted',
    [
      ['a', report('a')],
      ['b', report('b', {clusterName: 'x'})],
      ['c', silent],
    ],
    'no-majority',
  ],
  [
    'a server that answers for another is not counted',
    [
      ['a', report('a')],
      ['b', report('c')],
      ['c', silent],
    ],
    'no-majority',
  ],
  [
    'a stranger with a later term changes nothing',
    [
      ['a', report('a')],
      ['b', report('b')],
      ['c', report('c', {clusterName: 'x', term: 9})],
    ],
    'a in 3',
  ],
  [
    'a leader that is not ready yet',
    [
      ['a', report('a', {isReadyLeader: false})],
      ['b', report('b')],
      ['c', report('c')],
    ],
    'no-leader',
  ],
];

for (const [what, answers, expected] of cases) {
  test(`${what}: ${expected}`, () => assert.equal(seen(...answers), expected));
}
