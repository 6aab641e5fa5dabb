/**
 * What each isolation level promises, as the ten interleavings of the Hermitage suite.
 *
 * The levels: READ_COMMITTED, each statement sees one committed state and its own writes;
 * REPEATABLE_READ, one state for the whole transaction (snapshot isolation). Nothing ever waits
 * for a lock: of two transactions that write one record, the first commit wins and the second is
 * refused with commit.conflict: at its commit or, under READ_COMMITTED, at the statement whose
 * newer state shows the other's write. Write skew (G2-item, G2) is possible under both.
 * A row of a table is a step and its answer: values of a read, rows of a write, the outcome of a
 * commit.
 * Source: Adya, Weak Consistency (1999); Hermitage (Kleppmann) for the interleavings.
 */
import assert from 'node:assert/strict';
import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import {after, before, test} from 'node:test';
import {Refusal} from '#server/base/errors.ts';
import {root, ServiceWorld, type TestDatabase} from '#server/testing/worlds/service-world.ts';

type Level = 'READ_COMMITTED' | 'REPEATABLE_READ';
/** A step of a transaction, its answer under READ_COMMITTED, under REPEATABLE_READ if other. */
type Row = readonly [step: string, readCommitted: string, repeatableRead?: string];

interface Interleaving {
  readonly name: string;
  readonly says: string;
  /** Levels that let the anomaly happen; no other does. */
  readonly possible?: readonly Level[];
  readonly rows: readonly Row[];
}

