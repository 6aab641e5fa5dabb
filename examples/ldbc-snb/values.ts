/**
 * The values that the queries are asked with, read off the network so that each query has an
 * answer: whoever knows the most people, the day in the middle, the tag in the best company.
 *
 * Ties go to the lesser id or name, so that one network gives one set of values.
 */
import type {Message, Social} from './social.ts';

export interface Values {
  /** Knows the most people. */
  readonly person: number;
  /** Is as far from `person` as anybody who can be reached. */
  readonly farPerson: number;
  /** The messages of this one are liked the most. */
  readonly likedPerson: number;
  /** The most frequent first name within three steps of `person`. */
  readonly firstName: string;
  /** The middle of what the friends of `person` wrote. */
  readonly middleDate: number;
  /** A month that begins in the middle of the friends' posts with tags. */
  readonly topicsFrom: number;
  readonly topicsDays: number;
  /** The middle of the dates at which friends joined forums. */
  readonly joinDate: number;
  /** Stands beside another tag on the most messages. */
  readonly tag: string;
  /** The post with the longest conversation. */
  readonly post: number;
  /** Where the most jobs of friends are, and the year after the middle one of them. */
  readonly jobCountry: string;
  readonly jobYear: number;
  /** A class with one level of classes below it: the one on the most posts that were answered. */
  readonly tagClass: string;
  /** Two countries from which somebody near `person` wrote, at home in neither. */
  readonly countryX: string;
  readonly countryY: string;
  readonly firstDate: number;
  readonly allDays: number;
  /** The most friends of friends were born from its 21st on. */
  readonly month: number;
}

const dayMs = 86_400_000;

export function valuesOf(social: Social): Values {
  const ids = [...social.persons.keys()];
  const messages = [...social.messages.values()];
  const person = mostOf(ids, id => friendsOf(social, id).length);
  const steps = stepsFrom(social, person);
  const friends = friendsOf(social, person);
  const near = ids.filter(id => id !== person && (steps.get(id) ?? Number.POSITIVE_INFINITY) <= 3);
  const byFriends = friends.flatMap(id => messagesOf(social, id));
  const dates = messages.map(({creationDate}) => creationDate).sort((one, two) => one - two);
  const [firstDate = 0, lastDate = 0] = [dates[0], dates.at(-1)];
  return {
    person,
    farPerson: mostOf([...steps.keys()], id => steps.get(id) ?? 0),
    likedPerson: mostOf(ids, id =>
      sum(messagesOf(social, id), message => social.likes.in(message.id).length),
    ),
    firstName: mostFrequent(near.map(id => social.persons.get(id)?.firstName ?? '')),
    middleDate: middle(byFriends.map(({creationDate}) => creationDate)),
    ...topicsOf(social, byFriends),
    joinDate: middle(friends.flatMap(id => social.members.in(id).map(({when}) => when))),
    tag: tagInCompany(social, messages),
    post: mostOf(
      messages.filter(({isPost}) => isPost).map(({id}) => id),
      id => answersBelow(social, id),
    ),
    ...jobsOf(social, friends),
    tagClass: tagClassOf(social, messages),
    ...countriesOf(social, steps),
    firstDate,
    allDays: Math.ceil((lastDate - firstDate) / dayMs) + 1,
    month: mostFrequent(
      ids
        .filter(id => steps.get(id) === 2)
        .flatMap(id => social.persons.get(id)?.birthday ?? [])
        .filter(birthday => birthday.getUTCDate() >= 21)
        .map(birthday => birthday.getUTCMonth() + 1),
    ),
  };
}

function topicsOf(
  social: Social,
  messages: readonly Message[],
): Pick<Values, 'topicsFrom' | 'topicsDays'> {
  const tagged = messages.filter(({id, isPost}) => isPost && social.tags.out(id).length > 0);
  const date = middle(tagged.map(({creationDate}) => creationDate));
  return {topicsFrom: Math.floor(date / dayMs) * dayMs, topicsDays: 30};
}

function tagInCompany(social: Social, messages: readonly Message[]): string {
  const tags = messages.map(({id}) => social.tags.out(id)).filter(list => list.length > 1);
  return mostFrequent(tags.flat().map(({to}) => social.tagNames.get(to) ?? ''));
}

