/**
 * The social network from its tables, as what the answers of the reads need.
 *
 * Persons and messages as plain objects, everything between them as lists by id, in the order of
 * the tables. Nothing here knows of the server, the converter or a query language.
 */
import {type Cells, cell, type DataSet, numberCell} from './data-set.ts';

export interface Person {
  readonly id: number;
  readonly firstName: string;
  readonly lastName: string;
  readonly gender: string;
  readonly birthday: Date;
  readonly creationDate: number;
  readonly locationIP: string;
  readonly browserUsed: string;
  readonly languages: readonly string[];
  readonly emails: readonly string[];
  readonly city: number;
}

export interface Message {
  readonly id: number;
  readonly isPost: boolean;
  readonly creationDate: number;
  /** The text, or the name of the image. */
  readonly content: string;
  readonly author: number;
  readonly country: number;
  readonly replyOf: number | undefined;
}

interface Pair {
  readonly from: number;
  readonly to: number;
  /** The number of the relationship: a date, a year. */
  readonly when: number;
}

/** Pairs by one of their ends. */
class Relation {
  readonly #out = new Map<number, Pair[]>();
  readonly #in = new Map<number, Pair[]>();

  constructor(rows: readonly Cells[]) {
    for (const cells of rows) {
      const pair = {
        from: numberCell(cells, 0),
        to: numberCell(cells, 1),
        when: cells.length > 2 ? numberCell(cells, 2) : 0,
      };
      put(this.#out, pair.from, pair);
      put(this.#in, pair.to, pair);
    }
  }

  out(id: number): readonly Pair[] {
    return this.#out.get(id) ?? [];
  }

  in(id: number): readonly Pair[] {
    return this.#in.get(id) ?? [];
  }

  /** The one at the other end; every such relation of the data has it. */
  to(id: number): number {
    const [pair] = this.out(id);
    if (pair === undefined) throw new Error(`nothing leads from ${id}`);
    return pair.to;
  }
}

function put<T>(map: Map<number, T[]>, key: number, value: T): void {
  const list = map.get(key);
  if (list === undefined) map.set(key, [value]);
  else list.push(value);
}

export type Social = ReturnType<typeof readSocial>;

/** Reads every table that a read asks for. About 0.3 s. */
export function readSocial(data: DataSet) {
  const relation = (...tables: readonly string[]): Relation =>
    new Relation(tables.flatMap(table => data.rows(table)));
  const named = (table: string, column: number): ReadonlyMap<number, string> =>
    new Map(data.rows(table).map(cells => [numberCell(cells, 0), cell(cells, column)]));
  const livesIn = relation('dynamic/person_isLocatedIn_place');
  const wrote = relation('dynamic/post_hasCreator_person', 'dynamic/comment_hasCreator_person');
  const wroteIn = relation('dynamic/post_isLocatedIn_place', 'dynamic/comment_isLocatedIn_place');
  const replies = relation('dynamic/comment_replyOf_post', 'dynamic/comment_replyOf_comment');
  const persons = data.rows('dynamic/person').map(cells => personOf(cells, livesIn));
  const messageOf =
    (isPost: boolean, column: number) =>
    (cells: Cells): Message => {
      const id = numberCell(cells, 0);
      const [image, date, text] = isPost ? [cell(cells, 1), 2, 6] : ['', 1, 4];
      return {
        id,
        isPost,
        creationDate: numberCell(cells, date),
        content: cell(cells, text) || image,
        author: wrote.to(id),
        country: wroteIn.to(id),
        replyOf: replies.out(id)[column]?.to,
      };
    };
  const messages = [
    ...data.rows('dynamic/post').map(messageOf(true, 0)),
    ...data.rows('dynamic/comment').map(messageOf(false, 0)),
  ];
  return {
    persons: new Map(persons.map(person => [person.id, person])),
    messages: new Map(messages.map(message => [message.id, message])),
    knows: relation('dynamic/person_knows_person'),
    wrote,
    replies,
    likes: relation('dynamic/person_likes_post', 'dynamic/person_likes_comment'),
    tags: relation('dynamic/post_hasTag_tag', 'dynamic/comment_hasTag_tag'),
    interests: relation('dynamic/person_hasInterest_tag'),
    members: relation('dynamic/forum_hasMember_person'),
    moderators: relation('dynamic/forum_hasModerator_person'),
    contains: relation('dynamic/forum_containerOf_post'),
    studies: relation('dynamic/person_studyAt_organisation'),
    jobs: relation('dynamic/person_workAt_organisation'),
    located: relation('static/organisation_isLocatedIn_place'),
    partOf: relation('static/place_isPartOf_place'),
    tagTypes: relation('static/tag_hasType_tagclass'),
    subclasses: relation('static/tagclass_isSubclassOf_tagclass'),
    tagNames: named('static/tag', 1),
    tagClassNames: named('static/tagclass', 1),
    placeNames: named('static/place', 1),
    organisationNames: named('static/organisation', 2),
    forumTitles: named('dynamic/forum', 1),
  };
}

function personOf(cells: Cells, livesIn: Relation): Person {
  const id = numberCell(cells, 0);
  return {
    id,
    firstName: cell(cells, 1),
    lastName: cell(cells, 2),
    gender: cell(cells, 3),
    birthday: new Date(numberCell(cells, 4)),
    creationDate: numberCell(cells, 5),
    locationIP: cell(cells, 6),
    browserUsed: cell(cells, 7),
    languages: cell(cells, 8).split(';'),
    emails: cell(cells, 9).split(';'),
    city: livesIn.to(id),
  };
}
