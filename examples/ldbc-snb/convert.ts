/**
 * Turns the tables of the social network into lines for the bulk route: every vertex,
 * then every edge, in the tables' order.
 *
 * Vertices get temporary ids of the form `person:933`; edges name their ends by them. Ids are
 * unique within a kind only, so the kind is part of the id. An empty cell becomes no property.
 */
import {type Cells, cell, type DataSet, numberCell} from './data-set.ts';

type Properties = Readonly<Record<string, unknown>>;

interface VertexTable {
  readonly table: string;
  readonly kind: string;
  readonly type: (cells: Cells) => string;
  readonly properties: (cells: Cells) => Properties;
}

interface EdgeTable {
  readonly table: string;
  readonly type: string;
  readonly from: string;
  readonly to: string;
  readonly property?: string;
}

const capitalized = (word: string): string => word.slice(0, 1).toUpperCase() + word.slice(1);
const list = (text: string): string[] | undefined => (text === '' ? undefined : text.split(';'));
const optional = (text: string): string | undefined => (text === '' ? undefined : text);
const day = (millis: number): string => new Date(millis).toISOString().slice(0, 10);

const vertexTables: readonly VertexTable[] = [
  {
    table: 'static/place',
    kind: 'place',
    type: cells => capitalized(cell(cells, 3)),
    properties: cells => ({name: cell(cells, 1), url: cell(cells, 2)}),
  },
  {
    table: 'static/organisation',
    kind: 'organisation',
    type: cells => capitalized(cell(cells, 1)),
    properties: cells => ({name: cell(cells, 2), url: cell(cells, 3)}),
  },
  {
    table: 'static/tagclass',
    kind: 'tagclass',
    type: () => 'TagClass',
    properties: cells => ({name: cell(cells, 1), url: cell(cells, 2)}),
  },
  {
    table: 'static/tag',
    kind: 'tag',
    type: () => 'Tag',
    properties: cells => ({name: cell(cells, 1), url: cell(cells, 2)}),
  },
  {
    table: 'dynamic/person',
    kind: 'person',
    type: () => 'Person',
    properties: cells => ({
      firstName: cell(cells, 1),
      lastName: cell(cells, 2),
      gender: cell(cells, 3),
      birthday: day(numberCell(cells, 4)),
      creationDate: numberCell(cells, 5),
      locationIP: cell(cells, 6),
      browserUsed: cell(cells, 7),
      languages: list(cell(cells, 8)),
      emails: list(cell(cells, 9)),
    }),
  },
  {
    table: 'dynamic/forum',
    kind: 'forum',
    type: () => 'Forum',
    properties: cells => ({title: cell(cells, 1), creationDate: numberCell(cells, 2)}),
  },
  {
    table: 'dynamic/post',
    kind: 'message',
    type: () => 'Post',
    properties: cells => ({
      imageFile: optional(cell(cells, 1)),
      creationDate: numberCell(cells, 2),
      locationIP: cell(cells, 3),
      browserUsed: cell(cells, 4),
      language: optional(cell(cells, 5)),
      content: optional(cell(cells, 6)),
      length: numberCell(cells, 7),
    }),
  },
  {
    table: 'dynamic/comment',
    kind: 'message',
    type: () => 'Comment',
    properties: cells => ({
      creationDate: numberCell(cells, 1),
      locationIP: cell(cells, 2),
      browserUsed: cell(cells, 3),
      content: optional(cell(cells, 4)),
      length: numberCell(cells, 5),
    }),
  },
];

const edgeTables: readonly EdgeTable[] = [
  edge('static/place_isPartOf_place', 'isPartOf', 'place', 'place'),
  edge('static/organisation_isLocatedIn_place', 'isLocatedIn', 'organisation', 'place'),
  edge('static/tagclass_isSubclassOf_tagclass', 'isSubclassOf', 'tagclass', 'tagclass'),
  edge('static/tag_hasType_tagclass', 'hasType', 'tag', 'tagclass'),
  edge('dynamic/person_isLocatedIn_place', 'isLocatedIn', 'person', 'place'),
  edge('dynamic/person_hasInterest_tag', 'hasInterest', 'person', 'tag'),
  edge('dynamic/person_studyAt_organisation', 'studyAt', 'person', 'organisation', 'classYear'),
  edge('dynamic/person_workAt_organisation', 'workAt', 'person', 'organisation', 'workFrom'),
  edge('dynamic/person_knows_person', 'knows', 'person', 'person', 'creationDate'),
  edge('dynamic/forum_hasModerator_person', 'hasModerator', 'forum', 'person'),
  edge('dynamic/forum_hasMember_person', 'hasMember', 'forum', 'person', 'joinDate'),
  edge('dynamic/forum_hasTag_tag', 'hasTag', 'forum', 'tag'),
  edge('dynamic/forum_containerOf_post', 'containerOf', 'forum', 'message'),
  edge('dynamic/post_hasCreator_person', 'hasCreator', 'message', 'person'),
  edge('dynamic/post_isLocatedIn_place', 'isLocatedIn', 'message', 'place'),
  edge('dynamic/post_hasTag_tag', 'hasTag', 'message', 'tag'),
  edge('dynamic/comment_hasCreator_person', 'hasCreator', 'message', 'person'),
  edge('dynamic/comment_isLocatedIn_place', 'isLocatedIn', 'message', 'place'),
  edge('dynamic/comment_hasTag_tag', 'hasTag', 'message', 'tag'),
  edge('dynamic/comment_replyOf_post', 'replyOf', 'message', 'message'),
  edge('dynamic/comment_replyOf_comment', 'replyOf', 'message', 'message'),
  edge('dynamic/person_likes_post', 'likes', 'person', 'message', 'creationDate'),
  edge('dynamic/person_likes_comment', 'likes', 'person', 'message', 'creationDate'),
];

function edge(table: string, type: string, from: string, to: string, property?: string): EdgeTable {
  return {table, type, from, to, ...(property === undefined ? {} : {property})};
}

/** Yields the lines, each with its end, in the order the bulk route wants: vertices first. */
export function* graphLines(data: DataSet): Generator<string> {
  for (const {table, kind, type, properties} of vertexTables) {
    for (const cells of data.rows(table)) {
      const id = numberCell(cells, 0);
      const head = {'@type': 'vertex', '@class': type(cells), '@id': `${kind}:${id}`, id};
      yield `${JSON.stringify({...head, ...properties(cells)})}\n`;
    }
  }
  for (const {table, type, from, to, property} of edgeTables) {
    for (const cells of data.rows(table)) {
      const head = {
        '@type': 'edge',
        '@class': type,
        '@from': `${from}:${cell(cells, 0)}`,
        '@to': `${to}:${cell(cells, 1)}`,
      };
      const extra = property === undefined ? {} : {[property]: numberCell(cells, 2)};
      yield `${JSON.stringify({...head, ...extra})}\n`;
    }
  }
}

/** The same in pieces of about 64 KiB, which is what a connection likes. */
export async function* graphChunks(data: DataSet): AsyncGenerator<string> {
  const chunkLength = 65_536;
  let chunk = '';
  for (const line of graphLines(data)) {
    chunk += line;
    if (chunk.length < chunkLength) continue;
    yield chunk;
    chunk = '';
  }
  if (chunk !== '') yield chunk;
}
