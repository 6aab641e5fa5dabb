/**
 * Requests that are wrong in one way each, with the answer that is due: status, exception class or
 * label, and the place of the mistake.
 */
import type {Call} from './fuzz-world.ts';

/** What is sent, and what must come back. */
export interface BadRequest {
  readonly what: string;
  readonly path: string;
  readonly call: Call;
  readonly status: number;
  /** What the body must say. */
  readonly says: RegExp;
}

const command = '/command/hostile';
const select = {language: 'sql', command: 'SELECT 1'};

/** Bodies that are no JSON object, each refused at its byte. */
const malformed: readonly (readonly [string | Uint8Array, RegExp])[] = [
  ['{', /line 1 column 2/],
  ['{"language":"sql",\n\n"command":}', /line 3 column 11/],
  ['{"a":1,}', /line 1 column 8/],
  ['{"a":1}{}', /line 1 column 8/],
  ["{'a':1}", /line 1 column 2/],
  ['{"a":NaN}', /line 1 column 6/],
  ['{"a":01}', /line 1 column 6/],
  ['{"a":+1}', /line 1 column 6/],
  ['{"a":1.}', /line 1 column 6/],
  ['{"a":1e999}', /line 1 column 6/],
  ['{"a":"\\x"}', /line 1 column 7/],
  ['{"a":"\\u12"}', /line 1 column 7/],
  ['{"a":"\u0000"}', /line 1 column 7/],
  ['{"a":"', /line 1 column 7/],
  ['\ufeff{}', /line 1 column 1/],
  ['// {}', /line 1 column 1/],
  [Buffer.from('{"a":"\xff"}', 'latin1'), /not UTF-8.*line 1 column 7/],
  [Buffer.from('{"a":"\xc0\xaf"}', 'latin1'), /not UTF-8/],
  [Buffer.from('{"a":"\xed\xa0\x80"}', 'latin1'), /not UTF-8/],
  [Buffer.from(JSON.stringify(select), 'utf16le'), /line 1 column 2/],
  ['{"a":'.repeat(1_000_000), /more than 64 levels.*column 321/],
  ['['.repeat(1_000_000), /more than 64 levels/],
  [`{"a":${'1'.repeat(1_000_000)}}`, /more than 1000 digits/],
  [`{"a":1.${'0'.repeat(1_000_000)}}`, /more than 1000 digits/],
];

/** Every field of a statement with values of every other kind. */
const fields: readonly (readonly [string, readonly unknown[]])[] = [
  ['language', [1, true, [], {}, '', 'sql\u0000', '__proto__', 'js']],
  ['command', [1, true, [], {}, '', 'x', 'SELECT \u0000']],
  ['params', [1, true, '', 'x', {a: {$bytes: 1}}, {a: {$bytes: '*'}}, {a: {$int8: [300]}}]],
  ['limit', [1.5, true, 'x', [], {}, 2 ** 31, 1e300]],
  ['serializer', [1, true, [], {}]],
  ['profileExecution', [1, true, [], {}]],
  ['typeHints', [1, 'x', [], {}]],
  ['awaitResponse', [1, 'x', [], {}]],
  ['autoCommit', [1, 'x', [], {}]],
  ['retries', [-1, 1.5, true, 'x', [], {}, 2 ** 31]],
];

function ofFields(): readonly BadRequest[] {
  return fields.flatMap(([field, values]) =>
    values.map(value => ({
      what: `${field} = ${JSON.stringify(value)}`,
      path: command,
      call: {body: {...select, [field]: value}},
      status: 400,
      says: /"exception":"(?:RequestRefused|IllegalArgument|CommandSQLParsing)/,
    })),
  );
}

type Row = readonly [path: string, call: Call, status: number, says: RegExp];

