/**
 * Tools, profiles, flags, principals and overrides of databases against each other: what a call is
 * answered is what a model says that knows the tables of docs/mcp.md and nothing of the code.
 *
 * All cells are 783,360; `make agent-matrix` takes them all. A run of the tests takes some
 * thousand, others each day: a step without a common divisor with the dimensions sees every value
 * of every dimension beside every other.
 */
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import type {Principal} from '#server/security/principal.ts';
import {type HttpWorld, httpWorld} from '#server/testing/worlds/http-world.ts';

type Flag =
  | 'allowReads'
  | 'allowInsert'
  | 'allowUpdate'
  | 'allowDelete'
  | 'allowSchemaChange'
  | 'allowAdmin';

const flags: readonly Flag[] = [
  'allowReads',
  'allowInsert',
  'allowUpdate',
  'allowDelete',
  'allowSchemaChange',
  'allowAdmin',
];
const wordOf: Readonly<Record<Flag, string>> = {
  allowReads: 'Read',
  allowInsert: 'Insert',
  allowUpdate: 'Update',
  allowDelete: 'Delete',
  allowSchemaChange: 'Schema change',
  allowAdmin: 'Admin',
};

interface Called {
  readonly tool: string;
  readonly profiles: string;
  readonly needs: readonly Flag[];
  readonly given: Readonly<Record<string, unknown>>;
}

const on = {database: 'db'};
const sql = {...on, language: 'sql'};
const command = (text: string, ...needs: readonly Flag[]): Called => ({
  tool: 'execute_command',
  profiles: 'admin',
  needs,
  given: {...sql, command: text},
});
const vector = {...on, queryVector: [1], k: 1};
const calls: readonly Called[] = [
  {tool: 'list_databases', profiles: 'rag admin', needs: [], given: {}},
  {tool: 'get_schema', profiles: 'rag admin', needs: ['allowReads'], given: on},
  {
    tool: 'query',
    profiles: 'rag admin',
    needs: ['allowReads'],
    given: {...sql, query: 'SELECT FROM Person'},
  },
  command('SELECT 1 AS one', 'allowReads'),
  command('INSERT INTO Note SET n = 1', 'allowInsert'),
  command('UPDATE Note SET n = 2 WHERE n = 3', 'allowUpdate'),
  command('DELETE FROM Note WHERE n = 4', 'allowDelete'),
  command('CREATE DOCUMENT TYPE Kept IF NOT EXISTS', 'allowSchemaChange'),
  {tool: 'sample_records', profiles: 'rag', needs: ['allowReads'], given: on},
  {
    tool: 'vector_search',
    profiles: 'rag',
    needs: ['allowReads'],
    given: {...vector, indexName: 'Person[v]'},
  },
  {
    tool: 'full_text_search',
    profiles: 'rag',
    needs: ['allowReads'],
    given: {...on, indexName: 'Person[t]', queryText: 'x'},
  },
  {
    tool: 'hybrid_search',
    profiles: 'rag',
    needs: ['allowReads'],
    given: {...vector, vectorIndexName: 'Person[v]'},
  },
  {
    tool: 'upsert_entity',
    profiles: 'rag',
    needs: ['allowInsert', 'allowUpdate'],
    given: {...on, typeName: 'Person', matchKeys: {name: 'Ann'}},
  },
  {
    tool: 'upsert_relationship',
    profiles: 'rag',
    needs: ['allowInsert', 'allowUpdate'],
    given: {
      ...on,
      fromType: 'Person',
      fromMatchKeys: {name: 'Ann'},
      toType: 'Person',
      toMatchKeys: {name: 'Ann'},
      relType: 'Knows',
    },
  },
  {tool: 'server_status', profiles: 'admin', needs: [], given: {}},
  {tool: 'profiler_start', profiles: 'admin', needs: ['allowAdmin'], given: {}},
  {tool: 'profiler_stop', profiles: 'admin', needs: ['allowAdmin'], given: {}},
  {tool: 'profiler_status', profiles: 'admin', needs: ['allowAdmin'], given: {}},
  {tool: 'get_server_settings', profiles: 'admin', needs: ['allowReads'], given: {}},
  {
    tool: 'set_server_setting',
    profiles: 'admin',
    needs: ['allowAdmin'],
    given: {key: 'svc.txRetries', value: '3'},
  },
];

const names = ['all', 'rag', 'admin'] as const;
const ownProfiles = [undefined, ...names];
const principals = ['root', 'anna', 'apitoken:bot'] as const;
const overrides: readonly Readonly<Record<string, unknown>>[] = [
  {},
  ...flags.map(flag => ({[flag]: false})),
  ...flags.map(flag => ({[flag]: true})),
  {allowedUsers: ['root']},
  {allowedUsers: ['anna', 'bot']},
  {allowedUsers: [], allowReads: true},
  {allowedUsers: ['*'], allowInsert: false, allowUpdate: false},
];

interface Cell {
  readonly called: Called;
  readonly profile: string;
  readonly own: string | undefined;
  readonly open: readonly Flag[];
  readonly principal: string;
  readonly override: Readonly<Record<string, unknown>>;
}

const sizes = [
  calls.length,
  names.length,
  ownProfiles.length,
  2 ** flags.length,
  principals.length,
  overrides.length,
];
const cellCount = sizes.reduce((product, size) => product * size, 1);