// At the beginning record 1 has value 10 and record 2 has value 20.
const interleavings: readonly Interleaving[] = [
  {
    name: 'G0',
    says: 'writes of two transactions are never mixed',
    rows: [
      ['T1 set 1 = 11', '1'],
      ['T2 set 1 = 12', '1'],
      ['T1 set 2 = 21', '1'],
      ['T1 commit', 'committed'],
      ['T3 read', '11 21'],
      ['T2 set 2 = 22', 'conflict', '1'],
      ['T2 commit', 'rolled back', 'conflict'],
      ['T4 read', '11 21'],
    ],
  },
  {
    name: 'G1a',
    says: 'nobody reads what was rolled back',
    rows: [
      ['T1 set 1 = 101', '1'],
      ['T2 read', '10 20'],
      ['T1 rollback', ''],
      ['T2 read', '10 20'],
      ['T2 commit', 'committed'],
    ],
  },
  {
    name: 'G1b',
    says: 'nobody reads what was only meanwhile so',
    rows: [
      ['T1 set 1 = 101', '1'],
      ['T2 read', '10 20'],
      ['T1 set 1 = 11', '1'],
      ['T1 commit', 'committed'],
      ['T2 read', '11 20', '10 20'],
      ['T2 commit', 'committed'],
    ],
  },
  {
    name: 'G1c',
    says: 'information does not flow in a circle',
    rows: [
      ['T1 set 1 = 11', '1'],
      ['T2 set 2 = 22', '1'],
      ['T1 read id = 2', '20'],
      ['T2 read id = 1', '10'],
      ['T1 commit', 'committed'],
      ['T2 commit', 'committed'],
      ['T3 read', '11 22'],
    ],
  },
  {
    name: 'OTV',
    says: 'a transaction that was observed does not vanish',
    rows: [
      ['T1 set 1 = 11', '1'],
      ['T1 set 2 = 19', '1'],
      ['T2 set 1 = 12', '1'],
      ['T1 commit', 'committed'],
      ['T3 read id = 1', '11'],
      ['T2 set 2 = 18', 'conflict', '1'],
      ['T3 read id = 2', '19'],
      ['T2 commit', 'rolled back', 'conflict'],
      ['T3 read', '11 19'],
      ['T3 commit', 'committed'],
    ],
  },
  {
    name: 'PMP',
    says: 'a predicate read twice finds the same under REPEATABLE_READ only',
    possible: ['READ_COMMITTED'],
    rows: [
      ['T1 read value = 30', ''],
      ['T2 insert 3 = 30', '1'],
      ['T2 commit', 'committed'],
      ['T1 read value % 3 = 0', '30', ''],
      ['T1 commit', 'committed'],
    ],
  },
  {
    name: 'PMP for writes',
    says: 'a delete by predicate does not go through a concurrent change of it',
    rows: [
      ['T1 add 10 to all', '2'],
      ['T2 delete value = 20', '1'],
      ['T1 commit', 'committed'],
      ['T2 commit', 'conflict'],
      ['T3 read', '20 30'],
    ],
  },
  {
    name: 'P4',
    says: 'an update is never lost',
    rows: [
      ['T1 read id = 1', '10'],
      ['T2 read id = 1', '10'],
      ['T1 set 1 = 11', '1'],
      ['T2 set 1 = 11', '1'],
      ['T1 commit', 'committed'],
      ['T2 commit', 'conflict'],
    ],
  },
  {
    name: 'P4, the second update after the first commit',
    says:
      'a statement of READ_COMMITTED starts from the newest state, so what the client computed ' +
      'from an earlier statement is its own affair',
    possible: ['READ_COMMITTED'],
    rows: [
      ['T1 read id = 1', '10'],
      ['T2 read id = 1', '10'],
      ['T1 set 1 = 11', '1'],
      ['T1 commit', 'committed'],
      ['T2 set 1 = 11', '1'],
      ['T2 commit', 'committed', 'conflict'],
    ],
  },
  {
    name: 'P4 inside statements',
    says: 'the stale read check holds a value to the state from which its statement computed it',
    rows: [
      ['T1 add 1 to all', '2'],
      ['T2 add 1 to all', '2'],
      ['T1 commit', 'committed'],
      ['T2 read', 'conflict', '11 21'],
      ['T2 commit', 'rolled back', 'conflict'],
      ['T3 read', '11 21'],
    ],
  },
  {
    name: 'G-single',
    says: 'one state for the whole transaction (no read skew) under REPEATABLE_READ only',
    possible: ['READ_COMMITTED'],
    rows: [
      ['T1 read id = 1', '10'],
      ['T2 read', '10 20'],
      ['T2 set 1 = 12', '1'],
      ['T2 set 2 = 18', '1'],
      ['T2 commit', 'committed'],
      ['T1 read id = 2', '18', '20'],
      ['T1 commit', 'committed'],
    ],
  },
  {
    name: 'G-single by predicates',
    says: 'the state is one over predicates and indexes, too',
    possible: ['READ_COMMITTED'],
    rows: [
      ['T1 read value % 5 = 0', '10 20'],
      ['T2 change 10 to 12', '1'],
      ['T2 commit', 'committed'],
      ['T1 read value % 3 = 0', '12', ''],
      ['T1 read value >= 12', '12 20', '20'],
      ['T1 commit', 'committed'],
    ],
  },
  {
    name: 'G-single with a write',
    says: 'a write of REPEATABLE_READ finds what its snapshot shows, and then conflicts',
    possible: ['READ_COMMITTED'],
    rows: [
      ['T1 read id = 1', '10'],
      ['T2 read', '10 20'],
      ['T2 set 1 = 12', '1'],
      ['T2 set 2 = 18', '1'],
      ['T2 commit', 'committed'],
      ['T1 delete value = 20', '0', '1'],
      ['T1 commit', 'committed', 'conflict'],
      ['T3 read', '12 18'],
    ],
  },
  {
    name: 'G2-item',
    says: 'write skew on records is possible',
    possible: ['READ_COMMITTED', 'REPEATABLE_READ'],
    rows: [
      ['T1 read', '10 20'],
      ['T2 read', '10 20'],
      ['T1 set 1 = 11', '1'],
      ['T2 set 2 = 21', '1'],
      ['T1 commit', 'committed'],
      ['T2 commit', 'committed'],
      ['T3 read', '11 21'],
    ],
  },
  {
    name: 'G2',
    says: 'write skew on predicates is possible',
    possible: ['READ_COMMITTED', 'REPEATABLE_READ'],
    rows: [
      ['T1 read value % 3 = 0', ''],
      ['T2 read value % 3 = 0', ''],
      ['T1 insert 3 = 30', '1'],
      ['T2 insert 4 = 42', '1'],
      ['T1 commit', 'committed'],
      ['T2 commit', 'committed'],
      ['T3 read value % 3 = 0', '30 42'],
    ],
  },
];

const levels: readonly Level[] = ['READ_COMMITTED', 'REPEATABLE_READ'];
/**
 * Predicates are answered by scans in the first, by indexes in the second; where values lie changes
 * nothing.
 */
