/**
 * The values that the reads are asked with: for the complex reads those that come with the data,
 * or those that the network itself suggests, and for all of them persons and messages from all
 * over the tables.
 */
import {type DataSet, numberCell, type Params} from '../data-set.ts';
import type {Values} from '../values.ts';
import {complexReads} from './complex.ts';
import type {Read} from './read.ts';
import {shortReads} from './short.ts';

export const reads: readonly Read[] = [...shortReads, ...complexReads];

/** Sets of values for a read: about `most`, and for complex reads the given ones as well. */
export function parametersOf(
  {data, values}: {data: DataSet; values: Values},
  read: Read,
  most: number,
): readonly Params[] {
  const [first = '', second = ''] = read.params;
  const persons = spread(data, 'dynamic/person', most);
  if (first === 'messageId') {
    const messages = ['dynamic/post', 'dynamic/comment'];
    return messages.flatMap(table => spread(data, table, most).map(id => ({[first]: id})));
  }
  if (read.name.startsWith('IS')) return persons.map(id => ({[first]: id}));
  const known = data.paramsOf(read.name).map(params => only(read, params));
  const given = [...known, only(read, suggested(read, values))];
  const [model = {}] = given;
  const more = persons.map((id, at) => {
    const params = {...model, [first]: id};
    return second === 'person2Id' ? {...params, [second]: persons[at - 1] ?? id} : params;
  });
  return [...given, ...more];
}

/** Ids from all over a table: neighbours in it are alike. */
function spread(data: DataSet, table: string, most: number): readonly number[] {
  const rows = data.rows(table);
  const stride = Math.ceil(rows.length / most);
  return rows.filter((_, at) => at % stride === 0).map(cells => numberCell(cells, 0));
}

/** What the network itself suggests, under the names of the benchmark. */
function suggested({name}: Read, values: Values): Params {
  const {person, topicsFrom, topicsDays, firstDate, allDays} = values;
  const isOfAllDays = name === 'IC3';
  return {
    personId: name === 'IC7' ? values.likedPerson : person,
    person1Id: person,
    person2Id: values.farPerson,
    firstName: values.firstName,
    maxDate: values.middleDate,
    startDate: isOfAllDays ? firstDate : topicsFrom,
    durationDays: isOfAllDays ? allDays : topicsDays,
    countryXName: values.countryX,
    countryYName: values.countryY,
    minDate: values.joinDate,
    tagName: values.tag,
    month: values.month,
    countryName: values.jobCountry,
    workFromYear: values.jobYear,
    tagClassName: values.tagClass,
  };
}

function only({params}: Read, values: Params): Params {
  return Object.fromEntries(Object.entries(values).filter(([name]) => params.includes(name)));
}
