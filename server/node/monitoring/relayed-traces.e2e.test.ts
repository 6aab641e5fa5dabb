/**
 * A request that a member has its leader carry out, as a collector sees it: two spans of one trace,
 * that of the leader below that of the member.
 */
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import {type Member, untilLed} from '#server/testing/cluster/cluster-system.ts';
import {startSvcCluster, type SvcCluster} from '#server/testing/cluster/svc-cluster.ts';
import {type CollectedSpan, OtlpCollector} from '#server/testing/metrics/otlp-collector.ts';
import {eventually} from '#server/testing/time/eventually.ts';
import {rootPassword} from '#server/testing/worlds/server-process.ts';

const clusterToken = 'canary-of-the-cluster';
let collector: OtlpCollector;
let cluster: SvcCluster;
let leader: Member;
let follower: Member;

before(async () => {
  collector = await OtlpCollector.open();
  cluster = await startSvcCluster({
    size: 3,
    settings: {
      'svc.ha.clusterToken': clusterToken,
      'svc.log.level': 'debug',
      'svc.serverMetrics.otlp.enabled': true,
      'svc.serverMetrics.otlp.period': '200ms',
      'svc.serverMetrics.otlp.endpoint': collector.url,
      'svc.serverMetrics.tracing.enabled': true,
    },
  });
  leader = await untilLed(cluster);
  follower = cluster.members.find(member => member !== leader) ?? assert.fail('nobody follows');
  await cluster.clientOf(leader).createDatabase('db');
  await cluster.clientOf(leader).command('db', 'CREATE DOCUMENT TYPE Note');
  await ask({path: '/mcp/config', body: {enabled: true, allowInsert: true}, headers: {}});
});
after(async () => {
  await cluster.dispose();
  await collector.close();
});

const authorization = `Basic ${Buffer.from(`root:${rootPassword}`).toString('base64')}`;
const command = {language: 'sql', command: 'INSERT INTO Note SET a = 1'};
const toolCall = {
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: {name: 'execute_command', arguments: {database: 'db', ...command}},
};

interface Asked {
  readonly path: string;
  readonly body: object;
  readonly headers: Readonly<Record<string, string>>;
}

interface Way extends Asked {
  readonly asked: string;
  readonly carriedOut: string;
}

const statementPath = 'POST /api/v1/command/{database}';
/** Every way from a member to its leader. */
const ways: Readonly<Record<string, Way>> = {
  'the raw HTTP path': {
    path: '/command/db',
    body: command,
    headers: {},
    asked: statementPath,
    carriedOut: statementPath,
  },
  "node's server": {
    path: '/command/db',
    body: command,
    headers: {'x-request-id': 'mine'},
    asked: statementPath,
    carriedOut: statementPath,
  },
  'a call of an agent': {
    path: '/mcp',
    body: toolCall,
    headers: {accept: 'application/json, text/event-stream'},
    asked: 'POST /api/v1/mcp',
    carriedOut: 'POST /api/v1/cluster/call',
  },
};

async function ask({path, body, headers}: Asked): Promise<void> {
  const answer = await fetch(`${follower.url}/api/v1${path}`, {
    method: 'POST',
    headers: {authorization, 'content-type': 'application/json', ...headers},
    body: JSON.stringify(body),
  });
  const text = await answer.text();
  assert.equal(answer.status, 200, text);
  assert.doesNotMatch(text, /"isError":true/);
}

function askWithin(asked: Way, traceparent: string): Promise<void> {
  return ask({...asked, headers: {...asked.headers, traceparent}});
}

function told(traceId: string, name: string, {name: server}: Member): CollectedSpan | undefined {
  return collector.named(name).find(span => span.traceId === traceId && span.server === server);
}

let traces = 0;

for (const [way, asked] of Object.entries(ways)) {
  test(`over ${way} the span of the leader is below that of the member`, async () => {
    const traceId = (++traces).toString(16).padStart(32, 'a');
    const client = 'b'.repeat(16);
    await askWithin(asked, `00-${traceId}-${client}-01`);
    await eventually('both are told', () => {
      return [follower, leader].every(
        (member, at) =>
          told(traceId, at === 0 ? asked.asked : asked.carriedOut, member) !== undefined,
      );
    });
    const above = told(traceId, asked.asked, follower);
    const below = told(traceId, asked.carriedOut, leader);
    assert.equal(above?.parentSpanId, client);
    assert.equal(below?.parentSpanId, above?.spanId);
    assert.notEqual(below?.spanId, above?.spanId);
  });
}

test('a client that is not sampled is sampled by nobody', async () => {
  const [quiet, loud] = ['c'.repeat(32), 'd'.repeat(32)];
  for (const asked of Object.values(ways)) {
    await askWithin(asked, `00-${quiet}-${'b'.repeat(16)}-00`);
  }
  for (const asked of Object.values(ways)) {
    await askWithin(asked, `00-${loud}-${'b'.repeat(16)}-01`);
    await eventually('the later one is told', () => {
      return told(loud, asked.carriedOut, leader) !== undefined;
    });
  }
  const unasked = collector.spans.filter(({traceId, parentSpanId}) => {
    return traceId === quiet || parentSpanId === undefined;
  });
  assert.deepEqual(unasked, [], 'nor is anybody else at a rate of 0');
});

test('the token of the cluster and the password of root are told to nobody', async () => {
  const [untold, statement] = ['e'.repeat(32), 'canary-of-a-statement'];
  const body = {language: 'sql', command: `INSERT INTO Note SET a = '${statement}'`};
  for (const asked of Object.values(ways)) {
    if (asked.body === command)
      await askWithin({...asked, body}, `00-${untold}-${'b'.repeat(16)}-01`);
  }
  await eventually('they are traced', () => told(untold, statementPath, leader) !== undefined);
  await eventually('metrics are pushed', () => collector.metrics.size > 0);
  const logs = cluster.members.map(({process}) => process.log);
  const whole = [...collector.bodies, ...logs].join('\n');
  for (const secret of [clusterToken, rootPassword, statement]) {
    assert.ok(!whole.includes(secret), secret);
  }
});
