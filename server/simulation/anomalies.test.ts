/** Each anomaly is found in the smallest history that shows it, and in no other. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import type {Isolation} from '#server/transactions/transaction-contract.ts';
import {type Attempt, findAnomalies} from './anomalies.ts';

type Step = readonly [object: string, seenOrValue: readonly number[] | number];

/** Steps: ['x', [1, 2]] saw values, ['x', 3] appended one; a list of looks is one statement's. */
function attempt(
  name: string,
  steps: readonly (Step | readonly Step[])[],
  options: {level?: Isolation; isAborted?: boolean; committed?: number; begun?: number} = {},
): Attempt {
  const {level = 'REPEATABLE_READ', isAborted = false, committed = 100, begun = 0} = options;
  return {
    name,
    level,
    begun,
    committed: isAborted ? undefined : committed,
    steps: steps.map(step => {
      const [first] = step;
      if (typeof first === 'string' && typeof step[1] === 'number') {
        return {kind: 'append', object: first, value: step[1]};
      }
      const seen = (typeof first === 'string' ? [step] : step) as readonly Step[];
      return {kind: 'look', begun, seen: new Map(seen)};
    }),
  };
}

function anomaliesOf(
  attempts: readonly Attempt[],
  final: Readonly<Record<string, readonly number[]>>,
): readonly string[] {
  const history = {
    attempts,
    final: new Map(Object.entries(final)),
    sets: new Set(['set']),
  };
  return [...new Set(findAnomalies(history).anomalies.map(text => text.split(':')[0] ?? ''))];
}

const aborted = {isAborted: true};
const readCommitted = {level: 'READ_COMMITTED'} as const;

for (const [anomaly, attempts, final] of [
  ['nothing', [attempt('A', [['x', 1]]), attempt('B', [['x', [1]]])], {x: [1]}],
  [
    'P4',
    [
      attempt('A', [['x', 1]]),
      attempt('B', [
        ['x', []],
        ['x', 2],
      ]),
    ],
    {x: [2]},
  ],
  [
    'G0',
    [
      attempt('A', [
        ['x', 1],
        ['y', 2],
      ]),
      attempt('B', [
        ['x', 3],
        ['y', 4],
      ]),
    ],
    {x: [1, 3], y: [4, 2]},
  ],
  ['G1a', [attempt('A', [['x', 1]], aborted), attempt('B', [['x', [1]]])], {x: []}],
  ['G1a', [attempt('A', [['x', 1]], aborted)], {x: [1]}],
  [
    'G1b',
    [
      attempt('A', [
        ['x', 1],
        ['x', 2],
      ]),
      attempt('B', [['x', [1]]]),
    ],
    {x: [1, 2]},
  ],
  [
    'G1c',
    [
      attempt('A', [
        ['x', 1],
        ['y', [2]],
      ]),
      attempt('B', [
        ['y', 2],
        ['x', [1]],
      ]),
    ],
    {x: [1], y: [2]},
  ],
  [
    'G-single',
    [
      attempt('A', [
        ['x', 1],
        ['y', 2],
      ]),
      attempt('B', [
        ['x', [1]],
        ['y', []],
      ]),
    ],
    {x: [1], y: [2]},
  ],
  [
    'nothing',
    [
      attempt('A', [
        ['x', 1],
        ['y', 2],
      ]),
      attempt(
        'B',
        [
          ['y', []],
          ['x', [1]],
        ],
        readCommitted,
      ),
    ],
    {x: [1], y: [2]},
  ],
  [
    'G-single',
    [
      attempt('A', [
        ['x', 1],
        ['y', 2],
      ]),
      attempt(
        'B',
        [
          [
            ['y', []],
            ['x', [1]],
          ],
        ],
        readCommitted,
      ),
    ],
    {x: [1], y: [2]},
  ],
  [
    'G-single',
    [
      attempt('A', [
        ['x', 1],
        ['set', 2],
      ]),
      attempt('B', [
        ['x', [1]],
        ['set', []],
      ]),
    ],
    {x: [1], set: [2]},
  ],
  [
    'nothing',
    [
      attempt('A', [
        ['x', []],
        ['y', 2],
      ]),
      attempt('B', [
        ['y', []],
        ['x', 1],
      ]),
    ],
    {x: [1], y: [2]},
  ],
  [
    'own',
    [
      attempt('A', [
        ['x', 1],
        ['x', []],
      ]),
    ],
    {x: [1]},
  ],
  [
    'torn',
    [attempt('A', [['x', 1]]), attempt('B', [['x', 2]]), attempt('C', [['x', [2]]])],
    {x: [1, 2]},
  ],
  [
    'stale',
    [attempt('A', [['x', 1]], {committed: 5}), attempt('B', [['x', []]], {begun: 6})],
    {x: [1]},
  ],
  ['twice', [attempt('A', [['x', 1]])], {x: [1, 1]}],
] as const) {
  test(`${anomaly} in ${JSON.stringify(attempts.map(({steps}) => steps.length))}`, () => {
    const expected = anomaly === 'nothing' ? [] : [anomaly];
    const found = anomaliesOf(attempts, final);
    assert.ok(
      expected.every(name => found.includes(name)),
      `found ${found.join()}`,
    );
    if (anomaly === 'nothing') assert.deepEqual(found, []);
  });
}

test('write skew is counted, not forbidden', () => {
  const history = {
    attempts: [
      attempt('A', [
        ['x', []],
        ['y', 2],
      ]),
      attempt('B', [
        ['y', []],
        ['x', 1],
      ]),
    ],
    final: new Map([
      ['x', [1]],
      ['y', [2]],
    ]),
    sets: new Set<string>(),
  };
  const {anomalies, writeSkews} = findAnomalies(history);
  assert.deepEqual([anomalies, writeSkews], [[], 1]);
});
