/**
 * Turns the CSV files of the LDBC social network into lines for the bulk route: every vertex,
 * then every edge, in the files' order.
 *
 * Vertices get temporary ids of the form `person:933`; edges name their ends by them. Ids are
 * unique within a kind only, so the kind is part of the id. An empty cell becomes no property.
 */
import {type Cells, cell, numberCell, readCsv} from './files.ts';

type Properties = Readonly<Record<string, unknown>>;

interface VertexFile {
  readonly file: string;
  readonly kind: string;
  readonly type: (cells: Cells) => string;
  readonly properties: (cells: Cells) => Properties;
}

interface EdgeFile {
  readonly file: string;
  readonly type: string;
  readonly from: string;
  readonly to: string;
  readonly property?: string;
}

const capitalized = (word: string): string => word.slice(0, 1).toUpperCase() + word.slice(1);
const list = (text: string): string[] | undefined => (text === '' ? undefined : text.split(';'));
const optional = (text: string): string | undefined => (text === '' ? undefined : text);
const day = (millis: number): string => new Date(millis).toISOString().slice(0, 10);

const vertexFiles: readonly VertexFile[] = [
  {
    file: 'static/place',
    kind: 'place',
    type: cells => capitalized(cell(cells, 3)),
    properties: cells => ({name: cell(cells, 1), url: cell(cells, 2)}),
  },
  {
    file: 'static/organisation',
    kind: 'organisation',
    type: cells => capitalized(cell(cells, 1)),
    properties: cells => ({name: cell(cells, 2), url: cell(cells, 3)}),
  },
  {
    file: 'static/tagclass',
    kind: 'tagclass',
    type: () => 'TagClass',
    properties: cells => ({name: cell(cells, 1), url: cell(cells, 2)}),
  },
  {
    file: 'static/tag',
    kind: 'tag',
    type: () => 'Tag',
    properties: cells => ({name: cell(cells, 1), url: cell(cells, 2)}),
  },
  {
    file: 'dynamic/person',
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
    file: 'dynamic/forum',
    kind: 'forum',
    type: () => 'Forum',
    properties: cells => ({title: cell(cells, 1), creationDate: numberCell(cells, 2)}),
  },
  {
    file: 'dynamic/post',
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
    file: 'dynamic/comment',
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

const edgeFiles: readonly EdgeFile[] = [
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

function edge(file: string, type: string, from: string, to: string, property?: string): EdgeFile {
  return {file, type, from, to, ...(property === undefined ? {} : {property})};
}

/** Yields the lines, each with its end, in the order the bulk route wants: vertices first. */
export function* graphLines(folder: string): Generator<string> {
  for (const {file, kind, type, properties} of vertexFiles) {
    for (const cells of readCsv(folder, file)) {
      const id = numberCell(cells, 0);
      const head = {'@type': 'vertex', '@class': type(cells), '@id': `${kind}:${id}`, id};
      yield `${JSON.stringify({...head, ...properties(cells)})}\n`;
    }
  }
  for (const {file, type, from, to, property} of edgeFiles) {
    for (const cells of readCsv(folder, file)) {
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
export async function* graphChunks(folder: string): AsyncGenerator<string> {
  const chunkLength = 65_536;
  let chunk = '';
  for (const line of graphLines(folder)) {
    chunk += line;
    if (chunk.length < chunkLength) continue;
    yield chunk;
    chunk = '';
  }
  if (chunk !== '') yield chunk;
}
