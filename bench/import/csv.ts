/**
 * `import`: a million and five million rows of CSV, sent to a running server as `svc import` does.
 *
 * Durable at the end: the server is killed right after its last answer, started again, and must
 * have every row. Rates are of the whole, from the first byte sent to the answer; beside the larger
 * one stand the peak of resident memory and how it grew with the rows. The rates of each fifth of
 * the rows show whether it falls while an import goes on.
 */
import assert from 'node:assert/strict';
import {rmSync} from 'node:fs';
import {temporaryRoot} from '#server/testing/worlds/server-process.ts';
import {startSvc} from '../peers/svc.ts';
import {cpuMicrosOf, memoryOf} from '../processes.ts';
import type {Report} from '../report.ts';
import type {BenchOptions} from '../bench-options.ts';

const database = 'imported';
const sizes = [1_000_000, 5_000_000] as const;
const roundsMax = 3;
const megabyte = 1e6;
const rowsAtOnce = 1_000;
const slices = 5;
const cities = ['Rome', 'Oslo', 'Lima', 'Accra', 'Quito', 'Hanoi', 'Cairo', 'Turin'];

interface Import {
  readonly perSecond: number;
  readonly cpuMicrosPerRow: number;
  readonly peakBytes: number;
  /** Rows a second of each of the equal parts of the rows; the sending is before the first. */
  readonly slices: readonly number[];
}

export async function importCsv(report: Report, {rounds}: BenchOptions): Promise<void> {
  report.say('import: vertices of five columns, the first of them their id');
  const [small, large]: [Import[], Import[]] = [[], []];
  for (let round = 0; round < Math.min(roundsMax, rounds); round += 1) {
    small.push(await importOnce(sizes[0]));
    large.push(await importOnce(sizes[1]));
  }
  const shared = {class: 'import', peer: 'bound', theirs: [], durability: 'counted after kill -9'};
  for (const [size, list] of [
    [sizes[0], small],
    [sizes[1], large],
  ] as const) {
    report.add({
      ...shared,
      point: `${size / 1e6} million rows of CSV`,
      unit: 'rows/s',
      ours: list.map(one => one.perSecond),
      cpuMicrosPerOpOurs: list.map(one => one.cpuMicrosPerRow),
      gate: {at: 'least', bound: 50_000},
      notes: {slices: list.map(one => one.slices.map(Math.round))},
    });
  }
  const megabytes = (list: readonly Import[]): number[] =>
    list.map(one => one.peakBytes / megabyte);
  report.add({
    ...shared,
    point: `peak memory at ${sizes[1] / 1e6} million rows`,
    unit: 'MB',
    ours: megabytes(large),
    gate: {at: 'most', bound: 600},
    notes: {[`at ${sizes[0] / 1e6} million`]: megabytes(small).map(Math.round)},
  });
}

async function importOnce(rows: number): Promise<Import> {
  const root = temporaryRoot('bench-import');
  try {
    const svc = await startSvc({root});
    const cpuBefore = cpuMicrosOf(svc.pid);
    const marks: {readonly rows: number; readonly at: number}[] = [];
    const startedAt = performance.now();
    const options = {new: 'true', rows: 'vertex', vertexType: 'Person', typeIdProperty: 'id'};
    const answer = await svc.client.importFile(database, csv(rows), options, event => {
      marks.push({rows: Number(event['parsed']), at: performance.now()});
    });
    const seconds = (performance.now() - startedAt) / 1_000;
    assert.equal(answer['vertices'], rows);
    const cpuMicrosPerRow = (cpuMicrosOf(svc.pid) - cpuBefore) / rows;
    const peakBytes = memoryOf(svc.pid).peak;
    await svc.kill();
    const again = await startSvc({root});
    try {
      const counting = 'SELECT count(*) AS n, max(id) AS last FROM Person';
      const {result} = await again.client.query(database, counting);
      assert.deepEqual([result[0]?.['n'], result[0]?.['last']], [rows, rows - 1]);
    } finally {
      await again.stop();
    }
    return {perSecond: rows / seconds, cpuMicrosPerRow, peakBytes, slices: ratesOf(marks, rows)};
  } finally {
    rmSync(root, {recursive: true, force: true});
  }
}

function ratesOf(marks: readonly {rows: number; at: number}[], rows: number): number[] {
  const part = rows / slices;
  const at = Array.from({length: slices + 1}, (_, slice) => {
    const mark = marks.find(one => one.rows >= slice * part) ?? marks.at(-1);
    return mark?.at ?? Number.NaN;
  });
  return at.slice(1).map((time, slice) => (part / (time - (at[slice] ?? 0))) * 1_000);
}

/** About 50 bytes a row. */
async function* csv(rows: number): AsyncGenerator<Buffer> {
  yield Buffer.from('id,name,city,score,isMember\n');
  for (let from = 0; from < rows; from += rowsAtOnce) {
    let text = '';
    for (let id = from; id < Math.min(rows, from + rowsAtOnce); id += 1) {
      const city = cities[id % cities.length];
      text += `${id},"person, number ${id}",${city},${(id % 1_000) / 8},${id % 3 === 0}\n`;
    }
    yield Buffer.from(text);
  }
}
