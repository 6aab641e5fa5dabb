/**
 * What the reads must answer, computed from the tables alone, one function a read.
 *
 * The rules are those of the benchmark's specification (Interactive, version 1): what counts, the
 * order of the rows, how many there are.
 */
import type {Params} from '../data-set.ts';
import type {Message, Person, Social} from '../social.ts';

type Rows = readonly Readonly<Record<string, unknown>>[];
type Answer = (social: Social, params: Params) => Rows;

const dayMs = 86_400_000;

export const readAnswers: Readonly<Record<string, Answer>> = {
  IS1: (social, params) => {
    const {firstName, lastName, birthday, locationIP, browserUsed, city, gender, creationDate} =
      person(social, number(params, 'personId'));
    const day = birthday.toISOString().slice(0, 10);
    return [
      {
        firstName,
        lastName,
        birthday: day,
        locationIP,
        browserUsed,
        cityId: city,
        gender,
        creationDate,
      },
    ];
  },

  IS2: (social, params) => {
    const own = messagesOf(social, number(params, 'personId'));
    return sorted(own, m => [-m.creationDate, -m.id], 10).map(m => {
      const post = threadOf(social, m);
      const {id: authorId, firstName, lastName} = person(social, post.author);
      const {id: messageId, content, creationDate} = m;
      return {messageId, content, creationDate, postId: post.id, authorId, firstName, lastName};
    });
  },

  IS3: (social, params) => {
    const id = number(params, 'personId');
    const pairs = [...social.knows.out(id), ...social.knows.in(id)];
    const rows = pairs.map(({from, to, when}) => ({
      ...named(social, from === id ? to : from),
      since: when,
    }));
    return sorted(rows, row => [-row.since, row.personId]);
  },

  IS4: (social, params) => {
    const {creationDate, content} = message(social, number(params, 'messageId'));
    return [{creationDate, content}];
  },

  IS5: (social, params) => [named(social, message(social, number(params, 'messageId')).author)],

  IS6: (social, params) => {
    const post = threadOf(social, message(social, number(params, 'messageId')));
    return social.contains.in(post.id).map(({from: forumId}) => {
      const {personId: moderatorId, ...names} = named(social, social.moderators.to(forumId));
      return {forumId, title: known(social.forumTitles, forumId), moderatorId, ...names};
    });
  },

  IS7: (social, params) => {
    const original = message(social, number(params, 'messageId'));
    const friends = new Set(friendsOf(social, original.author));
    const rows = social.replies.in(original.id).map(({from}) => {
      const {id: commentId, content, creationDate, author} = message(social, from);
      const knows = friends.has(author);
      return {commentId, content, creationDate, ...named(social, author), knows};
    });
    return sorted(rows, row => [-row.creationDate, row.personId, row.commentId]);
  },

  IC1: (social, params) => {
    const steps = stepsFrom(social, number(params, 'personId'), 3);
    const found = [...steps]
      .filter(([, distance]) => distance > 0)
      .map(([id, distance]) => ({...person(social, id), distance}))
      .filter(({firstName}) => firstName === params['firstName']);
    return sorted(found, one => [one.distance, one.lastName, one.id], 20).map(one => ({
      id: one.id,
      lastName: one.lastName,
      distance: one.distance,
      birthday: one.birthday.toISOString().slice(0, 10),
      creationDate: one.creationDate,
      gender: one.gender,
      browserUsed: one.browserUsed,
      locationIP: one.locationIP,
      emails: one.emails,
      languages: one.languages,
      cityName: known(social.placeNames, one.city),
      universities: placesOf(social, social.studies.out(one.id)),
      companies: placesOf(social, social.jobs.out(one.id)),
    }));
  },

  IC2: (social, params) => {
    const maxDate = number(params, 'maxDate');
    const friends = friendsOf(social, number(params, 'personId'));
    return newest(social, friends, m => m.creationDate <= maxDate);
  },

  IC3: (social, params) => {
    const start = number(params, 'startDate');
    const end = start + number(params, 'durationDays') * dayMs;
    const [x, y] = [params['countryXName'], params['countryYName']];
    const countryOf = (place: number): string => known(social.placeNames, place);
    const rows = circleOf(social, number(params, 'personId')).flatMap(id => {
      const home = countryOf(social.partOf.to(person(social, id).city));
      if (home === x || home === y) return [];
      const countries = messagesOf(social, id)
        .filter(m => m.creationDate >= start && m.creationDate < end)
        .map(m => countryOf(m.country));
      const xCount = countries.filter(name => name === x).length;
      const yCount = countries.filter(name => name === y).length;
      if (xCount === 0 || yCount === 0) return [];
      return [{...named(social, id), xCount, yCount, count: xCount + yCount}];
    });
    return sorted(rows, row => [-row.xCount, row.personId], 20);
  },

  IC4: (social, params) => {
    const start = number(params, 'startDate');
    const end = start + number(params, 'durationDays') * dayMs;
    const posts = friendsOf(social, number(params, 'personId'))
      .flatMap(id => messagesOf(social, id))
      .filter(m => m.isPost && m.creationDate < end);
    const old = new Set(posts.filter(m => m.creationDate < start).flatMap(m => tagsOf(social, m)));
    const fresh = posts.filter(m => m.creationDate >= start).flatMap(m => tagsOf(social, m));
    const rows = counted(fresh.filter(tag => !old.has(tag))).map(([tagName, postCount]) => ({
      tagName,
      postCount,
    }));
    return sorted(rows, row => [-row.postCount, row.tagName], 10);
  },

  IC5: (social, params) => {
    const minDate = number(params, 'minDate');
    const joined = new Map<number, Set<number>>();
    for (const friend of circleOf(social, number(params, 'personId'))) {
      for (const {from: forum, when} of social.members.in(friend)) {
        if (when > minDate) joined.set(forum, (joined.get(forum) ?? new Set()).add(friend));
      }
    }
    const rows = [...joined].map(([forum, friends]) => {
      const posts = social.contains.out(forum).map(({to}) => message(social, to).author);
      return {forum, postCount: posts.filter(author => friends.has(author)).length};
    });
    return sorted(rows, row => [-row.postCount, row.forum], 20).map(({forum, postCount}) => ({
      title: known(social.forumTitles, forum),
      postCount,
    }));
  },

  IC6: (social, params) => {
    const others = circleOf(social, number(params, 'personId'))
      .flatMap(id => messagesOf(social, id))
      .filter(m => m.isPost)
      .map(m => tagsOf(social, m))
      .filter(tags => tags.includes(String(params['tagName'])))
      .flatMap(tags => tags.filter(tag => tag !== params['tagName']));
    const rows = counted(others).map(([tagName, postCount]) => ({tagName, postCount}));
    return sorted(rows, row => [-row.postCount, row.tagName], 10);
  },

  IC7: (social, params) => {
    const id = number(params, 'personId');
    const friends = new Set(friendsOf(social, id));
    const likes = messagesOf(social, id).flatMap(m =>
      social.likes.in(m.id).map(({from, when}) => ({liker: from, likedAt: when, m})),
    );
    const last = new Map<number, (typeof likes)[number]>();
    for (const like of sorted(likes, one => [-one.likedAt, one.m.id])) {
      if (!last.has(like.liker)) last.set(like.liker, like);
    }
    const rows = [...last.values()].map(({liker, likedAt, m}) => ({
      ...named(social, liker),
      likedAt,
      messageId: m.id,
      content: m.content,
      minutesLatency: Math.trunc((likedAt - m.creationDate) / 60_000),
      isNew: !friends.has(liker),
    }));
    return sorted(rows, row => [-row.likedAt, row.personId], 20);
  },

  IC8: (social, params) => {
    const rows = messagesOf(social, number(params, 'personId'))
      .flatMap(m => social.replies.in(m.id))
      .map(({from}) => {
        const {id: commentId, content, creationDate, author} = message(social, from);
        return {...named(social, author), creationDate, commentId, content};
      });
    return sorted(rows, row => [-row.creationDate, row.commentId], 20);
  },

  IC9: (social, params) => {
    const maxDate = number(params, 'maxDate');
    const circle = circleOf(social, number(params, 'personId'));
    return newest(social, circle, m => m.creationDate < maxDate);
  },

  IC10: (social, params) => {
    const id = number(params, 'personId');
    const month = number(params, 'month');
    const interests = new Set(social.interests.out(id).map(({to}) => to));
    const rows = [...stepsFrom(social, id, 2)]
      .filter(([, steps]) => steps === 2)
      .map(([friend]) => person(social, friend))
      .filter(({birthday}) => isBornAbout(birthday, month))
      .map(friend => {
        const posts = messagesOf(social, friend.id).filter(m => m.isPost);
        const common = posts.filter(m =>
          social.tags.out(m.id).some(({to}) => interests.has(to)),
        ).length;
        return {
          ...named(social, friend.id),
          score: common - (posts.length - common),
          gender: friend.gender,
          cityName: known(social.placeNames, friend.city),
        };
      });
    return sorted(rows, row => [-row.score, row.personId], 10);
  },

  IC11: (social, params) => {
    const rows = circleOf(social, number(params, 'personId')).flatMap(id =>
      social.jobs
        .out(id)
        .filter(({to, when}) => {
          const country = known(social.placeNames, social.located.to(to));
          return country === params['countryName'] && when < number(params, 'workFromYear');
        })
        .map(({to, when}) => ({
          ...named(social, id),
          companyName: known(social.organisationNames, to),
          workFrom: when,
        })),
    );
    // Names descend where the rest is equal.
    const byName = sorted(rows, row => [row.companyName]).toReversed();
    return sorted(byName, row => [row.workFrom, row.personId], 10);
  },

  IC12: (social, params) => {
    const [root] =
      [...social.tagClassNames].find(([, name]) => name === params['tagClassName']) ?? [];
    const classes = root === undefined ? [] : below(social, root);
    const tags = new Set(classes.flatMap(id => social.tagTypes.in(id).map(({from}) => from)));
    const rows = friendsOf(social, number(params, 'personId')).flatMap(id => {
      const answered = messagesOf(social, id)
        .map(({replyOf}) => (replyOf === undefined ? undefined : message(social, replyOf)))
        .map(m => (m?.isPost === true ? social.tags.out(m.id) : []))
        .map(list => list.map(({to}) => to).filter(tag => tags.has(tag)))
        .filter(list => list.length > 0);
      if (answered.length === 0) return [];
      const names = new Set(answered.flat().map(tag => known(social.tagNames, tag)));
      const tagNames = sorted([...names], name => [name]);
      return [{...named(social, id), tagNames, replyCount: answered.length}];
    });
    return sorted(rows, row => [-row.replyCount, row.personId], 20);
  },

  IC13: (social, params) => {
    const [one, other] = [number(params, 'person1Id'), number(params, 'person2Id')];
    // Not all persons that the values name are in the small data.
    if (!social.persons.has(one) || !social.persons.has(other)) return [];
    const steps = stepsFrom(social, one, social.persons.size);
    return [{length: steps.get(other) ?? -1}];
  },

  IC14: (social, params) => {
    const from = number(params, 'person1Id');
    const steps = stepsFrom(social, from, social.persons.size);
    const waysTo = (id: number): readonly (readonly number[])[] => {
      if (id === from) return [[from]];
      const distance = steps.get(id);
      if (distance === undefined) return [];
      return [...new Set(friendsOf(social, id))]
        .filter(friend => steps.get(friend) === distance - 1)
        .flatMap(friend => waysTo(friend).map(way => [...way, id]));
    };
    const rows = waysTo(number(params, 'person2Id')).map(personIds => ({
      personIds,
      weight: personIds
        .slice(1)
        .reduce((sum, id, at) => sum + weightBetween(social, personIds[at] ?? 0, id), 0),
    }));
    return sorted(rows, row => [-row.weight, ...row.personIds]);
  },
};

