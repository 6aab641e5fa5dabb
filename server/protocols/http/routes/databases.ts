/**
 * Health, readiness, what databases there are, and what words their languages have.
 */
import {databaseCommands} from '#server/administration/databases.ts';
import {faultSentences, faultsOf} from '#server/cluster/readiness.ts';
import type {Principal} from '#server/security/principal.ts';
import {vocabularies} from '#server/session/vocabulary.ts';
import type {Exchange} from '../message/exchange.ts';
import type {Route} from '../router.ts';
import {answerResult, operationFor} from './administer.ts';

const {listDatabases, databaseExists, listProgress} = databaseCommands;

export const databaseRoutes: readonly Route[] = [
  {path: '/health', operations: {GET: {access: 'open', run: health}}},
  {path: '/ready', operations: {GET: {access: 'open', run: ready}}},
  {
    path: '/databases',
    operations: {GET: operationFor(listDatabases, () => ({}), answerDatabases)},
  },
  {path: '/languages', operations: {GET: {access: 'user', run: listLanguages}}},
  {
    path: '/exists/{database}',
    operations: {GET: operationFor(databaseExists, namedDatabase, answerResult)},
  },
  {
    path: '/progress/{database}',
    operations: {GET: operationFor(listProgress, namedDatabase, answerResult)},
  },
];

function health(exchange: Exchange): void {
  exchange.answerEmpty(204);
}

function ready(exchange: Exchange): void {
  const obstacle = obstacleTo(exchange);
  if (obstacle === undefined) return exchange.answerEmpty(204);
  exchange.answer(503, obstacle, 'text/plain');
}

/** What keeps this server from being ready; a member may be asked to be one in good order. */
function obstacleTo({context}: Exchange): string | undefined {
  const {service, isStopping, settings, options, security} = context;
  if (isStopping) return 'Server is stopping';
  if (!service.ready) return 'Server is starting';
  // They come by the log; until then nobody can ask for anything.
  if (options.cluster !== undefined && !security.hasRoot) {
    return 'Server is starting: the users of its cluster are not known here yet';
  }
  if (options.cluster?.state().wasRemoved === true) {
    return 'This server was removed from its cluster: what it holds grows old';
  }
  if (options.cluster === undefined || !settings.get('svc.server.readinessRequiresHA')) {
    return undefined;
  }
  const lagMax = settings.get('svc.server.readinessHAMaxLag');
  const [fault] = faultsOf(options.cluster.state(), lagMax);
  return fault === undefined ? undefined : faultSentences[fault];
}

function answerDatabases(
  exchange: Exchange,
  result: readonly string[],
  _: unknown,
  {name: user}: Principal,
): void {
  const {version} = exchange.context.administration.identity;
  exchange.answerJson(200, {version, user, result});
}

function namedDatabase({database}: Exchange): {readonly database: string} {
  return {database};
}

function listLanguages(exchange: Exchange): void {
  exchange.answerJson(200, {result: vocabularies()});
}
