/**
 * W5: ten million edges on one vertex. What is asked of it must not grow with them, or be done in
 * turns: others are served meanwhile, and memory stays bounded.
 */
import assert from 'node:assert/strict';
import {startSvc} from '../peers/svc.ts';
import {prepare, type Target} from '../peers/target.ts';
import {memoryOf} from '../processes.ts';
import {median, quantileOf, type Report} from '../report.ts';

const database = 'hub';
const edges = 10_000_000;
/** Far ends: each has as many parallel edges as it takes. */
const spokes = 100_000;
const linesAtOnce = 1_000;
const inserts = 200;
const askings = 5;
/** Files are still being merged behind the load, on the same processor. */
const coldMillisMax = 20_000;
const warmMillisMax = 5;
/**
 * The longest of many thousand waits, of minutes in which every thread of the server, the merging
 * of files among them, shares one processor: nobody is held for half a second. What is usual stands
 * in the notes.
 */
const holdMillisMax = 500;
const residentGigabytesMax = 1.5;
const hub = "(SELECT FROM Node WHERE name = 'hub')";

export async function hubEdges(report: Report): Promise<void> {
  report.say(`W5: ${edges} edges on one vertex`);
  const svc = await startSvc();
  try {
    await prepare(svc, database, [
      'CREATE VERTEX TYPE Node',
      'CREATE PROPERTY Node.name STRING',
      'CREATE INDEX ON Node (name) UNIQUE',
      'CREATE EDGE TYPE Link',
    ]);
    const startedAt = performance.now();
    const counts = await svc.client.batch(database, lines(), {query: {idMapping: false}});
    const rate = (counts.edgesCreated * 1_000) / (performance.now() - startedAt);
    assert.equal(counts.edgesCreated, edges);
    report.say(`loaded at ${Math.round(rate)} edges/s`);
    await singleInserts(report, svc);
    await questions(report, svc);
    await removal(report, svc);
    const resident = memoryOf(svc.pid).peak / 1e9;
    const gate = {at: 'most', bound: residentGigabytesMax} as const;
    add(report, 'peak of resident memory', 'GB', {ours: [resident], gate});
  } finally {
    await svc.dispose();
  }
}

/** Compares single inserts at the hub, beside an edge between two vertices that have few. */
async function singleInserts(report: Report, {client}: Target): Promise<void> {
  const times = {hub: [] as number[], spoke: [] as number[]};
  for (let at = 0; at < inserts; at += 1) {
    for (const from of ['hub', 'spoke'] as const) {
      const name = from === 'hub' ? 'hub' : `n${at}`;
      const node = (value: string): string => `(SELECT FROM Node WHERE name = ${value})`;
      const ends = `${node(`'${name}'`)} TO ${node(':to')}`;
      const began = performance.now();
      await client.command(database, `CREATE EDGE Link FROM ${ends}`, {params: {to: `n${at + 1}`}});
      times[from].push(performance.now() - began);
    }
  }
  add(report, 'one more edge at the hub', 'ms', {
    ours: [median(times.hub)],
    peer: 'at another vertex',
    theirs: [median(times.spoke)],
    gate: {at: 'most', bound: 1.5},
  });
}

async function questions(report: Report, svc: Target): Promise<void> {
  const count = "MATCH {type: Node, where: (name = 'hub')}.out('Link'){as: n} RETURN count(*) AS n";
  const asked = [
    ['count of neighbours', count, warmMillisMax],
    ['size of out()', `SELECT out('Link').size() AS n FROM ${hub}`, warmMillisMax],
    ['ten neighbours', count.replace('count(*) AS n', 'n.name AS name LIMIT 10'), warmMillisMax],
  ] as const;
  const cold = await timed(svc, count);
  add(report, 'count of neighbours, cold', 'ms', {
    ours: [cold.millis],
    gate: {at: 'most', bound: coldMillisMax},
    notes: {othersWaited: cold.hold.longest},
  });
  // Edges are packed in the background.
  await new Promise(resolve => setTimeout(resolve, 20_000));
  for (const [point, text, bound] of asked) {
    const times: number[] = [];
    let hold = 0;
    for (let time = 0; time < askings; time += 1) {
      const asking = await timed(svc, text);
      times.push(asking.millis);
      hold = Math.max(hold, asking.hold.longest);
    }
    const notes = {first: times[0], othersWaited: hold};
    add(report, point, 'ms', {ours: [median(times)], gate: {at: 'most', bound}, notes});
  }
}