function jobsOf(
  social: Social,
  friends: readonly number[],
): Pick<Values, 'jobCountry' | 'jobYear'> {
  const jobs = friends.flatMap(id => social.jobs.out(id));
  const nameOf = (company: number): string =>
    social.placeNames.get(social.located.to(company)) ?? '';
  const jobCountry = mostFrequent(jobs.map(({to}) => nameOf(to)));
  const years = jobs.filter(({to}) => nameOf(to) === jobCountry).map(({when}) => when);
  return {jobCountry, jobYear: middle(years) + 1};
}

function tagClassOf(social: Social, messages: readonly Message[]): string {
  const answered = messages.filter(({id, isPost}) => isPost && social.replies.in(id).length > 0);
  const uses = new Map<number, number>();
  for (const {id} of answered) {
    for (const {to: tag} of social.tags.out(id)) {
      for (const over of classesOf(social, social.tagTypes.to(tag))) {
        uses.set(over, (uses.get(over) ?? 0) + 1);
      }
    }
  }
  const below = (id: number): readonly number[] => social.subclasses.in(id).map(({from}) => from);
  const inner = [...social.tagClassNames.keys()].filter(
    id => below(id).length > 0 && below(id).every(child => below(child).length === 0),
  );
  return social.tagClassNames.get(mostOf(inner, id => uses.get(id) ?? 0)) ?? '';
}

/** A class and those above it. */
function classesOf(social: Social, id: number): readonly number[] {
  return [id, ...social.subclasses.out(id).flatMap(({to}) => classesOf(social, to))];
}

function countriesOf(
  social: Social,
  steps: ReadonlyMap<number, number>,
): Pick<Values, 'countryX' | 'countryY'> {
  const abroad = [...steps]
    .filter(([, step]) => step === 1 || step === 2)
    .map(([id]) => {
      const home = social.partOf.to(social.persons.get(id)?.city ?? 0);
      return messagesOf(social, id).filter(({country}) => country !== home);
    })
    .map(messages => [...new Set(messages.map(({country}) => country))])
    .sort((one, two) => two.length - one.length);
  const [[x = 0, y = 0] = []] = abroad;
  const nameOf = (place: number): string => social.placeNames.get(place) ?? '';
  return {countryX: nameOf(x), countryY: nameOf(y)};
}

function friendsOf(social: Social, id: number): readonly number[] {
  const {knows} = social;
  return [...knows.out(id).map(({to}) => to), ...knows.in(id).map(({from}) => from)];
}

function messagesOf(social: Social, id: number): readonly Message[] {
  return social.wrote.in(id).flatMap(({from}) => social.messages.get(from) ?? []);
}

function answersBelow(social: Social, id: number): number {
  return sum(social.replies.in(id), ({from}) => 1 + answersBelow(social, from));
}

function stepsFrom(social: Social, id: number): ReadonlyMap<number, number> {
  const steps = new Map([[id, 0]]);
  // Visited while it grows: every id comes after all that are nearer.
  for (const [one, step] of steps) {
    for (const friend of friendsOf(social, one)) {
      if (!steps.has(friend)) steps.set(friend, step + 1);
    }
  }
  return steps;
}

function sum<T>(items: readonly T[], of: (item: T) => number): number {
  return items.reduce((total, item) => total + of(item), 0);
}

/** The id with the most of something. */
function mostOf(ids: readonly number[], of: (id: number) => number): number {
  const [found] = ids.toSorted((one, two) => of(two) - of(one) || one - two);
  if (found === undefined) throw new Error('the network has nobody to ask about');
  return found;
}

function mostFrequent<T extends string | number>(values: readonly T[]): T {
  const counts = new Map<T, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  const [found] = [...counts].sort(
    ([one, times], [two, others]) => others - times || (one < two ? -1 : 1),
  );
  if (found === undefined) throw new Error('the network has nothing to ask about');
  return found[0];
}

function middle(values: readonly number[]): number {
  const sorted = values.toSorted((one, two) => one - two);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}
