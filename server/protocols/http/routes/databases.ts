/**
 * Health, readiness, what databases there are, and what words their languages have.
 */
import {faultSentences, faultsOf} from '#server/cluster/readiness.ts';
import type {Principal} from '#server/security/principal.ts';
import {vocabularies} from '#server/session/vocabulary.ts';
import type {Exchange} from '../message/exchange.ts';
import type {Route} from '../router.ts';

export const databaseRoutes: readonly Route[] = [
  {path: '/health', operations: {GET: {access: 'open', run: health}}},
  {path: '/ready', operations: {GET: {access: 'open', run: ready}}},
  {path: '/databases', operations: {GET: {access: 'user', at: 'fresh', run: listDatabases}}},
  {path: '/languages', operations: {GET: {access: 'user', run: listLanguages}}},
  {
    path: '/exists/{database}',
    operations: {GET: {access: 'user', at: 'fresh', run: databaseExists}},
  },
  {path: '/progress/{database}', operations: {GET: {access: 'user', run: listProgress}}},
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

function listDatabases(exchange: Exchange, principal: Principal): void {
  const {service, administration} = exchange.context;
  const result = service.databaseNames(principal);
  const {version} = administration.identity;
  exchange.answerJson(200, {version, user: principal.name, result});
}

function listLanguages(exchange: Exchange): void {
  exchange.answerJson(200, {result: vocabularies()});
}

function databaseExists(exchange: Exchange, principal: Principal): void {
  const [, database = ''] = exchange.segments;
  const result = exchange.context.service.databaseExists(principal, database);
  exchange.answerJson(200, {result});
}

/** Builds of indexes and checks that run now; -1 for what is not known. */
function listProgress(exchange: Exchange, principal: Principal): void {
  const [, database = ''] = exchange.segments;
  const result = exchange.context.service.progress(principal, database).map(work => {
    const {id, operation, stepName, stepIndex, totalSteps, done, total = -1} = work;
    const percentage = total > 0 ? Math.min(100, Math.floor((done * 100) / total)) : -1;
    const steps = {stepName, stepIndex, totalSteps, done, total, percentage};
    const {startedAt: startedOn, elapsedMs} = work;
    return {id, database, operation, ...steps, startedOn, elapsedMs};
  });
  exchange.answerJson(200, {result});
}