function number(params: Params, name: string): number {
  const value = params[name];
  if (typeof value !== 'number') throw new Error(`the parameter ${name} must be a number`);
  return value;
}

function known<T>(map: ReadonlyMap<number, T>, id: number): T {
  const value = map.get(id);
  if (value === undefined) throw new Error(`the tables have no ${id}`);
  return value;
}

function person(social: Social, id: number): Person {
  return known(social.persons, id);
}

function message(social: Social, id: number): Message {
  return known(social.messages, id);
}

function named(social: Social, id: number) {
  const {firstName, lastName} = person(social, id);
  return {personId: id, firstName, lastName};
}

function friendsOf(social: Social, id: number): readonly number[] {
  const {knows} = social;
  return [...knows.out(id).map(({to}) => to), ...knows.in(id).map(({from}) => from)];
}

function messagesOf(social: Social, id: number): readonly Message[] {
  return social.wrote.in(id).map(({from}) => message(social, from));
}

function tagsOf(social: Social, {id}: Message): readonly string[] {
  return social.tags.out(id).map(({to}) => known(social.tagNames, to));
}

/** Everybody one or two steps away. */
function circleOf(social: Social, id: number): readonly number[] {
  return [...stepsFrom(social, id, 2)].filter(([, steps]) => steps > 0).map(([one]) => one);
}

