/** Metrics and spans as a collector gets them from a real server. */
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import {traceParentOf} from '#server/monitoring/telemetry.ts';
import {attribute, OtlpCollector} from '#server/testing/metrics/otlp-collector.ts';
import {eventually} from '#server/testing/time/eventually.ts';
import {freePort} from '#server/testing/worlds/free-port.ts';
import {
  rootPassword,
  type ServerProcess,
  startServer,
  temporaryRoot,
} from '#server/testing/worlds/server-process.ts';

let collector: OtlpCollector;
let server: ServerProcess;

before(async () => {
  collector = await OtlpCollector.open();
  server = await startServer({
    root: temporaryRoot('telemetry'),
    port: await freePort(),
    settings: {
      'svc.serverMetrics.otlp.enabled': true,
      'svc.serverMetrics.otlp.endpoint': collector.url,
      'svc.serverMetrics.otlp.headers': 'x-token=canary-of-the-collector',
      'svc.serverMetrics.otlp.period': '200ms',
      'svc.serverMetrics.tracing.enabled': true,
      'svc.serverMetrics.tracing.samplingRate': '1.0',
    },
  });
});
after(async () => {
  await server.dispose();
  await collector.close();
});

function ask(path: string, body: object, headers: Readonly<Record<string, string>> = {}) {
  const authorization = `Basic ${Buffer.from(`root:${rootPassword}`).toString('base64')}`;
  return fetch(`${server.url}/api/v1${path}`, {
    method: 'POST',
    headers: {authorization, ...headers},
    body: JSON.stringify(body),
  }).then(async answer => {
    await answer.arrayBuffer();
    return answer.status;
  });
}

const canary = 'canary-in-a-statement';
const statement = {language: 'sql', command: `SELECT '${canary}' AS a`};

test('requests of both paths are told as spans, within the trace of their client', async () => {
  assert.equal(await ask('/server', {command: 'create database db'}), 200);
  assert.equal(await ask('/query/db', statement), 200);
  const traceId = 'a'.repeat(32);
  const sampled = {traceparent: `00-${traceId}-${'b'.repeat(16)}-01`};
  const other = {traceparent: `00-${'c'.repeat(32)}-${'d'.repeat(16)}-00`};
  assert.equal(await ask('/command/db', statement, sampled), 200);
  assert.equal(await ask('/command/db', statement, other), 200);
  await eventually(
    'the spans to come',
    () => collector.named('POST /api/v1/command/{database}').length > 0,
  );
  const [span] = collector.named('POST /api/v1/command/{database}');
  assert.ok(span);
  assert.equal(span.traceId, traceId);
  assert.equal(span.parentSpanId, 'b'.repeat(16));
  assert.ok(BigInt(span.endTimeUnixNano) >= BigInt(span.startTimeUnixNano));
  const {attributes} = span;
  assert.equal(attribute(attributes, 'http.route'), '/api/v1/command/{database}');
  assert.equal(attribute(attributes, 'http.response.status_code'), 200);
  assert.equal(attribute(attributes, 'db.namespace'), 'db');
  assert.equal(collector.named('POST /api/v1/query/{database}').length, 1, 'of the fast path');
  assert.equal(collector.named('GET /api/v1/ready').length, 0, 'asked at the start, and no news');
  assert.equal(
    collector.named('POST /api/v1/command/{database}').length,
    1,
    'not the one not sampled',
  );
});

test('metrics come again and again, with the values of now', async () => {
  const count = (): number => {
    const points = collector.metrics.get('svc_http_requests_seconds')?.histogram?.dataPoints ?? [];
    return points.reduce((sum, point) => sum + Number(point.count), 0);
  };
  await eventually('the requests to be counted', () => count() >= 4);
  const before = count();
  for (let turn = 0; turn < 5; turn++) assert.equal(await ask('/query/db', statement), 200);
  await eventually('the later ones too', () => count() >= before + 5);
  assert.equal(collector.metrics.get('svc_engine_queries_total')?.sum?.isMonotonic, true);
});

test('the collector gets its token, and nothing of a statement or a password', () => {
  assert.deepEqual([...collector.tokens], ['canary-of-the-collector']);
  const all = collector.bodies.join('\n');
  for (const secret of [canary, rootPassword, 'canary-of-the-collector']) {
    assert.ok(!all.includes(secret), secret);
  }
});

test('lines about a request carry the trace that its client names', async () => {
  const [traceId, other] = ['e'.repeat(32), 'f'.repeat(32)];
  const within = (id: string) => ({traceparent: `00-${id}-${'b'.repeat(16)}-00`});
  assert.equal(await ask('/server', {command: 'create database traced'}, within(traceId)), 200);
  assert.equal(await ask('/query/traced', statement, within(other)), 200);
  await eventually('the line', () => lineAbout(traceId) !== undefined);
  const {event, spanId} = lineAbout(traceId) ?? {};
  assert.equal(event, 'administration.done');
  assert.match(String(spanId), /^[0-9a-f]{16}$/);
  assert.equal(lineAbout(other), undefined, 'a request that logs nothing');
});

/** The line of the log that carries the trace. */
function lineAbout(traceId: string): Readonly<Record<string, unknown>> | undefined {
  const line = server.log.split('\n').find(text => text.includes(`"traceId":"${traceId}"`));
  return line === undefined ? undefined : (JSON.parse(line) as Readonly<Record<string, unknown>>);
}

test('lines of text carry it where svc.server.logIncludeTrace says so', async () => {
  const traced = await startServer({
    root: temporaryRoot('traced-text'),
    port: await freePort(),
    settings: {'svc.server.logFormat': 'text', 'svc.serverMetrics.tracing.enabled': true},
  });
  try {
    const client = traced.client();
    await client.serverCommand('create database one');
    await client.serverCommand('set server setting svc.server.logIncludeTrace true');
    await client.serverCommand('create database two');
    client.close();
    const line = (name: string) => traced.log.split('\n').find(text => text.includes(`"${name}"`));
    await eventually('the lines', () => line('two') !== undefined);
    assert.doesNotMatch(line('one') ?? 'absent', /traceId|absent/);
    assert.match(line('two') ?? '', / traceId=[0-9a-f]{32} spanId=[0-9a-f]{16}$/);
  } finally {
    await traced.dispose();
  }
});

const parents: readonly (readonly [string | undefined, boolean | undefined])[] = [
  [undefined, undefined],
  ['', undefined],
  [`00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`, true],
  [`00-${'a'.repeat(32)}-${'b'.repeat(16)}-00`, false],
  [`01-${'a'.repeat(32)}-${'b'.repeat(16)}-01`, undefined],
  [`00-${'0'.repeat(32)}-${'b'.repeat(16)}-01`, undefined],
  [`00-${'A'.repeat(32)}-${'b'.repeat(16)}-01`, undefined],
  [`00-${'a'.repeat(32)}-${'b'.repeat(16)}-01-x`, undefined],
];

for (const [header, isSampled] of parents) {
  test(`traceparent '${header}' is ${isSampled}`, () => {
    assert.equal(traceParentOf(header)?.isSampled, isSampled);
  });
}
