/**
 * Users over HTTP: the command `create user` and the routes `/server/users` (root only).
 *
 * The routes answer short labels without a class, the command refuses like every command; both
 * keep the same rules. Unknown fields are refused: a misspelt `databases` would create a user who
 * may do nothing.
 */
import {Refusal} from '#server/base/errors.ts';
import type {MapValue} from '#server/model/value.ts';
import type {Exchange} from '../message/exchange.ts';
import {PlainFailure} from '../message/failure.ts';
import {checkFields, textField} from '../message/json-body.ts';
import type {Route} from '../router.ts';

export const userRoutes: readonly Route[] = [
  {
    path: '/server/users',
    operations: {
      GET: {access: 'root', at: 'fresh', run: listUsers},
      POST: {access: 'root', at: 'leader', run: postUser},
      PUT: {access: 'root', at: 'leader', run: putUser},
      DELETE: {access: 'root', at: 'leader', run: deleteUser},
    },
  },
];

const passwordLengthMin = 8;
const tokenPrefix = 'apitoken:';

/** The command: `create user {"name", "password", "databases"}`. */
export async function createUserOf({context}: Exchange, text: string): Promise<void> {
  const value = context.json.parse(Buffer.from(text, 'utf8'));
  if (!(value instanceof Map)) {
    throw new Refusal('json.invalid', 'A user must be a JSON object');
  }
  checkFields(value, ['name', 'password', 'databases']);
  const name = textField(value, 'name');
  const password = textField(value, 'password');
  if (name === undefined) throw new Refusal('argument', 'User name is null');
  if (password === undefined) throw new Refusal('argument', 'User password is null');
  await context.security.createUser({
    name,
    password,
    databases: value.get('databases') ?? undefined,
  });
}

function listUsers(exchange: Exchange): void {
  exchange.answerJson(200, {result: exchange.context.security.users()});
}

async function postUser(exchange: Exchange): Promise<void> {
  const body = await requiredBody(exchange);
  checkFields(body, ['name', 'password', 'databases']);
  const name = textField(body, 'name');
  const password = textField(body, 'password') ?? '';
  if (name === undefined || name === '') throw new PlainFailure(400, 'User name is required');
  if (name.startsWith(tokenPrefix)) {
    throw new PlainFailure(400, `User name cannot start with '${tokenPrefix}'`);
  }
  checkLength(password);
  const databases = body.get('databases') ?? undefined;
  await plainly(() => exchange.context.security.createUser({name, password, databases}));
  exchange.answerJson(201, {result: `User '${name}' created`});
}

async function putUser(exchange: Exchange): Promise<void> {
  const name = exchange.parameter('name') ?? '';
  if (name === '') throw new PlainFailure(400, "Query parameter 'name' is required");
  const body = await requiredBody(exchange);
  checkFields(body, ['password', 'databases']);
  checkExists(exchange, name);
  const password = textField(body, 'password');
  if (password !== undefined) checkLength(password);
  const databases = body.get('databases') ?? undefined;
  await plainly(() => exchange.context.security.changeUser(name, {password, databases}));
  exchange.answerJson(200, {result: `User '${name}' updated`});
}

async function deleteUser(exchange: Exchange): Promise<void> {
  const name = exchange.parameter('name') ?? '';
  if (name === '') throw new PlainFailure(400, 'User name parameter is required');
  if (name !== 'root') checkExists(exchange, name);
  await plainly(() => exchange.context.security.dropUser(name));
  exchange.answerJson(200, {result: `User '${name}' deleted`});
}

async function requiredBody(exchange: Exchange): Promise<MapValue> {
  const body = await exchange.jsonBody();
  if (body === undefined) throw new PlainFailure(400, 'Request body is required');
  return body;
}

function checkExists({context}: Exchange, name: string): void {
  if (context.security.principalOf(name) !== undefined) return;
  throw new PlainFailure(404, `User '${name}' not found`);
}

function checkLength(password: string): void {
  if (password.length >= passwordLengthMin) return;
  throw new PlainFailure(400, `User password must be at least ${passwordLengthMin} characters`);
}

/** A rule that the routes state without a class: the label is the whole answer. */
async function plainly(change: () => Promise<void>): Promise<void> {
  try {
    await change();
  } catch (error) {
    if (!(error instanceof Refusal) || error.code !== 'user.invalid') throw error;
    throw new PlainFailure(400, error.message);
  }
}
