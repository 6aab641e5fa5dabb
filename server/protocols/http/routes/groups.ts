/** Groups over HTTP: `/server/groups` (root only, docs/http.md). */
import {readArguments} from '#server/administration/arguments.ts';
import {userCommands} from '#server/administration/users.ts';
import type {Exchange} from '../message/exchange.ts';
import {PlainFailure} from '../message/failure.ts';
import {checkFields, textField} from '../message/json-body.ts';
import type {Route} from '../router.ts';
import {answerResult, operationFor} from './administer.ts';
import {requiredBody} from './users.ts';

const {listGroups, saveGroup, dropGroup} = userCommands;

export const groupRoutes: readonly Route[] = [
  {
    path: '/server/groups',
    operations: {
      GET: operationFor(listGroups, () => ({}), answerResult),
      POST: operationFor(saveGroup, savedGroup, (exchange, _, {database, name}) =>
        answerResult(exchange, `Group '${name}' saved for database '${database}'`),
      ),
      DELETE: operationFor(dropGroup, droppedGroup, answerDropped),
    },
  },
];

async function savedGroup(exchange: Exchange) {
  const body = await requiredBody(exchange);
  checkFields(body, Object.keys(saveGroup.arguments));
  const named = (field: string): boolean => (textField(body, field) ?? '') !== '';
  if (!named('database')) throw new PlainFailure(400, 'Database name is required');
  if (!named('name')) throw new PlainFailure(400, 'Group name is required');
  return readArguments(saveGroup.arguments, body);
}

function droppedGroup(exchange: Exchange): {readonly database: string; readonly name: string} {
  const database = exchange.parameter('database') ?? '';
  const name = exchange.parameter('name') ?? '';
  if (database === '') throw new PlainFailure(400, 'Database parameter is required');
  if (name === '') throw new PlainFailure(400, 'Group name parameter is required');
  if (database === '*' && name === 'admin') {
    throw new PlainFailure(400, 'Cannot delete the admin group from the default (*) database');
  }
  return {database, name};
}

function answerDropped(
  exchange: Exchange,
  wasThere: boolean,
  {database, name}: {readonly database: string; readonly name: string},
): void {
  if (!wasThere) throw new PlainFailure(404, `Group '${name}' not found in database '${database}'`);
  answerResult(exchange, `Group '${name}' deleted from database '${database}'`);
}
