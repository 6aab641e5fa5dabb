/** The openCypher suite: reads its feature files and runs their cases on a worker a processor. */
import {globSync, readFileSync} from 'node:fs';
import {availableParallelism} from 'node:os';
import {join} from 'node:path';
import {Worker} from 'node:worker_threads';
import {type Case, readFeature} from './opencypher-gherkin.ts';
import type {CaseOutcome, WorkerTask} from './opencypher-worker.ts';
import {matches, type SuiteOutcome, type SuiteSource} from './suite.ts';

/** One of so many cases runs over RocksDB where not all are to. */
const partOnDisk = 25;

/** The cases of a folder of feature files, in the order of their names. */
export function readSuite(directory: string): readonly Case[] {
  return globSync('**/*.feature', {cwd: directory})
    .sort()
    .flatMap(path => {
      const text = readFileSync(join(directory, path), 'utf8');
      return readFeature(text, path.replace(/\.feature$/, ''));
    });
}

export async function runOpenCypher(
  source: Pick<SuiteSource, 'shared' | 'directory' | 'skipped' | 'isWhole'>,
): Promise<SuiteOutcome> {
  const conformance = join(source.shared, 'conformance');
  const directory = source.directory ?? join(conformance, 'opencypher-tck');
  const all = readSuite(directory);
  const judged = all.filter(one => !source.skipped.some(pattern => matches(pattern, one.name)));
  const graphs = join(conformance, 'opencypher-graphs');
  const onDisk = judged.filter((_case, at) => source.isWhole || at % partOnDisk === 0);
  const inMemory = judged.filter((_case, at) => !source.isWhole && at % partOnDisk !== 0);
  const outcomes = await runCases({onDisk, inMemory, graphs});
  return {
    cases: judged.map(one => one.name),
    differences: outcomes.filter(outcome => outcome.lines.length > 0),
  };
}

/** Every case's outcome, in no order. */
export async function runCases({
  onDisk,
  inMemory,
  graphs,
}: WorkerTask): Promise<readonly CaseOutcome[]> {
  const count = availableParallelism();
  const outcomes: CaseOutcome[] = [];
  const shareOf = (cases: readonly Case[], share: number): readonly Case[] =>
    cases.filter((_case, at) => at % count === share);
  await Promise.all(
    Array.from({length: count}, async (_, share) => {
      const workerData: WorkerTask = {
        onDisk: shareOf(onDisk, share),
        inMemory: shareOf(inMemory, share),
        graphs,
      };
      const worker = new Worker(new URL('./opencypher-worker.ts', import.meta.url), {workerData});
      worker.on('message', (outcome: CaseOutcome) => outcomes.push(outcome));
      await new Promise<void>((resolve, reject) => {
        worker.on('error', reject);
        worker.on('exit', code => {
          if (code === 0) resolve();
          else reject(new Error(`a worker ended with ${code}`));
        });
      });
    }),
  );
  return outcomes;
}
