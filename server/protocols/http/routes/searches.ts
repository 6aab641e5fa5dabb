/** `/vector/{database}/...`: searches of vectors, of text, and both fused (docs/http.md). */
import {Refusal} from '#server/base/errors.ts';
import type {Principal} from '#server/security/principal.ts';
import {runSearch, type SearchKind} from '#server/session/searches.ts';
import {statementRequest} from '#server/session/statement-request.ts';
import type {Exchange} from '../message/exchange.ts';
import {PlainFailure} from '../message/failure.ts';
import type {Route} from '../router.ts';
import {contextOf, statementHead} from './statement.ts';

export const searchRoutes: readonly Route[] = [
  routeOf('search'),
  routeOf('hybrid'),
  routeOf('fulltext'),
];

function routeOf(kind: SearchKind): Route {
  return {
    path: `/vector/{database}/${kind}`,
    operations: {
      POST: {
        access: 'user',
        at: 'statement',
        run: (exchange, principal) => search(exchange, principal, kind),
      },
    },
  };
}

async function search(exchange: Exchange, principal: Principal, kind: SearchKind): Promise<void> {
  const given = await exchange.jsonBody();
  if (given === undefined) throw new PlainFailure(400, 'Request body is required');
  const {database, transactionId, consistency} = statementHead(exchange);
  const {service, gateway} = exchange.context;
  if (!service.databaseExists(principal, database)) {
    throw new Refusal('database.not-found', `Database '${database}' is not available`);
  }
  const read = {...statementRequest(database, ''), readOnly: true, transactionId, consistency};
  await gateway?.placement.readable(principal, read);
  exchange.sessionId = transactionId;
  const asked = {...contextOf(exchange), kind, database, given, transactionId};
  exchange.answer(200, await runSearch(service, principal, asked));
}