const layouts = {
  'without indexes': [],
  'with indexes': ['CREATE INDEX ON Test (id) UNIQUE', 'CREATE INDEX ON Test (value) NOTUNIQUE'],
  'with values beside the records': ['ALTER PROPERTY Test.value EXTERNAL true'],
};
const beginning = [
  'CREATE DOCUMENT TYPE Test',
  'CREATE PROPERTY Test.id INTEGER',
  'CREATE PROPERTY Test.value INTEGER',
];
const records = [
  'INSERT INTO Test SET id = 1, value = 10',
  'INSERT INTO Test SET id = 2, value = 20',
];

let world: ServiceWorld;
before(async () => {
  world = await ServiceWorld.open();
});
after(() => world.close());

for (const {name, says, rows} of interleavings) {
  for (const level of levels) {
    test(`${name} under ${level}: ${says}`, async () => {
      for (const [layout, indexes] of Object.entries(layouts)) {
        const database = await world.database([...beginning, ...indexes, ...records]);
        const play = new Play(database, level);
        const answers: string[] = [];
        for (const [step] of rows) answers.push(`${step}: ${await play.step(step)}`);
        const isRead = level === 'READ_COMMITTED';
        const expected = rows.map(
          ([step, read, repeatable]) => `${step}: ${isRead ? read : (repeatable ?? read)}`,
        );
        assert.deepEqual(answers, expected, layout);
      }
    });
  }
}

test('the manual says of every interleaving what happens', () => {
  const manual = readFileSync(join(import.meta.dirname, '../../../../docs/isolation.md'), 'utf8');
  const rows = interleavings.map(({name, says, possible = []}) => {
    const outcomes = levels.map(level => (possible.includes(level) ? 'possible' : 'prevented'));
    return `| ${name} | ${says} | ${outcomes.join(' | ')} |`;
  });
  assert.ok(manual.includes(rows.join('\n')), `docs/isolation.md has the rows\n${rows.join('\n')}`);
});

/** Steps of transactions that begin when they are first named. */
class Play {
  readonly #database: TestDatabase;
  readonly #level: Level;
  readonly #transactions = new Map<string, string>();

  constructor(database: TestDatabase, level: Level) {
    this.#database = database;
    this.#level = level;
  }

  async step(step: string): Promise<string> {
    const [, name = '', what = ''] = /^(T\d) (.*)$/.exec(step) ?? [];
    const {service} = world;
    const {name: database} = this.#database;
    let transactionId = this.#transactions.get(name);
    if (transactionId === undefined) {
      transactionId = await service.begin(root, database, {isolation: this.#level});
      this.#transactions.set(name, transactionId);
    }
    if (what === 'rollback') {
      await service.rollback(root, database, transactionId);
      return '';
    }
    if (what === 'commit') {
      return service.commit(root, database, transactionId, undefined).then(
        () => 'committed',
        (error: unknown) => {
          if (error instanceof Refusal && error.code === 'transaction.failed') return 'rolled back';
          return conflictOf(error);
        },
      );
    }
    const answer = await this.#database
      .run(statementOf(what), {transactionId})
      .catch((error: unknown) => conflictOf(error));
    if (typeof answer === 'string') return answer;
    if (what.startsWith('read')) return answer.map(row => String(row['value'])).join(' ');
    return what.startsWith('insert') ? String(answer.length) : String(answer[0]?.['count']);
  }
}

function conflictOf(error: unknown): string {
  assert.ok(error instanceof Refusal && error.code === 'commit.conflict', String(error));
  return 'conflict';
}

const statements: readonly (readonly [RegExp, string])[] = [
  [/^read$/, 'SELECT value FROM Test ORDER BY id'],
  [/^read (.*)$/, 'SELECT value FROM Test WHERE $1 ORDER BY id'],
  [/^set (\d+) = (\d+)$/, 'UPDATE Test SET value = $2 WHERE id = $1'],
  [/^change (\d+) to (\d+)$/, 'UPDATE Test SET value = $2 WHERE value = $1'],
  [/^add (\d+) to all$/, 'UPDATE Test SET value = value + $1'],
  [/^insert (\d+) = (\d+)$/, 'INSERT INTO Test SET id = $1, value = $2'],
  [/^delete (.*)$/, 'DELETE FROM Test WHERE $1'],
];

function statementOf(what: string): string {
  for (const [pattern, statement] of statements) {
    if (pattern.test(what)) return what.replace(pattern, statement);
  }
  throw new Error(`no such step: ${what}`);
}
