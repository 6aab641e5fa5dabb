/**
 * Groups over HTTP: `/server/groups` (root only, docs/http.md).
 */
import type {Exchange} from '../message/exchange.ts';
import {PlainFailure} from '../message/failure.ts';
import {checkFields, plainValue, textField} from '../message/json-body.ts';
import type {Route} from '../router.ts';

export const groupRoutes: readonly Route[] = [
  {
    path: '/server/groups',
    operations: {
      GET: {access: 'root', at: 'fresh', run: listGroups},
      POST: {access: 'root', at: 'leader', run: saveGroup},
      DELETE: {access: 'root', at: 'leader', run: deleteGroup},
    },
  },
];

const ruleFields = ['access', 'types', 'resultSetLimit', 'readTimeout'];

function listGroups(exchange: Exchange): void {
  exchange.answerJson(200, {result: exchange.context.security.groups()});
}

async function saveGroup(exchange: Exchange): Promise<void> {
  const body = await exchange.jsonBody();
  if (body === undefined) throw new PlainFailure(400, 'Request body is required');
  checkFields(body, ['database', 'name', ...ruleFields]);
  const database = textField(body, 'database') ?? '';
  const name = textField(body, 'name') ?? '';
  if (database === '') throw new PlainFailure(400, 'Database name is required');
  if (name === '') throw new PlainFailure(400, 'Group name is required');
  const rules = Object.fromEntries(ruleFields.map(field => [field, plainValue(body.get(field))]));
  await exchange.context.security.saveGroup(database, name, rules);
  exchange.answerJson(200, {result: `Group '${name}' saved for database '${database}'`});
}

async function deleteGroup(exchange: Exchange): Promise<void> {
  const database = exchange.parameter('database') ?? '';
  const name = exchange.parameter('name') ?? '';
  if (database === '') throw new PlainFailure(400, 'Database parameter is required');
  if (name === '') throw new PlainFailure(400, 'Group name parameter is required');
  if (database === '*' && name === 'admin') {
    throw new PlainFailure(400, 'Cannot delete the admin group from the default (*) database');
  }
  if (!(await exchange.context.security.dropGroup(database, name))) {
    throw new PlainFailure(404, `Group '${name}' not found in database '${database}'`);
  }
  exchange.answerJson(200, {result: `Group '${name}' deleted from database '${database}'`});
}