/** Least steps of acquaintance to everybody within `stepsMax`, level by level. */
function stepsFrom(social: Social, id: number, stepsMax: number): Map<number, number> {
  const steps = new Map([[id, 0]]);
  let level: readonly number[] = [id];
  for (let step = 1; step <= stepsMax && level.length > 0; step += 1) {
    const reached = new Set(level.flatMap(one => friendsOf(social, one)));
    level = [...reached].filter(one => !steps.has(one));
    for (const one of level) steps.set(one, step);
  }
  return steps;
}

/** The post that a message answers, over however many comments. */
function threadOf(social: Social, {id}: Message): Message {
  const found = message(social, id);
  return found.replyOf === undefined ? found : threadOf(social, message(social, found.replyOf));
}

function newest(social: Social, authors: readonly number[], counts: (m: Message) => boolean): Rows {
  const found = authors.flatMap(id => messagesOf(social, id)).filter(counts);
  return sorted(found, m => [-m.creationDate, m.id], 20).map(m => ({
    ...named(social, m.author),
    messageId: m.id,
    content: m.content,
    creationDate: m.creationDate,
  }));
}

/** Name, year and place of each organisation. */
function placesOf(
  social: Social,
  pairs: readonly {readonly to: number; readonly when: number}[],
): readonly (readonly [string, number, string])[] {
  const rows = pairs.map(
    ({to, when}) =>
      [
        known(social.organisationNames, to),
        when,
        known(social.placeNames, social.located.to(to)),
      ] as const,
  );
  return sorted(rows, ([name, year]) => [year, name]);
}

