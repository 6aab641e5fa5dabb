/**
 * The answers to the twelve queries, computed from the tables in plain TypeScript.
 *
 * Each function bears the name of its query and takes its parameters; none of them knows of the
 * server. They are written for plainness: the test compares the two lists row by row.
 */
import type {Params} from './data-set.ts';
import type {Network} from './network.ts';
import {beside, known} from './network.ts';

type Rows = Record<string, unknown>[];

/** One computation for each query of `queries.ts`. */
export const answers: Readonly<Record<string, (network: Network, params: Params) => Rows>> = {
  'friends-by-first-name': (network, params) => {
    const rows: {id: number; lastName: string; distance: number}[] = [];
    for (const [id, distance] of distancesFrom(network, number(params, 'person'), 3)) {
      const {firstName, lastName} = known(network.persons, id);
      if (distance > 0 && firstName === params['firstName']) rows.push({id, lastName, distance});
    }
    return rows.sort(by(row => [row.distance, row.lastName, row.id]));
  },

  'recent-messages-of-friends': (network, params) => {
    const rows = messagesOfFriends(network, number(params, 'person'))
      .map(id => known(network.messages, id))
      .filter(message => message.creationDate < number(params, 'maxDate'))
      .sort(by(message => [-message.creationDate, message.id]))
      .slice(0, 20);
    return rows.map(({id, creationDate, content, imageFile}) => ({
      id,
      creationDate,
      text: content === '' ? imageFile : content,
      author: known(network.persons, known(network.authorOf, id)).firstName,
    }));
  },

  'where-friends-studied': (network, params) => {
    const students = new Set(friendsOfFriends(network, number(params, 'person')));
    const schools = new Map<number, {students: number; firstYear: number}>();
    for (const {from, to, when} of network.studies) {
      if (!students.has(from)) continue;
      const school = schools.get(to) ?? {students: 0, firstYear: when};
      school.students += 1;
      school.firstYear = Math.min(school.firstYear, when);
      schools.set(to, school);
    }
    const rows = [...schools].map(([id, school]) => ({
      university: known(network.organisationNames, id),
      country: known(network.placeNames, known(network.wholeOf, known(network.placeOf, id))),
      ...school,
    }));
    return rows.sort(by(row => [-row.students, row.university])).slice(0, 15);
  },

  'new-topics': (network, params) => {
    const posts = messagesOfFriends(network, number(params, 'person'))
      .map(id => known(network.messages, id))
      .filter(message => message.isPost);
    const [start, end] = [number(params, 'startDate'), number(params, 'endDate')];
    const tagsBefore = new Set(
      posts.filter(post => post.creationDate < start).flatMap(post => tagNamesOf(network, post.id)),
    );
    const tags = posts
      .filter(post => post.creationDate >= start && post.creationDate < end)
      .flatMap(post => tagNamesOf(network, post.id))
      .filter(name => !tagsBefore.has(name));
    const rows = counted(tags).map(([name, count]) => ({name, posts: count}));
    return rows.sort(by(row => [-row.posts, row.name])).slice(0, 10);
  },

  'new-forums': (network, params) => {
    const friends = new Set(beside(network.friends, number(params, 'person')));
    const joins = network.memberships.filter(
      ({to, when}) => friends.has(to) && when > number(params, 'minDate'),
    );
    const membersOf = new Map(counted(network.memberships.map(({from}) => from)));
    const rows = counted(joins.map(({from}) => from)).map(([id, joined]) => ({
      id,
      title: known(network.forumTitles, id),
      joined,
      members: known(membersOf, id),
      posts: beside(network.postsIn, id).length,
    }));
    const first = rows.sort(by(row => [-row.joined, -row.posts, row.id])).slice(0, 20);
    return first.map(({title, joined, members, posts}) => ({title, joined, members, posts}));
  },

  'tag-co-occurrence': (network, params) => {
    const others: string[] = [];
    for (const [tag, name] of network.tagNames) {
      if (name !== params['tag']) continue;
      for (const message of beside(network.messagesWith, tag)) {
        others.push(...tagNamesOf(network, message).filter(other => other !== name));
      }
    }
    const rows = counted(others).map(([name, messages]) => ({name, messages}));
    return rows.sort(by(row => [-row.messages, row.name])).slice(0, 10);
  },

  'recent-likers': (network, params) => {
    const person = number(params, 'person');
    const own = new Set(beside(network.messagesBy, person));
    const likes = network.likes.filter(({to}) => own.has(to));
    const rows = counted(likes.map(({from}) => from)).map(([liker, count]) => ({
      person: liker,
      likedAt: Math.max(...likes.filter(({from}) => from === liker).map(({when}) => when)),
      likes: count,
      friend: beside(network.friends, person).includes(liker),
    }));
    return rows.sort(by(row => [-row.likedAt, row.person])).slice(0, 20);
  },

  conversation: (network, params) => {
    const rows: Rows = [];
    let level: readonly number[] = [number(params, 'post')];
    for (let depth = 0; depth <= 6; depth += 1) {
      for (const id of [...level].sort((one, other) => one - other)) {
        const author = known(network.persons, known(network.authorOf, id)).lastName;
        rows.push({id, depth, author, length: known(network.messages, id).length});
      }
      level = level.flatMap(id => beside(network.repliesTo, id));
    }
    return rows;
  },

  'job-referral': (network, params) => {
    const friends = new Set(beside(network.friends, number(params, 'person')));
    const rows = network.jobs
      .filter(({from, when}) => friends.has(from) && when < number(params, 'year'))
      .filter(({to}) => {
        return known(network.placeNames, known(network.placeOf, to)) === params['country'];
      })
      .map(({from, to, when}) => ({
        firstName: known(network.persons, from).firstName,
        id: from,
        company: known(network.organisationNames, to),
        since: when,
      }));
    return rows.sort(by(row => [row.since, row.id, row.company])).slice(0, 10);
  },

  experts: (network, params) => {
    const friends = new Set(beside(network.friends, number(params, 'person')));
    const classes = [...network.tagClassNames]
      .filter(([, name]) => name === params['tagClass'])
      .flatMap(([id]) => [id, ...below(network, id)]);
    const tags = classes.flatMap(id => beside(network.tagsOfClass, id));
    const posts = new Set(
      tags
        .flatMap(tag => beside(network.messagesWith, tag))
        .filter(id => known(network.messages, id).isPost),
    );
    const authors = [...posts]
      .flatMap(post => beside(network.repliesTo, post))
      .map(reply => known(network.authorOf, reply))
      .filter(author => friends.has(author));
    const rows = counted(authors).map(([expert, replies]) => ({expert, replies}));
    return rows.sort(by(row => [-row.replies, row.expert])).slice(0, 20);
  },

  'shortest-path': (network, params) => {
    const distances = distancesFrom(network, number(params, 'from'), network.persons.size);
    return [{persons: known(distances, number(params, 'to')) + 1}];
  },

  'languages-of-friends': (network, params) => {
    const speakers = [...new Set(friendsOfFriends(network, number(params, 'person')))]
      .map(id => known(network.persons, id))
      .filter(({birthday}) => birthday >= Date.UTC(1980, 0, 1));
    const rows = counted(speakers.flatMap(({languages}) => languages));
    return rows
      .map(([language, count]) => ({language, speakers: count}))
      .sort(by(row => [-row.speakers, row.language]));
  },
};

