/**
 * The process of the operator: its options, which come from the environment as a Deployment gives
 * them, health and metrics on one port, and the signals that end it.
 *
 * | variable | meaning |
 * |---|---|
 * | WATCH_NAMESPACES | namespaces between commas; empty: all |
 * | POD_NAME, POD_NAMESPACE | who this is, and where the lease lies |
 * | READS_NODES | `true` where the operator may read nodes |
 * | PORT | of `/healthz`, `/readyz` and `/metrics`; 8080 |
 * | LEASE_SECONDS | how long an operator that was ended without a word is waited for; 15 |
 * | WORKERS | clusters that are worked on at once; 4 |
 * | LOG_LEVEL | debug, info, warn, error |
 */
import {randomUUID} from 'node:crypto';
import {createServer, type Server} from 'node:http';
import type {LogLevel} from '#server/platform/logger.ts';
import {createClock, createRandom, createTimers} from '#server/platform/real/clock.ts';
import {createLogger} from '#server/platform/real/logger.ts';
import {x509} from '#operator/certificates/certificates.ts';
import {createMetrics, type Metrics} from '#operator/controllers/metrics.ts';
import {Operator} from '#operator/controllers/operator.ts';
import {HttpAdmin} from '#operator/database/http-admin.ts';
import {defaultAccess} from '#operator/kubernetes/access.ts';
import {HttpKubeApi} from '#operator/kubernetes/http-api.ts';
import {LEASE_SECONDS} from '#operator/kubernetes/lease.ts';
import {RetryingApi} from '#operator/kubernetes/retrying-api.ts';

const environment = process.env;
const levels: readonly LogLevel[] = ['debug', 'info', 'warn', 'error'];
const level = levels.find(one => one === environment['LOG_LEVEL']) ?? 'info';
const podName = environment['POD_NAME'] ?? 'svc-operator';
const logger = createLogger({level, fields: {pod: podName}});
const STOP_MS_MAX = 30_000;

try {
  await run();
} catch (error) {
  const message = error instanceof Error ? (error.stack ?? error.message) : String(error);
  logger.log('error', 'operator.not-started', {message});
  process.exitCode = 1;
}

async function run(): Promise<void> {
  const means = {clock: createClock(), timers: createTimers(), random: createRandom()};
  const access = await defaultAccess();
  const admin = new HttpAdmin();
  const metrics = createMetrics();
  const operator = new Operator({
    ...means,
    api: new RetryingApi(new HttpKubeApi(access), means),
    admin,
    logger,
    namespaces: namesIn(environment['WATCH_NAMESPACES']),
    readsNodes: environment['READS_NODES'] === 'true',
    podName,
    namespace: environment['POD_NAMESPACE'] ?? access.namespace ?? 'default',
    identity: `${podName}_${randomUUID()}`,
    leaseSeconds: numberIn(environment['LEASE_SECONDS'], {otherwise: LEASE_SECONDS, max: 3_600}),
    workers: numberIn(environment['WORKERS'], {otherwise: 4, max: 64}),
    onLost: () => {
      logger.log('error', 'lease.lost', {});
      process.exit(1);
    },
    certificates: x509,
    figures: metrics,
  });
  metrics.observe(operator);
  const port = numberIn(environment['PORT'], {otherwise: 8_080, max: 65_535});
  const server = serve(operator, metrics, port);
  operator.start();
  logger.log('info', 'operator.started', {port});
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.once(signal, () => {
      logger.log('info', 'operator.stopping', {signal});
      setTimeout(() => process.exit(1), STOP_MS_MAX).unref();
      void operator.stop().then(() => {
        server.close();
        server.closeAllConnections();
        admin.close();
        access.close();
      });
    });
  }
}

function namesIn(text: string | undefined): readonly string[] | undefined {
  const names = (text ?? '').split(',').map(name => name.trim());
  const given = names.filter(name => name !== '');
  return given.length === 0 ? undefined : given;
}

/** @throws {Error} for a text that is no such number. */
function numberIn(
  text: string | undefined,
  {otherwise, max}: {readonly otherwise: number; readonly max: number},
): number {
  if (text === undefined || text === '') return otherwise;
  const value = Number(text);
  if (Number.isInteger(value) && value >= 0 && value <= max) return value;
  throw new Error(`'${text}' is no whole number up to ${max}`);
}

function serve(operator: Operator, metrics: Metrics, port: number): Server {
  const server = createServer((request, response) => {
    switch (request.url?.replace(/\?.*/, '')) {
      case '/healthz':
        return response.writeHead(204).end();
      case '/readyz':
        return operator.isReady
          ? response.writeHead(204).end()
          : response.writeHead(503).end('the caches are not whole yet');
      case '/metrics':
        return metrics.answer(request, response);
      default:
        return response.writeHead(404).end();
    }
  });
  return server.listen(port);
}
