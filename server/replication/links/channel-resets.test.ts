/** What a leader does about a silent follower, step by step. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {
  type ChannelResetOptions,
  ChannelResets,
  type FollowerSample,
  resetLine,
  type ResetStep,
} from './channel-resets.ts';

const usual: ChannelResetOptions = {unreachableMs: 10_000, resetMs: 60_000, escalates: true};
const second = 1_000;
const minute = 60 * second;

function follower(id: string, heardAt: number | undefined, changed?: object): FollowerSample {
  return {id, heardAt, hasReplicated: true, mayLead: true, ...changed};
}

function written(step: ResetStep): string {
  switch (step.kind) {
    case 'reset':
      return `${step.peer} reset ${step.attempt}`;
    case 'escalate':
      return `${step.peer} escalate to ${step.to}`;
    case 'give-up':
      return `${step.peer} give-up: ${step.reason}`;
    default:
      return `${step.peer} ${step.kind}`;
  }
}

/** Looks every five seconds; each step with its second. */
function steps(
  resets: ChannelResets,
  [from, to]: readonly [number, number],
  samples: (now: number) => readonly FollowerSample[],
): readonly string[] {
  const found: string[] = [];
  for (let now = from; now <= to; now += 5 * second) {
    for (const step of resets.look(now, samples(now))) {
      found.push(`${now / second}: ${written(step)}`);
    }
  }
  return found;
}

test('a wedged follower is reset five times, then leadership goes to a healthy one', () => {
  const found = steps(new ChannelResets(usual), [0, 10 * minute], now => [
    follower('wedged', 0),
    follower('healthy', now),
  ]);
  assert.deepEqual(found, [
    '10: wedged unreachable',
    '70: wedged reset 1',
    '130: wedged reset 2',
    '190: wedged reset 3',
    '250: wedged reset 4',
    '310: wedged reset 5',
    '370: wedged escalate to healthy',
  ]);
});

test('a follower that is heard again has all its attempts back', () => {
  const found = steps(new ChannelResets(usual), [0, 4 * minute], now => [
    follower('flapping', now < 100 * second ? 0 : Math.max(100 * second, now - 20 * second)),
  ]);
  assert.deepEqual(found, [
    '10: flapping unreachable',
    '70: flapping reset 1',
    '100: flapping reachable',
    '110: flapping unreachable',
    '170: flapping reset 1',
    '230: flapping reset 2',
  ]);
});

const lasts: readonly (readonly [
  string,
  Partial<ChannelResetOptions>,
  readonly FollowerSample[],
  string,
])[] = [
  [
    'without anybody fit to lead',
    {},
    [follower('healthy', 1e9, {mayLead: false})],
    'no other follower is fit to lead',
  ],
  ['without anybody heard', {}, [follower('gone too', 0)], 'no other follower is fit to lead'],
  [
    'with escalation switched off',
    {escalates: false},
    [follower('healthy', 1e9)],
    'svc.ha.peerChannelResetEscalation is off',
  ],
];

for (const [name, changed, others, reason] of lasts) {
  test(`${name} a person is asked for`, () => {
    const found = steps(new ChannelResets({...usual, ...changed}), [0, 10 * minute], () => [
      follower('wedged', 0),
      ...others,
    ]);
    assert.ok(found.includes(`370: wedged give-up: ${reason}`), found.join('\n'));
    assert.equal(found.filter(line => line.includes('wedged give-up')).length, 1);
  });
}

test('leadership is handed over for one follower once in half an hour', () => {
  const resets = new ChannelResets(usual);
  const wedged = (now: number): readonly FollowerSample[] => [
    follower('wedged', undefined),
    follower('healthy', now),
  ];
  assert.match(steps(resets, [0, 7 * minute], wedged).at(-1) ?? '', /escalate/);
  // It does not lead for a while, then again.
  assert.deepEqual(
    steps(resets, [7 * minute, 8 * minute], () => []),
    [],
  );
  assert.match(steps(resets, [8 * minute, 20 * minute], wedged).at(-1) ?? '', /last 30 minutes/);
  steps(resets, [20 * minute, 30 * minute], () => []);
  assert.match(steps(resets, [30 * minute, 40 * minute], wedged).at(-1) ?? '', /escalate/);
});

test('one that never acknowledged anything is named as such', () => {
  const found = steps(new ChannelResets(usual), [0, 15 * second], () => [
    follower('new', undefined, {hasReplicated: false}),
  ]);
  assert.deepEqual(found, ['10: new never-received']);
});

test('settings of 0 switch off resets, or everything', () => {
  const silent = (): readonly FollowerSample[] => [follower('wedged', 0)];
  const noResets = new ChannelResets({...usual, resetMs: 0});
  assert.deepEqual(steps(noResets, [0, 10 * minute], silent), ['10: wedged unreachable']);
  assert.ok(noResets.isUnreachable('wedged'));
  const nothing = new ChannelResets({...usual, unreachableMs: 0});
  assert.deepEqual(steps(nothing, [0, 10 * minute], silent), []);
});

test('the lines of the log say which attempt, and how bad it is', () => {
  const line = (step: ResetStep): string => {
    const {level, event, fields} = resetLine(step);
    return `${level} ${event} ${JSON.stringify(fields)}`;
  };
  assert.deepEqual(
    [
      line({kind: 'never-received', peer: 'a'}),
      line({kind: 'reset', peer: 'a', attempt: 2}),
      line({kind: 'escalate', peer: 'a', to: 'b'}),
      line({kind: 'give-up', peer: 'a', reason: 'why'}),
      line({kind: 'reachable', peer: 'a'}),
    ],
    [
      'error peer.never-received {"peer":"a"}',
      'warn peer.reset {"peer":"a","attempt":2,"of":5}',
      'error peer.escalate {"peer":"a","to":"b"}',
      'error peer.give-up {"peer":"a","reason":"why"}',
      'info peer.reachable {"peer":"a"}',
    ],
  );
});
