/**
 * GET `/server`: who this server is, its figures and its settings (docs/http.md).
 *
 * `mode=basic` gives the identity, the default adds figures and settings, `cluster` where the
 * members of the cluster are; any other word is as `basic`. Secrets are masked by the settings'
 * own report.
 */
import {serverCommands, settingsOf} from '#server/administration/server.ts';
import {clusterFigures} from '#server/cluster/metrics.ts';
import {driverRecord} from '#server/cluster/status.ts';
import type {Principal} from '#server/security/principal.ts';
import type {HttpContext} from '../context.ts';
import type {Exchange} from '../message/exchange.ts';
import type {Route} from '../router.ts';
import {answerResult, operationFor} from './administer.ts';
import {searchMetrics} from './search-metrics.ts';
import {runServerCommand} from './server-command.ts';

export const serverRoutes: readonly Route[] = [
  {
    path: '/server',
    isIdempotent: true,
    operations: {
      GET: {access: 'user', run: describeServer},
      POST: {access: 'user', run: runServerCommand},
    },
  },
  {
    path: '/server/events',
    operations: {
      GET: operationFor(
        serverCommands.getServerEvents,
        exchange => ({file: exchange.parameter('file')}),
        answerResult,
      ),
    },
  },
];

function describeServer(exchange: Exchange, principal: Principal): void {
  const {serverName, version, instanceId, languages} = exchange.context.administration.identity;
  const basic = {user: principal.name, version, serverName, languages, instanceId};
  const mode = exchange.parameter('mode') ?? 'default';
  const {context} = exchange;
  const disk = {...context.administration.disk(), ports: portsOf(context)};
  if (mode === 'cluster') {
    return exchange.answerJson(200, {...basic, ...disk, ...membershipOf(exchange, principal)});
  }
  if (mode !== 'default') return exchange.answerJson(200, basic);
  const {metrics, settings} = {
    metrics: {...metricsOf(exchange), ...searchMetrics(exchange.context.service, principal)},
    settings: settingsOf(exchange.context.settings),
  };
  exchange.answerJson(200, {...basic, ...disk, metrics, settings});
}

/** Where this server listens, by protocol. */
function portsOf({ports, settings, options}: HttpContext): Readonly<Record<string, number>> {
  return options.cluster === undefined ? ports : {...ports, raft: settings.get('svc.ha.raftPort')};
}

/** `ha`, by which drivers find the leader; absent on a server alone. */
function membershipOf({context}: Exchange, principal: Principal): {readonly ha?: unknown} {
  const {options, service, settings} = context;
  if (options.cluster === undefined) return {};
  const databases = service.databaseNames(principal);
  return {ha: driverRecord(options.cluster.state(), databases, settings.get('svc.ha.quorum'))};
}

function metricsOf(exchange: Exchange): Readonly<Record<string, unknown>> {
  const absent = {profiler: {}, executors: {}};
  const {administration, options} = exchange.context;
  const meters = exchange.context.meters.read();
  const ha = options.cluster && clusterFigures(options.cluster.state());
  const members = ha === undefined ? {} : {ha};
  return {...absent, ...members, ...administration.metrics(), meters};
}