/** Whether a day lies from the 21st of the month to the 21st of the next. */
function isBornAbout(birthday: Date, month: number): boolean {
  const [born, day] = [birthday.getUTCMonth() + 1, birthday.getUTCDate()];
  return (born === month && day >= 21) || (born === (month % 12) + 1 && day < 22);
}

/** A class of tags and all below it. */
function below(social: Social, id: number): readonly number[] {
  return [id, ...social.subclasses.in(id).flatMap(({from}) => below(social, from))];
}

/** Answers between two persons: to a post 1, to a comment 0.5. */
function weightBetween(social: Social, one: number, other: number): number {
  const from = (author: number, to: number): number =>
    messagesOf(social, author)
      .map(({replyOf}) => (replyOf === undefined ? undefined : message(social, replyOf)))
      .filter(answered => answered?.author === to)
      .reduce((sum, answered) => sum + (answered?.isPost === true ? 1 : 0.5), 0);
  return from(one, other) + from(other, one);
}

function counted<T>(values: readonly T[]): [T, number][] {
  const counts = new Map<T, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts];
}

/** The first `limit` items, ordered by their parts in turn: numbers by size, texts by code unit. */
function sorted<T>(
  list: readonly T[],
  parts: (one: T) => readonly (string | number)[],
  most = Number.POSITIVE_INFINITY,
): T[] {
  const compare = (one: T, other: T): number => {
    const others = parts(other);
    for (const [at, part] of parts(one).entries()) {
      const against = others[at];
      if (against === undefined || part === against) continue;
      return part < against ? -1 : 1;
    }
    return 0;
  };
  return list.toSorted(compare).slice(0, most);
}
