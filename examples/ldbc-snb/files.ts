/**
 * The mini data set of LDBC as it is published: one CSV file a table, and the values that its
 * complex reads are asked with.
 *
 * The files have one header line, `|` between the cells, no quotes and no escapes.
 */
import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import type {Cells, DataSet, Params} from './data-set.ts';

/** The data set under `shared`, the folder that `SVC_SHARED` names. Tables are read when asked. */
export function csvFiles(shared: string): DataSet {
  const folder = join(shared, 'data/ldbc-snb-mini');
  return {
    name: folder,
    rows: table => linesOf(join(folder, 'vanilla', `${table}_0_0.csv`)).slice(1),
    paramsOf: read => paramsIn(folder, read),
  };
}

function linesOf(path: string): Cells[] {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (cause) {
    const advice = 'SVC_SHARED must name the folder that holds data/, or be unset';
    throw new Error(`cannot read ${path}: ${advice}`, {cause});
  }
  const lines = text.split('\n').filter(line => line !== '');
  return lines.map(line => line.split('|'));
}

function paramsIn(folder: string, read: string): readonly Params[] {
  const file = `interactive_${read.replace('IC', '')}_param.txt`;
  const [names = [], ...lines] = linesOf(join(folder, 'substitution_parameters', file));
  return lines.map(cells => {
    const values = names.map((name, at): [string, string | number] => {
      const text = cells[at] ?? '';
      return [name, /^-?\d+$/.test(text) ? Number(text) : text];
    });
    return Object.fromEntries(values);
  });
}
