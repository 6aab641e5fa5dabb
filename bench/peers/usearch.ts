/**
 * usearch as the peer of dense vectors, in the process that asks it. The package comes from the npm
 * registry into a folder for temporary files, without running its scripts: it brings its binary.
 */
import {existsSync, mkdirSync, writeFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {runProgram} from '../processes.ts';

const version = '2.26.2';
const folder = join(tmpdir(), `svc-bench-usearch-${version}`);

interface UsearchIndex {
  add(keys: BigUint64Array, vectors: Float32Array, threads: number): void;
  search(vector: Float32Array, count: number, threads: number): {readonly keys: BigUint64Array};
}

export interface Usearch {
  readonly label: string;
  /** Vectors a second, one thread. */
  readonly buildPerSecond: number;
  search(vector: Float32Array, k: number): readonly number[];
}

/** Builds an index of vectors that lie one behind the other in `rows`. */
export async function buildUsearch(
  rows: Float32Array,
  {dimensions, expansion}: {readonly dimensions: number; readonly expansion: number},
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
  const index = new Index({
    metric: 'cos',
    dimensions,
    connectivity: 16,
    expansion_add: 128,
    expansion_search: expansion,
    quantization: 'f32',
  });
  const count = rows.length / dimensions;
  const keys = BigUint64Array.from({length: count}, (_, at) => BigInt(at));
  const startedAt = performance.now();
  index.add(keys, rows, 1);
  const seconds = (performance.now() - startedAt) / 1_000;
  return {
    label: `usearch ${version} in process`,
    buildPerSecond: count / seconds,
    search: (vector, k) => Array.from(index.search(vector, k, 1).keys, Number),
  };
}
