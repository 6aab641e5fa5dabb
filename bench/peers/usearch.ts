/**
 * usearch as the peer of dense vectors, in the process that asks it. The package comes from the npm
 * registry into a folder for temporary files, without running its scripts: it brings its binary.
 */
import {existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {runProgram} from '../processes.ts';

const version = '2.26.2';
const folder = join(tmpdir(), `svc-bench-usearch-${version}`);

interface UsearchIndex {
  save(path: string): void;
  load(path: string): void;
  add(keys: BigUint64Array, vectors: Float32Array, threads: number): void;
  search(vector: Float32Array, count: number, threads: number): {readonly keys: BigUint64Array};
}

export interface Usearch {
  readonly label: string;
  /** Vectors a second, one thread. */
  readonly buildPerSecond: number;
  /** Vectors a second of processor time. */
  readonly buildPerCpuSecond: number;
  /** The same graph, searched with so many candidates. */
  withExpansion(expansion: number): UsearchSearch;
  /** Removes the file of the graph. */
  dispose(): void;
}

export type UsearchSearch = (vector: Float32Array, k: number) => readonly number[];

/** Builds an index of vectors that lie one behind the other in `rows`. */
export async function buildUsearch(
  rows: Float32Array,
  {dimensions}: {readonly dimensions: number},
): Promise<Usearch> {
  if (!existsSync(join(folder, 'node_modules/usearch'))) {
    mkdirSync(folder, {recursive: true});
    writeFileSync(join(folder, 'package.json'), '{"private":true}');
    await runProgram(
      ['npm', 'install', '--ignore-scripts', '--no-audit', '--no-fund', '--prefix'].concat(
        folder,
        `usearch@${version}`,
      ),
      {},
    );
  }
  const {Index} = createRequire(join(folder, 'package.json'))('usearch') as {
    readonly Index: new (options: Readonly<Record<string, unknown>>) => UsearchIndex;
  };
  const make = (expansion: number): UsearchIndex =>
    new Index({
      metric: 'cos',
      dimensions,
      connectivity: 16,
      expansion_add: 128,
      expansion_search: expansion,
      quantization: 'f32',
    });
  const index = make(64);
  const count = rows.length / dimensions;
  const keys = BigUint64Array.from({length: count}, (_, at) => BigInt(at));
  const startedAt = performance.now();
  const before = process.cpuUsage();
  index.add(keys, rows, 1);
  const {user, system} = process.cpuUsage(before);
  const seconds = (performance.now() - startedAt) / 1_000;
  const saved = mkdtempSync(join(tmpdir(), 'svc-bench-usearch-'));
  const file = join(saved, 'graph');
  index.save(file);
  return {
    label: `usearch ${version} in process`,
    buildPerSecond: count / seconds,
    buildPerCpuSecond: (count * 1e6) / (user + system),
    withExpansion: expansion => {
      const copy = make(expansion);
      copy.load(file);
      return (vector, k) => Array.from(copy.search(vector, k, 1).keys, Number);
    },
    dispose: () => rmSync(saved, {recursive: true, force: true}),
  };
}
