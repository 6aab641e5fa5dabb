/**
 * Who may do what over HTTP: every route and every administrative command, asked by every kind of
 * caller. A route without a row fails, and so does a row without a route.
 *
 * Who may not is answered 401 or 403; whoever may is answered something else, though it be that
 * the request is empty.
 */
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import {type AdministrativeCommand, nameOf} from '#server/administration/command.ts';
import {administrativeCommands} from '#server/administration/commands.ts';
import {freePort} from '#server/testing/worlds/free-port.ts';
import {
  rootPassword,
  type ServerProcess,
  startServer,
  temporaryRoot,
} from '#server/testing/worlds/server-process.ts';
import {WebSocketClient} from '#server/testing/worlds/web-socket-client.ts';
import {routeTable} from './server.ts';

/** Who asks. `stranger` has an account and no grant, `holder` an API token for the database. */
const callers = ['nobody', 'wrong', 'stranger', 'reader', 'owner', 'holder', 'root'] as const;
type Caller = (typeof callers)[number];

/** Who may, by kind of route. */
const kinds = {
  everybody: callers,
  users: ['stranger', 'reader', 'owner', 'holder', 'root'],
  granted: ['reader', 'owner', 'holder', 'root'],
  root: ['root'],
  members: [],
} as const satisfies Readonly<Record<string, readonly Caller[]>>;

/** Every route, and who may use it. */
const rows: Readonly<Record<string, keyof typeof kinds>> = {
  'GET /health': 'everybody',
  'GET /ready': 'everybody',
  'GET /databases': 'users',
  'GET /languages': 'users',
  // It answers false about what one was not granted.
  'GET /exists/{database}': 'users',
  'GET /progress/{database}': 'granted',
  'POST /login': 'users',
  'POST /logout': 'users',
  'GET /sessions': 'root',
  'POST /query/{database}': 'granted',
  'GET /query/{database}/{language}/{command...}': 'granted',
  'POST /command/{database}': 'granted',
  'POST /begin/{database}': 'granted',
  // Without a session there is nothing that could be committed.
  'POST /commit/{database}': 'users',
  'POST /rollback/{database}': 'users',
  'POST /vector/{database}/search': 'users',
  'POST /vector/{database}/hybrid': 'users',
  'POST /vector/{database}/fulltext': 'users',
  'POST /batch/{database}': 'granted',
  'POST /import/{database}': 'root',
  'GET /export/{database}': 'root',
  'GET /server': 'users',
  // Its commands have rights of their own: see below.
  'POST /server': 'users',
  'GET /server/events': 'root',
  'GET /server/users': 'root',
  'POST /server/users': 'root',
  'PUT /server/users': 'root',
  'DELETE /server/users': 'root',
  'GET /server/groups': 'root',
  'POST /server/groups': 'root',
  'DELETE /server/groups': 'root',
  'GET /server/api-tokens': 'root',
  'POST /server/api-tokens': 'root',
  'DELETE /server/api-tokens': 'root',
  // Its tools ask for rights of their own.
  'POST /mcp': 'users',
  'GET /mcp/config': 'users',
  'POST /mcp/config': 'root',
  'POST /ha/checkpoint': 'members',
  'DELETE /ha/checkpoint/{hold}': 'members',
  'GET /ha/checkpoint/{hold}/{id}/{file}': 'members',
  'GET /ha/snapshot/{database}': 'members',
  'GET /ha/snapshot/{database}/checksums': 'members',
  'POST /cluster/verify/{database}': 'root',
  'POST /cluster/digest/{database}': 'members',
  'POST /cluster/bootstrap-state': 'members',
  'POST /cluster/auth-session': 'members',
  'DELETE /cluster/auth-session': 'members',
  'GET /cluster': 'root',
  'POST /cluster/peer': 'root',
  'DELETE /cluster/peer/{peerId}': 'root',
  'POST /cluster/leader': 'root',
  'POST /cluster/stepdown': 'root',
  'POST /cluster/leave': 'root',
  'POST /cluster/resync/{database}': 'root',
  'POST /cluster/capabilities': 'members',
  'POST /cluster/call': 'members',
  'POST /cluster/stream': 'members',
  'POST /cluster/security-seed': 'members',
  'GET /openapi.json': 'users',
  'GET /docs': 'users',
  // Outside of the table, at the root.
  'GET //': 'everybody',
  'GET //prometheus': 'users',
};

/** The door of change events, and what may be asked behind it. */
const socketRows = {door: 'users', subscribe: 'granted', unsubscribe: 'users'} as const;

let server: ServerProcess;
const credentials = new Map<Caller, string>([['wrong', 'Bearer AU-no-such-login']]);

before(async () => {
  server = await startServer({root: temporaryRoot('matrix'), port: await freePort()});
  credentials.set('root', basic('root', rootPassword));
  await administer('create database db');
  const grants = {stranger: {}, reader: {db: ['readonly']}, owner: {db: ['admin']}};
  for (const [name, databases] of Object.entries(grants)) {
    const password = `${name}-pass`;
    await administer('create user', {name, password, databases});
    credentials.set(name as Caller, basic(name, password));
  }
  const permissions = {types: {'*': {access: ['readRecord', 'createRecord']}}};
  const made = await ask('root', 'POST /server/api-tokens', {
    name: 't',
    database: 'db',
    permissions,
  });
  const {result} = (await made.json()) as {result: {token: string}};
  credentials.set('holder', `Bearer ${result.token}`);
});