function number(params: Params, name: string): number {
  const value = params[name];
  if (typeof value !== 'number') throw new Error(`the parameter ${name} must be a number`);
  return value;
}

function messagesOfFriends(network: Network, person: number): number[] {
  return beside(network.friends, person).flatMap(friend => beside(network.messagesBy, friend));
}

/** Everybody two steps away by some way, without the person; repeated once for each way. */
function friendsOfFriends(network: Network, person: number): number[] {
  const friends = beside(network.friends, person);
  return friends.flatMap(id => beside(network.friends, id)).filter(id => id !== person);
}

function tagNamesOf(network: Network, message: number): string[] {
  return beside(network.tagsOf, message).map(tag => known(network.tagNames, tag));
}

/** Every class under `id`, at any depth. */
function below(network: Network, id: number): number[] {
  return beside(network.subclasses, id).flatMap(child => [child, ...below(network, child)]);
}

/** Steps of acquaintance from `person` to everybody at most `stepsMax` away, level by level. */
function distancesFrom(network: Network, person: number, stepsMax: number): Map<number, number> {
  const distances = new Map([[person, 0]]);
  let level = [person];
  for (let steps = 1; steps <= stepsMax && level.length > 0; steps += 1) {
    const reached = level.flatMap(id => beside(network.friends, id));
    level = [...new Set(reached)].filter(id => !distances.has(id));
    for (const id of level) distances.set(id, steps);
  }
  return distances;
}

function counted<T>(values: readonly T[]): [T, number][] {
  const counts = new Map<T, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts];
}

/** Compares by the parts in turn: numbers by size, texts by code point (the data needs no more). */
function by<T>(parts: (row: T) => readonly (string | number)[]): (one: T, other: T) => number {
  return (one, other) => {
    const others = parts(other);
    for (const [index, part] of parts(one).entries()) {
      const against = others[index];
      if (against === undefined || part === against) continue;
      return part < against ? -1 : 1;
    }
    return 0;
  };
}
