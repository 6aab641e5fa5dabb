/** Which social network the example works on: LDBC's own data, or one that it makes itself. */
import type {DataSet} from './data-set.ts';
import {csvFiles} from './files.ts';
import {generatedNetwork} from './generated/network.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** The mini data set of LDBC under `SVC_SHARED` when that is set, else a generated network. */
export function dataSetOf(environment: Environment): DataSet {
  const shared = environment['SVC_SHARED'];
  if (shared) return csvFiles(shared);
  return generatedNetwork({
    seed: positive(environment, 'SEED', 1),
    persons: positive(environment, 'PERSONS', 300),
  });
}

function positive(environment: Environment, name: string, otherwise: number): number {
  const text = environment[name];
  if (!text) return otherwise;
  if (!/^[1-9]\d{0,5}$/.test(text)) throw new Error(`${name} must be a number from 1 to 999999`);
  return Number(text);
}