async function timed(
  svc: Target,
  text: string,
): Promise<{readonly millis: number; readonly hold: Hold}> {
  const began = performance.now();
  let millis = Number.NaN;
  const answered = svc.client.query(database, text).then(() => {
    millis = performance.now() - began;
  });
  const hold = await holdDuring(svc, answered);
  return {millis, hold};
}

/** Whole, which is refused, and then some at a time. */
async function removal(report: Report, svc: Target): Promise<void> {
  const whole = svc.client.command(database, `DELETE VERTEX ${hub}`).then(
    () => 'deleted',
    (error: unknown) => String(error),
  );
  const hold = await holdDuring(svc, whole);
  assert.match(await whole, /svc\.txSizeMax|svc\.ha\.appendBufferSize/);
  add(report, 'longest wait of others, refused delete', 'ms', {
    ours: [hold.longest],
    gate: {at: 'most', bound: holdMillisMax},
    notes: {median: hold.median, p99: hold.p99},
  });
  const began = performance.now();
  const batched = svc.client.command(
    database,
    "DELETE FROM Link WHERE @out.name = 'hub' BATCH 10000",
  );
  const {longest, median: usual, p99} = await holdDuring(svc, batched);
  await batched;
  await svc.client.command(database, `DELETE VERTEX ${hub}`);
  const seconds = (performance.now() - began) / 1_000;
  add(report, 'longest wait of others, delete in batches', 'ms', {
    ours: [longest],
    gate: {at: 'most', bound: holdMillisMax},
    notes: {edgesPerSecond: Math.round(edges / seconds), median: usual, p99},
  });
}

interface Hold {
  readonly longest: number;
  readonly median: number;
  readonly p99: number;
}

/** Milliseconds that the cheapest request took while `work` went on. */
async function holdDuring({client}: Target, work: Promise<unknown>): Promise<Hold> {
  let ended = false;
  const end = (): void => {
    ended = true;
  };
  void work.then(end, end);
  const waits: number[] = [];
  while (!ended) {
    const began = performance.now();
    await client.ready();
    waits.push(performance.now() - began);
    await new Promise(resolve => setTimeout(resolve, 2));
  }
  return {
    longest: quantileOf(waits, 1),
    median: quantileOf(waits, 0.5),
    p99: quantileOf(waits, 0.99),
  };
}

function add(
  report: Report,
  point: string,
  unit: string,
  figure: {
    readonly ours: readonly number[];
    readonly peer?: string;
    readonly theirs?: readonly number[];
    readonly gate: {readonly at: 'most'; readonly bound: number};
    readonly notes?: Readonly<Record<string, unknown>>;
  },
): void {
  const {peer = 'bound', theirs = [], ...rest} = figure;
  const durability = 'durable at the end';
  report.add({class: 'W5', point: `hub: ${point}`, unit, peer, theirs, durability, ...rest});
}

async function* lines(): AsyncGenerator<string> {
  let chunk = '{"@type":"vertex","@class":"Node","@id":"h","name":"hub"}\n';
  for (let id = 0; id < spokes; id += 1) {
    chunk += `{"@type":"vertex","@class":"Node","@id":"${id}","name":"n${id}"}\n`;
    if (id % linesAtOnce !== 0) continue;
    yield chunk;
    chunk = '';
  }
  for (let at = 0; at < edges; at += 1) {
    chunk += `{"@type":"edge","@class":"Link","@from":"h","@to":"${at % spokes}"}\n`;
    if (at % linesAtOnce !== 0) continue;
    yield chunk;
    chunk = '';
  }
  yield chunk;
}