after(() => server.dispose());

function basic(user: string, password: string): string {
  return `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
}

async function administer(command: string, more: object = {}): Promise<void> {
  const answer = await ask('root', 'POST /server', {command, ...more});
  assert.equal(answer.status, 200, await answer.text());
}

/** Sends a request of a route, its path filled. */
function ask(caller: Caller, route: string, body: object = {}): Promise<Response> {
  const [method = '', path = ''] = route.split(' ');
  const filled = path
    .replace('{database}', 'db')
    .replace('{language}/{command...}', 'sql/SELECT%201')
    .replaceAll(/\{\w+\}/g, '1');
  const authorization = credentials.get(caller);
  return fetch(`${server.url}${filled.startsWith('//') ? filled.slice(1) : `/api/v1${filled}`}`, {
    method,
    headers: authorization === undefined ? {} : {authorization},
    ...(method === 'GET' ? {} : {body: JSON.stringify(body)}),
  });
}

const statement = {language: 'sql', command: 'SELECT 1 AS one'};

for (const [route, kind] of Object.entries(rows)) {
  test(`${route} is for ${kind}`, async () => {
    const may: readonly Caller[] = kinds[kind];
    for (const caller of callers) {
      const body = /^POST \/(query|command)\//.test(route) ? statement : {};
      const answer = await ask(caller, route, body);
      await answer.body?.cancel();
      const isKnown = !['nobody', 'wrong'].includes(caller);
      const refused = kind === 'members' || !isKnown ? 401 : 403;
      const {status} = answer;
      if (may.includes(caller)) assert.ok(![401, 403].includes(status), `${caller} got ${status}`);
      else assert.equal(status, refused, `${caller}`);
    }
  });
}

/** What comes of a question over `/ws`: an answer, its error, or the status at the door. */
async function overSocket(caller: Caller, question: object): Promise<string> {
  const authorization = credentials.get(caller);
  const headers: Readonly<Record<string, string>> = authorization ? {authorization} : {};
  const port = Number(new URL(server.url).port);
  let client: WebSocketClient;
  try {
    client = await WebSocketClient.open(port, '', headers);
  } catch (error) {
    return /\d{3}/.exec(String(error))?.[0] ?? String(error);
  }
  const {result, exception} = await client.ask(question);
  client.close();
  return result === 'ok' ? 'ok' : String(exception);
}

for (const action of ['subscribe', 'unsubscribe'] as const) {
  test(`over /ws ${action} is for ${socketRows[action]}, its door for users`, async () => {
    for (const caller of callers) {
      const answer = await overSocket(caller, {action, database: 'db'});
      const isIn: readonly Caller[] = kinds[socketRows.door];
      const may: readonly Caller[] = kinds[socketRows[action]];
      const refused = isIn.includes(caller) ? 'SecurityException' : '401';
      assert.equal(answer, may.includes(caller) ? 'ok' : refused, caller);
    }
  });
}

test('every route has a row, and every row a route', () => {
  const routed = routeTable(async () => {}).flatMap(({path, operations}) =>
    Object.keys(operations).map(method => `${method} ${path}`),
  );
  const inTable = Object.keys(rows).filter(row => !row.includes(' //'));
  assert.deepEqual(inTable.toSorted(), routed.toSorted());
});

const commands: readonly AdministrativeCommand[] = Object.values(administrativeCommands);
/** Commands that any user may give, about what is his own. */
const forUsers = new Set([
  'list databases',
  'exists database',
  'list progress',
  'list queries',
  'list transactions',
  'terminate query',
  'terminate queries tag',
  'terminate transaction',
]);

for (const command of commands) {
  const name = nameOf(command);
  test(`the command '${name}' is for ${forUsers.has(name) ? 'users' : 'root'}`, async () => {
    for (const caller of ['stranger', 'reader', 'owner', 'holder'] as const) {
      const answer = await ask(caller, 'POST /server', {command: `${name} x`});
      const {exception} = (await answer.json()) as {exception?: string};
      const isRootOnly = answer.status === 403 && exception === 'ServerSecurityException';
      assert.equal(isRootOnly, !forUsers.has(name), caller);
    }
    const answer = await ask('nobody', 'POST /server', {command: name});
    await answer.body?.cancel();
    assert.equal(answer.status, 401);
  });
}

test('what a reader may read he may not write, over any route', async () => {
  const make = {language: 'sql', command: 'CREATE DOCUMENT TYPE T'};
  const refused = await ask('reader', 'POST /command/db', make);
  assert.equal(refused.status, 403, await refused.text());
  const made = await ask('owner', 'POST /command/db', make);
  assert.equal(made.status, 200, await made.text());
  const write = {language: 'sql', command: 'INSERT INTO T SET a = 1'};
  assert.equal((await ask('reader', 'POST /command/db', write)).status, 403);
  assert.equal((await ask('holder', 'POST /command/db', write)).status, 200);
  const update = {language: 'sql', command: 'UPDATE T SET a = 2'};
  assert.equal((await ask('holder', 'POST /command/db', update)).status, 403);
});
