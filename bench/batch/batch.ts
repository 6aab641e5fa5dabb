/**
 * `batch`: a million and ten million records through the bulk route, half vertices, half edges.
 *
 * Durable at the end: the server is killed right after its last answer, started again, and must
 * count every record. The peak of resident memory at ten times the records is bounded by that at
 * one time them.
 */
import assert from 'node:assert/strict';
import {rmSync} from 'node:fs';
import {temporaryRoot} from '#server/testing/worlds/server-process.ts';
import {startSvc} from '../peers/svc.ts';
import {prepare, type Target} from '../peers/target.ts';
import {memoryOf, pinned} from '../processes.ts';
import type {Report} from '../report.ts';
import type {BenchOptions} from '../bench-options.ts';

const database = 'bench';
const sizes = [1_000_000, 10_000_000] as const;
const megabyte = 1e6;
const linesAtOnce = 1_000;

interface Load {
  readonly perSecond: number;
  readonly peakBytes: number;
}

export async function batchClass(report: Report, options: BenchOptions): Promise<void> {
  report.say(`batch: half vertices with a unique key, half edges, pinned: ${pinned()}`);
  const loads = new Map<number, Load[]>(sizes.map(size => [size, []]));
  // One load of the larger size takes minutes: three rounds at most, and one of that.
  for (let round = 0; round < Math.min(3, options.rounds); round += 1) {
    loads.get(sizes[0])?.push(await loadOnce(sizes[0]));
  }
  loads.get(sizes[1])?.push(await loadOnce(sizes[1]));
  for (const [size, list] of loads) {
    report.add({
      class: 'batch',
      point: `${size / 1e6} million records`,
      unit: 'records/s',
      ours: list.map(load => load.perSecond),
      peer: 'bound',
      theirs: [],
      durability: 'durable at the end: counted after kill -9',
      gate: {at: 'least', bound: 100_000},
      notes: {peakMegabytes: list.map(load => Math.round(load.peakBytes / megabyte))},
    });
  }
  const peak = (size: number): number =>
    Math.max(...(loads.get(size) ?? []).map(load => load.peakBytes));
  report.add({
    class: 'batch',
    point: 'peak memory at 10 million records',
    unit: 'MB',
    ours: [peak(sizes[1]) / megabyte],
    peer: '1.3 x that at 1 million + 64 MB',
    theirs: [(1.3 * peak(sizes[0]) + 64 * 1_048_576) / megabyte],
    durability: 'durable at the end',
    gate: {at: 'most', bound: 1},
  });
}

async function loadOnce(records: number): Promise<Load> {
  const root = temporaryRoot('bench-batch');
  try {
    const svc = await startSvc({root});
    await prepare(svc, database, [
      'CREATE VERTEX TYPE Node',
      'CREATE PROPERTY Node.id LONG',
      'CREATE INDEX ON Node (id) UNIQUE',
      'CREATE EDGE TYPE Link',
    ]);
    const startedAt = performance.now();
    const counts = await svc.client.batch(database, graph(records), {
      query: {wal: true, idMapping: false},
    });
    const seconds = (performance.now() - startedAt) / 1_000;
    assert.equal(counts.verticesCreated + counts.edgesCreated, records);
    const peakBytes = memoryOf(svc.pid).peak;
    await svc.kill();
    const again = await startSvc({root});
    try {
      await recount(again, records / 2);
    } finally {
      await again.stop();
    }
    return {perSecond: records / seconds, peakBytes};
  } finally {
    rmSync(root, {recursive: true, force: true});
  }
}

async function recount(target: Target, each: number): Promise<void> {
  for (const type of ['Node', 'Link']) {
    const {result} = await target.client.query(database, `SELECT count(*) AS c FROM ${type}`);
    assert.equal(result[0]?.['c'], each, `records of ${type} are missing after kill -9`);
  }
}

/** Vertices 0, 1, ... and as many edges with scattered ends; about 60 bytes a line. */
async function* graph(records: number): AsyncGenerator<string> {
  const vertices = records / 2;
  for (let from = 0; from < vertices; from += linesAtOnce) {
    let chunk = '';
    for (let id = from; id < Math.min(vertices, from + linesAtOnce); id += 1) {
      chunk += `{"@type":"v","@class":"Node","@id":"${id}","id":${id},"name":"node ${id}"}\n`;
    }
    yield chunk;
  }
  let mixed = 1;
  for (let from = 0; from < vertices; from += linesAtOnce) {
    let chunk = '';
    for (let id = from; id < Math.min(vertices, from + linesAtOnce); id += 1) {
      mixed = (Math.imul(mixed, 1_664_525) + 1_013_904_223) >>> 0;
      const ends = `"@from":"${id}","@to":"${mixed % vertices}"`;
      chunk += `{"@type":"e","@class":"Link",${ends},"w":${id % 100}}\n`;
    }
    yield chunk;
  }
}