const others: readonly Row[] = [
  [command, {body: ''}, 400, /Command text is null/],
  [command, {body: '[]'}, 400, /must be a JSON object/],
  [command, {body: 'null'}, 400, /must be a valid JSON object/],
  [command, {body: '{}'}, 400, /Language is null/],
  [command, {body: {language: 'sql'}}, 400, /command missing/],
  [command, {body: {...select, params: nested(40)}}, 400, /more than 32 levels/],
  [command, {body: select, headers: {'svc-session-id': 'AS-x'}}, 404, /HttpSessionException/],
  [command, {body: select, headers: {'svc-session-id': 'x'.repeat(5_000)}}, 404, /HttpSession/],
  [command, {body: select, as: 'nobody'}, 401, /error/],
  [command, {body: select, headers: {'X-Svc-Read-After': 'x'}}, 400, /error/],
  ['/begin/hostile', {body: {isolationLevel: 1}}, 400, /RequestRefusedBeforeExecution/],
  ['/begin/hostile', {body: {isolationLevel: 'SERIALIZABLE'}}, 400, /IllegalArgument/],
  ['/begin/hostile', {body: {isolation: 'REPEATABLE_READ'}}, 400, /Unknown field 'isolation'/],
  ['/commit/hostile', {body: '{}', headers: {'svc-session-id': 'AS-x'}}, 404, /HttpSession/],
  ['/query/hostile', {body: {...select, command: 'INSERT INTO D SET i=1'}}, 400, /not idempotent/],
  ['/query/hostile/sql/DROP%20TYPE%20D', {}, 400, /QueryNotIdempotent/],
  ['/query/hostile/sql/SELECT%00', {}, 400, /U\+0000/],
  ['/query/hostile/sql/%ff', {}, 400, /Malformed path/],
  ['/query/hostile/sql/SELECT%201?limit=x', {}, 400, /'limit'/],
  ['/server', {body: {command: 1}}, 400, /not valid/],
  ['/server', {body: {}}, 400, /null/],
  ['/server', {body: {command: 'x'.repeat(1_000_000)}}, 400, /not valid/],
  ['/server', {body: {command: `create user ${'['.repeat(1_000_000)}`}}, 400, /64 levels/],
  ['/server', {body: {command: 'create user {"name":1}'}}, 400, /'name' must be a string/],
  [
    '/server',
    {body: {command: 'create user {"name":"a\\u0000aa","password":"12345678"}'}},
    403,
    /x/,
  ],
  ['/server', {body: {command: 'get server events ../../etc/passwd'}}, 403, /Invalid file name/],
  ['/server', {body: {command: 'set server setting svc.txRetries abc'}}, 400, /NumberFormat/],
  [
    '/server',
    {body: {command: 'set server setting svc.server.rootPath /'}},
    400,
    /at a start only/,
  ],
  ['/server', {body: {command: 'set server setting svc.nope 1'}}, 400, /IllegalArgument/],
  ['/server/users', {body: {name: 1}}, 400, /must be a string/],
  ['/server/users', {body: {name: 'abcd', password: 'x'}}, 400, /at least 8/],
  ['/server/users', {body: {name: 'abcd', password: 'x'.repeat(300)}}, 400, /too long/],
  ['/server/users', {body: {name: 'abcd', password: '12345678', admin: true}}, 400, /'admin'/],
  ['/server/users?name=nobody', {method: 'PUT', body: {password: '12345678'}}, 404, /not found/],
  ['/server/users?name=root', {method: 'DELETE'}, 400, /root/],
  ['/server/groups', {body: {database: '*', name: 'x', access: ['nope']}}, 400, /'nope'/],
  ['/server/groups', {body: {database: '*', name: 'x', types: []}}, 400, /'types'/],
  ['/server/groups', {body: {database: '*', name: 'x', resultSetLimit: 'x'}}, 400, /whole number/],
  ['/server', {method: 'DELETE'}, 405, /accepts/],
  ['/nope', {}, 404, /^$/],
];

/** All of them. */
export function badRequests(): readonly BadRequest[] {
  return [
    ...malformed.map(([body, says]) => ({
      what: String(body).slice(0, 40),
      path: command,
      call: {body},
      status: 400,
      says,
    })),
    ...ofFields(),
    ...others.map(([path, call, status, says]) => ({
      what: `${path} ${JSON.stringify(call).slice(0, 80)}`,
      path,
      call,
      status,
      says,
    })),
  ];
}

function nested(levels: number): object {
  let value: object = {};
  for (let level = 0; level < levels; level++) value = {a: value};
  return value;
}

/** Names that no database may have. */
export const hostileNames: readonly string[] = [
  '..',
  '.',
  '/',
  '\\',
  'a/b',
  '..\\x',
  '../../../tmp/evil',
  '.hidden',
  '-x',
  'x.',
  '*',
  '%2e%2e',
  'a\u0000b',
  'a\nb',
  'x'.repeat(300),
  '\u202e',
  'a\u200bb',
  '\uff48',
  'e\u0301',
  '\ufffd',
  ' ',
  '',
  'con:',
  'a"b',
  "a'b",
  '$(x)|y',
  '\ud800',
];

/** Ways to write a name into a path so that it means something else to somebody. */
export const hostilePaths: readonly string[] = [
  '..',
  '.',
  '%2e%2e',
  '%2E%2E%2F',
  '..%2f..%2fetc',
  '%5c',
  '%00',
  'hostile%00',
  'hostile%20',
  'HOSTILE',
  '%ef%bd%88ostile',
  'hostil%65%cc%81',
  '__proto__',
  'constructor',
  '*',
  'a'.repeat(300),
  '%e2%80%ae',
  'hostile%0a',
  '%c0%ae',
  '%',
  '%zz',
  'hostile%2f',
];
