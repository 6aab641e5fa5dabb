/**
 * The social network in memory, straight from its tables: what the independent answers read.
 *
 * Nothing here knows of the server, the converter or SQL. Lists keep the tables' order.
 */
import {type Cells, cell, type DataSet, numberCell} from './data-set.ts';

/** Leads from one id to the ids at the other end, several times the same when the table says so. */
export type Adjacency = ReadonlyMap<number, readonly number[]>;

export interface Person {
  readonly id: number;
  readonly firstName: string;
  readonly lastName: string;
  /** Milliseconds since 1970, at midnight UTC. */
  readonly birthday: number;
  readonly languages: readonly string[];
}

export interface Message {
  readonly id: number;
  readonly isPost: boolean;
  readonly creationDate: number;
  readonly content: string;
  readonly imageFile: string;
  readonly length: number;
}

/** An edge with its one number: a date or a year. */
export interface Dated {
  readonly from: number;
  readonly to: number;
  readonly when: number;
}

export type Network = ReturnType<typeof readNetwork>;

/** Reads what the twelve answers need. About 0.3 s and 60 MB. */
export function readNetwork(data: DataSet) {
  const rows = (table: string): readonly Cells[] => data.rows(table);
  const names = (table: string, column: number): Map<number, string> =>
    new Map(rows(table).map(cells => [numberCell(cells, 0), cell(cells, column)]));
  const pairs = (...tables: string[]): [number, number][] =>
    tables.flatMap(rows).map(cells => [numberCell(cells, 0), numberCell(cells, 1)]);
  const dated = (...tables: string[]): Dated[] =>
    tables.flatMap(rows).map(cells => ({
      from: numberCell(cells, 0),
      to: numberCell(cells, 1),
      when: numberCell(cells, 2),
    }));
  const knows = pairs('dynamic/person_knows_person');
  const hasCreator = pairs('dynamic/post_hasCreator_person', 'dynamic/comment_hasCreator_person');
  const hasTag = pairs('dynamic/post_hasTag_tag', 'dynamic/comment_hasTag_tag');
  const replyOf = pairs('dynamic/comment_replyOf_post', 'dynamic/comment_replyOf_comment');
  const byId = <T extends {readonly id: number}>(list: readonly T[]): Map<number, T> =>
    new Map(list.map(element => [element.id, element]));

  return {
    persons: byId(rows('dynamic/person').map(personOf)),
    messages: byId([
      ...rows('dynamic/post').map(postOf),
      ...rows('dynamic/comment').map(commentOf),
    ]),
    forumTitles: names('dynamic/forum', 1),
    organisationNames: names('static/organisation', 2),
    placeNames: names('static/place', 1),
    tagNames: names('static/tag', 1),
    tagClassNames: names('static/tagclass', 1),
    friends: adjacency([...knows, ...reversed(knows)]),
    authorOf: new Map(hasCreator),
    messagesBy: adjacency(reversed(hasCreator)),
    tagsOf: adjacency(hasTag),
    messagesWith: adjacency(reversed(hasTag)),
    repliesTo: adjacency(reversed(replyOf)),
    tagsOfClass: adjacency(reversed(pairs('static/tag_hasType_tagclass'))),
    subclasses: adjacency(reversed(pairs('static/tagclass_isSubclassOf_tagclass'))),
    placeOf: new Map(pairs('static/organisation_isLocatedIn_place')),
    wholeOf: new Map(pairs('static/place_isPartOf_place')),
    postsIn: adjacency(pairs('dynamic/forum_containerOf_post')),
    memberships: dated('dynamic/forum_hasMember_person'),
    studies: dated('dynamic/person_studyAt_organisation'),
    jobs: dated('dynamic/person_workAt_organisation'),
    likes: dated('dynamic/person_likes_post', 'dynamic/person_likes_comment'),
  };
}

/** The ids beside `id`, none when it has none. */
export function beside(adjacency: Adjacency, id: number): readonly number[] {
  return adjacency.get(id) ?? [];
}

/** What a map must hold; a miss means that the tables contradict each other. */
export function known<T>(map: ReadonlyMap<number, T>, id: number): T {
  const value = map.get(id);
  if (value === undefined) throw new Error(`the tables name ${id} but do not define it`);
  return value;
}

function adjacency(pairs: readonly (readonly [number, number])[]): Map<number, number[]> {
  const result = new Map<number, number[]>();
  for (const [from, to] of pairs) {
    const list = result.get(from);
    if (list === undefined) result.set(from, [to]);
    else list.push(to);
  }
  return result;
}

function reversed(pairs: readonly (readonly [number, number])[]): [number, number][] {
  return pairs.map(([from, to]) => [to, from]);
}

function personOf(cells: Cells): Person {
  return {
    id: numberCell(cells, 0),
    firstName: cell(cells, 1),
    lastName: cell(cells, 2),
    birthday: numberCell(cells, 4),
    languages: cell(cells, 8) === '' ? [] : cell(cells, 8).split(';'),
  };
}

function postOf(cells: Cells): Message {
  return {
    id: numberCell(cells, 0),
    isPost: true,
    imageFile: cell(cells, 1),
    creationDate: numberCell(cells, 2),
    content: cell(cells, 6),
    length: numberCell(cells, 7),
  };
}

function commentOf(cells: Cells): Message {
  return {
    id: numberCell(cells, 0),
    isPost: false,
    imageFile: '',
    creationDate: numberCell(cells, 1),
    content: cell(cells, 4),
    length: numberCell(cells, 5),
  };
}
