/**
 * W21: the tool `query` of the agent tool server against the HTTP query of the same statement, and
 * against a server made with the official library whose tool does nothing; 32 clients.
 */
import assert from 'node:assert/strict';
import {spawn} from 'node:child_process';
import {once} from 'node:events';
import {createInterface} from 'node:readline';
import {rmSync} from 'node:fs';
import {join, resolve} from 'node:path';
import {rootPassword, temporaryRoot} from '#server/testing/worlds/server-process.ts';
import {startAgentNullServer} from '../peers/agent-null-server.ts';
import {startSvc} from '../peers/svc.ts';
import {type Measured, measure, prepare, type Target} from '../peers/target.ts';
import {pinned, warmUp} from '../processes.ts';
import {median, type Report} from '../report.ts';
import type {BenchOptions} from '../bench-options.ts';

const clients = 32;
const records = 1_000;
const database = 'bench';
const statement = 'SELECT FROM Pt WHERE id = 77';
const accept = 'Accept: application/json, text/event-stream\r\n';

type Load = Omit<Parameters<typeof measure>[1], 'millis'>;

/** The number that the driver needs stands where no side looks at it. */
const numbers = {kind: 'random', count: 1_000_000, seed: 21} as const;
const given = JSON.stringify({database, language: 'sql', query: statement});
const params = `{"name":"query","arguments":${given}}`;
const overAgents: Load = {
  path: '/api/v1/mcp',
  headers: accept,
  before: '{"jsonrpc":"2.0","id":',
  after: `,"method":"tools/call","params":${params}}`,
  numbers,
  clients,
};
const overHttp: Load = {
  path: `/api/v1/query/${database}`,
  before: `{"language":"sql","command":"${statement}","number":`,
  after: '}',
  numbers,
  clients,
};

export async function agentQueries(report: Report, options: BenchOptions): Promise<void> {
  await using started = new AsyncDisposableStack();
  report.say(`W21: one record by its key, ${clients} clients, pinned: ${pinned()}`);
  const svc = await startSvc();
  started.defer(svc.dispose);
  const nothing = await startAgentNullServer();
  started.defer(nothing.dispose);
  await fill(svc);
  await compare(svc);
  const rounds = await measured(svc, nothing, options);
  const common = {class: 'W21', unit: 'ops/s', durability: 'none', notes: {pinned: pinned()}};
  const rate = (list: readonly Measured[]): number[] => list.map(({perSecond}) => perSecond);
  const cost = (list: readonly Measured[]): number[] =>
    list.map(({cpuMicrosPerOp}) => cpuMicrosPerOp);
  report.add({
    ...common,
    point: `${clients} clients, query tool`,
    ours: rate(rounds.agents),
    peer: 'svc, HTTP query',
    theirs: rate(rounds.http),
    cpuMicrosPerOpOurs: cost(rounds.agents),
    cpuMicrosPerOpTheirs: cost(rounds.http),
    gate: {at: 'least', bound: 0.6},
  });
  report.add({
    ...common,
    point: `${clients} clients, query tool`,
    ours: rate(rounds.agents),
    peer: nothing.label,
    theirs: rate(rounds.nothing),
    cpuMicrosPerOpOurs: cost(rounds.agents),
    cpuMicrosPerOpTheirs: cost(rounds.nothing),
    gate: {at: 'least', bound: 5},
  });
  report.add({
    ...common,
    point: 'one round trip over standard input',
    unit: 'ms',
    ours: await lineRoundTrips(),
    peer: 'none',
    theirs: [],
  });
}

async function fill(svc: Target): Promise<void> {
  await prepare(svc, database, [
    'CREATE VERTEX TYPE Pt',
    'CREATE PROPERTY Pt.id LONG',
    'CREATE INDEX ON Pt (id) UNIQUE',
  ]);
  const lines = Array.from({length: records}, (_, id) => {
    return `{"@type":"v","@class":"Pt","@id":"p${id}","id":${id},"pad":"${'x'.repeat(100)}"}\n`;
  });
  const counts = await svc.client.batch(database, lines.join(''), {
    query: {wal: true, idMapping: false},
  });
  assert.equal(counts.verticesCreated, records);
  await svc.client.agentConfiguration({enabled: true});
}

/** Both ways give the same record before any is timed. */
async function compare({client}: Target): Promise<void> {
  const {result} = await client.query(database, statement);
  const body = `${overAgents.before}1${overAgents.after}`;
  const {text} = await client.send({method: 'POST', path: overAgents.path, body, again: true});
  const answer = JSON.parse(text) as {result: {content: [{text: string}]}};
  const payload = JSON.parse(answer.result.content[0].text) as {records: unknown[]; count: number};
  assert.deepEqual(payload, {records: result, count: 1});
}

interface Rounds {
  readonly agents: readonly Measured[];
  readonly http: readonly Measured[];
  readonly nothing: readonly Measured[];
}

async function measured(
  svc: Target,
  nothing: Target,
  {rounds, seconds}: BenchOptions,
): Promise<Rounds> {
  const run = async (target: Target, load: Load): Promise<Measured> => {
    const outcome = await measure(target, {...load, millis: seconds * 1_000});
    assert.equal(outcome.errors, 0, outcome.firstError);
    return outcome;
  };
  const atNothing = {...overAgents, path: '/mcp'};
  const span = {secondsMin: 6, secondsMax: 20};
  await warmUp(() => run(svc, overAgents), span);
  await warmUp(() => run(svc, overHttp), span);
  await warmUp(() => run(nothing, atNothing), span);
  const agents: Measured[] = [];
  const http: Measured[] = [];
  const idle: Measured[] = [];
  for (let round = 0; round < rounds; round += 1) {
    agents.push(await run(svc, overAgents));
    http.push(await run(svc, overHttp));
    idle.push(await run(nothing, atNothing));
  }
  return {agents, http, nothing: idle};
}

const script = join(resolve(import.meta.dirname, '../..'), 'bin/mcp-stdio.sh');
const tripsOfRound = 2_000;

/** Medians of rounds of `ping`, one after the other. */
async function lineRoundTrips(): Promise<number[]> {
  const root = temporaryRoot('bench-mcp');
  const settings = {
    'svc.server.rootPath': root,
    'svc.server.rootPassword': rootPassword,
    'svc.server.httpIncomingHost': '127.0.0.1',
    'svc.server.httpIncomingPort': 0,
  };
  const words = Object.entries(settings).map(([key, value]) => `-D${key}=${value}`);
  const child = spawn(script, [], {
    env: {...process.env, SVC_SETTINGS: words.join(' ')},
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const lines = createInterface({input: child.stdout})[Symbol.asyncIterator]();
  const medians: number[] = [];
  try {
    for (let round = 0; round < 5; round += 1) {
      const trips: number[] = [];
      for (let trip = 0; trip < tripsOfRound; trip += 1) {
        const sentAt = performance.now();
        child.stdin.write('{"jsonrpc":"2.0","id":1,"method":"ping"}\n');
        const {done} = await lines.next();
        assert(done !== true, 'the server ended');
        trips.push(performance.now() - sentAt);
      }
      medians.push(median(trips));
    }
  } finally {
    child.stdin.end();
    await once(child, 'exit');
    rmSync(root, {recursive: true, force: true});
  }
  return medians;
}
