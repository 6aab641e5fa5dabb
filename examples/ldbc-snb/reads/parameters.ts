/**
 * The values that the reads are asked with: those that come with the data for the complex reads,
 * some persons and messages of the files for the short ones.
 */
import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import {numberCell, readCsv} from '../files.ts';
import {complexReads} from './complex.ts';
import type {Read, ReadParams} from './read.ts';
import {shortReads} from './short.ts';

export const reads: readonly Read[] = [...shortReads, ...complexReads];

/** Beside the values that come with the data: two countries from which one circle wrote. */
const countries: ReadParams = {
  personId: 8796093022220,
  startDate: Date.UTC(2010, 0, 1),
  durationDays: 400,
  countryXName: 'Madagascar',
  countryYName: 'Russia',
};

/** Sets of values for a read: about `most`, and for complex reads those of the data as well. */
export function parametersOf(folder: string, read: Read, most: number): readonly ReadParams[] {
  const [first = '', second = ''] = read.params;
  const persons = spread(folder, 'dynamic/person', most);
  if (first === 'messageId') {
    const messages = ['dynamic/post', 'dynamic/comment'];
    return messages.flatMap(file => spread(folder, file, most).map(id => ({[first]: id})));
  }
  if (read.name.startsWith('IS')) return persons.map(id => ({[first]: id}));
  const given = fromFile(folder, read);
  const [model = {}] = given;
  const more = persons.map((id, at) => {
    const values = {...model, [first]: id};
    return second === 'person2Id' ? {...values, [second]: persons[at - 1] ?? id} : values;
  });
  return [...given, ...more, ...(read.name === 'IC3' ? [countries] : [])];
}

/** Ids from all over a file: neighbours in it are alike. */
function spread(folder: string, file: string, most: number): readonly number[] {
  const rows = readCsv(folder, file);
  const stride = Math.ceil(rows.length / most);
  return rows.filter((_, at) => at % stride === 0).map(cells => numberCell(cells, 0));
}

function fromFile(folder: string, {name, params}: Read): readonly ReadParams[] {
  const file = `interactive_${name.slice(2)}_param.txt`;
  const path = join(folder, '../substitution_parameters', file);
  const [header = '', ...lines] = readFileSync(path, 'utf8').trim().split('\n');
  const names = header.split('|');
  return lines.map(line => {
    const cells = line.split('|');
    const values = names.map((column, at): [string, string | number] => {
      const text = cells[at] ?? '';
      return [column, /^-?\d+$/.test(text) ? Number(text) : text];
    });
    return Object.fromEntries(values.filter(([column]) => params.includes(column)));
  });
}
