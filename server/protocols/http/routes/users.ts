/**
 * Users over HTTP: the routes `/server/users` (root only, docs/http.md).
 *
 * The routes answer short labels without a class; the rules are those of the commands. Unknown
 * fields are refused: a misspelt `databases` would create a user who may do nothing.
 */
import {readArguments} from '#server/administration/arguments.ts';
import {userCommands} from '#server/administration/users.ts';
import type {MapValue} from '#server/model/value.ts';
import {isApiTokenPrincipal} from '#server/security/api-tokens.ts';
import type {Exchange} from '../message/exchange.ts';
import {PlainFailure} from '../message/failure.ts';
import {checkFields, textField} from '../message/json-body.ts';
import type {Route} from '../router.ts';
import {answerResult, operationFor} from './administer.ts';

const {listUsers, createUser, changeUser, dropUser} = userCommands;

export const userRoutes: readonly Route[] = [
  {
    path: '/server/users',
    operations: {
      GET: operationFor(listUsers, () => ({}), answerResult),
      POST: operationFor(createUser, newUser, (exchange, _, {name}) =>
        exchange.answerJson(201, {result: `User '${name}' created`}),
      ),
      PUT: operationFor(changeUser, changedUser, (exchange, _, {name}) =>
        answerResult(exchange, `User '${name}' updated`),
      ),
      DELETE: operationFor(dropUser, droppedUser, (exchange, _, {name}) =>
        answerResult(exchange, `User '${name}' deleted`),
      ),
    },
  },
];

const passwordLengthMin = 8;

async function newUser(exchange: Exchange) {
  const body = await requiredBody(exchange);
  checkFields(body, ['name', 'password', 'databases']);
  const name = textField(body, 'name') ?? '';
  if (name === '') throw new PlainFailure(400, 'User name is required');
  if (isApiTokenPrincipal(name)) {
    throw new PlainFailure(400, "User name cannot start with 'apitoken:'");
  }
  checkLength(textField(body, 'password') ?? '');
  return readArguments(createUser.arguments, body);
}

async function changedUser(exchange: Exchange) {
  const name = exchange.parameter('name') ?? '';
  if (name === '') throw new PlainFailure(400, "Query parameter 'name' is required");
  const body = await requiredBody(exchange);
  checkFields(body, ['password', 'databases']);
  checkExists(exchange, name);
  const password = textField(body, 'password');
  if (password !== undefined) checkLength(password);
  return readArguments(changeUser.arguments, new Map(body).set('name', name));
}

function droppedUser(exchange: Exchange) {
  const name = exchange.parameter('name') ?? '';
  if (name === '') throw new PlainFailure(400, 'User name parameter is required');
  if (name !== 'root') checkExists(exchange, name);
  return {name};
}

/** @throws {PlainFailure} 400 when there is none. */
export async function requiredBody(exchange: Exchange): Promise<MapValue> {
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