function cellAt(index: number): Cell {
  let rest = index;
  const [call = 0, profile = 0, own = 0, mask = 0, principal = 0, override = 0] = sizes.map(
    size => {
      const digit = rest % size;
      rest = Math.floor(rest / size);
      return digit;
    },
  );
  return {
    called: calls[call] as Called,
    profile: names[profile] ?? '',
    own: ownProfiles[own],
    open: flags.filter((_, bit) => (mask >> bit) % 2 === 1),
    principal: principals[principal] ?? '',
    override: overrides[override] ?? {},
  };
}

/** What an answer may say: nothing of permissions, the profiles, the database, a permission. */
function expected({called, profile, own, open, principal, override}: Cell): readonly string[] {
  const contains = (name: string | undefined): boolean =>
    name === undefined || name === 'all' || called.profiles.split(' ').includes(name);
  if (!contains(profile) || !contains(own)) return ['excluded'];
  const inDatabase = 'database' in called.given;
  const users = override['allowedUsers'] as readonly string[] | undefined;
  const spelt = [principal, principal.replace('apitoken:', ''), '*'];
  const isOutside = inDatabase && users !== undefined && !spelt.some(name => users.includes(name));
  const missing = called.needs.filter(
    flag => !open.includes(flag) || (inDatabase && override[flag] === false),
  );
  const words = missing.map(flag => wordOf[flag]);
  if (isOutside) return ['no database', ...words];
  return words.length === 0 ? ['passed'] : words;
}

function told(text: string): string {
  if (/^Tool '\w+' is not available in /.test(text)) return 'excluded';
  if (text.startsWith("Database 'db' does not exist. Available databases: ")) return 'no database';
  const [, word] =
    /^(\w+(?: \w+)?) operations are not allowed by MCP configuration$/.exec(text) ?? [];
  return word ?? 'passed';
}

let world: HttpWorld;
let speakers: ReadonlyMap<string, Principal>;
before(async () => {
  world = await httpWorld();
  const all = {
    database: ['updateSchema', 'updateSecurity'],
    types: {'*': {access: ['createRecord', 'readRecord', 'updateRecord', 'deleteRecord']}},
  };
  await world.security.apiTokens.create({
    name: 'bot',
    database: 'db',
    expiresAt: 0,
    permissions: all,
  });
  speakers = new Map(
    principals.map(name => {
      const principal = world.security.principalOf(name);
      assert(principal !== undefined, name);
      return [name, principal];
    }),
  );
  for (const text of [
    'CREATE VERTEX TYPE Person',
    'CREATE DOCUMENT TYPE Note',
    'CREATE EDGE TYPE Knows',
  ]) {
    const made = await world.call('/command/db', {body: {language: 'sql', command: text}});
    assert.equal(made.status, 200, made.text);
  }
});
after(() => world.server.close(0));

const isWhole = process.env['AGENT_MATRIX'] === 'all';
const count = isWhole ? cellCount : 6_000;
/** Coprime with every dimension; in their order, calls of one configuration follow each other. */
const step = isWhole ? 1 : 65_537;
const start = isWhole ? 0 : Math.floor(Date.now() / 86_400_000) * count * step;

test('what a call is answered is what the tables say', {timeout: 3_600_000}, async t => {
  const seen = new Map<string, number>();
  const wrong: string[] = [];
  for (let at = 0; at < count; at++) {
    const cell = cellAt((start + at * step) % cellCount);
    const outcome = await outcomeOf(cell);
    seen.set(outcome, (seen.get(outcome) ?? 0) + 1);
    if (!expected(cell).includes(outcome)) {
      wrong.push(`${JSON.stringify(cell)}: ${outcome}, not ${expected(cell).join(' or ')}`);
    }
  }
  t.diagnostic(`${count} of ${cellCount} cells, ${wrong.length} wrong`);
  assert.deepEqual(wrong.slice(0, 20), []);
  const outcomes = ['excluded', 'passed', 'no database', ...Object.values(wordOf)];
  assert.deepEqual([...seen.keys()].toSorted(), outcomes.toSorted());
});

let inForce = '';

/** Puts a configuration in force, where it is another than the one before. */
async function configure(document: object): Promise<void> {
  const text = JSON.stringify(document);
  if (text === inForce) return;
  assert.equal(await world.agents.configure(text), undefined);
  inForce = text;
}

async function outcomeOf({called, profile, own, open, principal, override}: Cell): Promise<string> {
  const {agents} = world;
  // The other principals' entries of the cells before are nobody's here.
  const others = Object.fromEntries(principals.map(name => [name, null]));
  await configure({
    enabled: true,
    allowedUsers: ['*'],
    ...Object.fromEntries(flags.map(flag => [flag, open.includes(flag)])),
    profile,
    principalProfiles: own === undefined ? null : {...others, [principal]: own},
    databases: {db: override},
  });
  const {tool: name, given} = called;
  const message = {jsonrpc: '2.0', id: 1, method: 'tools/call', params: {name, arguments: given}};
  const speaker = speakers.get(principal);
  assert(speaker !== undefined);
  const alone = {context: {}, conversation: undefined};
  const caller = {...alone, principal: speaker, requestId: 'r'};
  const {body} = await agents.answer(Buffer.from(JSON.stringify(message)), caller);
  const {result} = JSON.parse(body) as {
    readonly result: {readonly content: readonly [{readonly text: string}]};
  };
  return told(result.content[0].text);
}
