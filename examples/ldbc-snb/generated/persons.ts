/**
 * The people of the generated network: where they live, study and work, what they like, and whom
 * they know.
 *
 * Acquaintance follows LDBC's generator in kind: how many somebody wants to know has a power law,
 * and partners come from three neighbourhoods, people of the same country, people with a common
 * interest, and anybody. The rows have the columns of LDBC's files in `dynamic/`.
 */
import type {Chance} from './chance.ts';
import type {Tables} from './tables.ts';
import {browsers, mailHosts} from './words.ts';
import type {City, World} from './world.ts';

/** The network begins and ends at these points in time, in milliseconds since 1970. */
export const beginning = Date.UTC(2010, 0, 1);
export const ending = Date.UTC(2011, 0, 1);

const dayMs = 86_400_000;

export interface Person {
  readonly id: number;
  readonly name: string;
  readonly home: City;
  readonly address: string;
  readonly browser: string;
  readonly language: string;
  readonly creationDate: number;
  /** Ids of tags, the dearest first. */
  readonly interests: readonly number[];
  readonly friends: {readonly person: Person; readonly since: number}[];
}

export function makePersons(
  tables: Tables,
  {world, chance, count}: {world: World; chance: Chance; count: number},
): readonly Person[] {
  const persons: Person[] = [];
  for (let at = 0; at < count; at += 1) persons.push(makePerson(tables, world, chance));
  makeFriends(tables, persons, chance);
  return persons;
}

function makePerson(tables: Tables, world: World, chance: Chance): Person {
  const table = 'dynamic/person';
  const home = chance.pickEarly(world.cities);
  const {country} = home;
  const creationDate = chance.soonAfter(beginning, ending - 60 * dayMs);
  // Sparse as LDBC's: the month of entry in the high bits.
  const month = Math.floor((creationDate - beginning) / (30 * dayMs));
  const id = month * 2 ** 40 + tables.count(table);
  const firstName = chance.pickEarly(country.firstNames);
  const lastName = chance.pick(country.lastNames);
  const address = [country.network, home.id, chance.below(256), chance.below(256)].join('.');
  const browser = chance.pickEarly(browsers);
  const language = chance.pick(country.languages);
  const languages = [...country.languages, ...(country.languages.includes('en') ? [] : ['en'])];
  const mails = chance.some(mailHosts, 1 + chance.below(mailHosts.length));
  const birthday = Date.UTC(1975, 0, 1) + chance.below(18 * 365) * dayMs;
  tables.add(
    table,
    id,
    firstName,
    lastName,
    chance.in100(50) ? 'female' : 'male',
    birthday,
    creationDate,
    address,
    browser,
    languages.join(';'),
    mails.map(host => `${firstName}${id}@${host}`).join(';'),
  );
  tables.add('dynamic/person_isLocatedIn_place', id, home.id);
  const interests = new Set<number>();
  for (let left = chance.powerLaw(4, 40); left > 0; left -= 1) {
    interests.add(chance.pickEarly(world.tags).id);
  }
  for (const tag of interests) tables.add('dynamic/person_hasInterest_tag', id, tag);
  const adult = new Date(birthday).getUTCFullYear() + 18;
  if (chance.in100(75)) {
    const near = world.cities.filter(city => city.countryId === home.countryId);
    const university = chance.pick(chance.pick(near).universities);
    const year = adult + 3 + chance.below(4);
    tables.add('dynamic/person_studyAt_organisation', id, university, year);
  }
  const isAway = chance.in100(15);
  const employers = world.companies.get(
    isAway ? chance.pick(world.cities).countryId : home.countryId,
  );
  for (const company of chance.some(employers ?? [], chance.below(4))) {
    const since = Math.min(2010, adult + chance.below(12));
    tables.add('dynamic/person_workAt_organisation', id, company, since);
  }
  const name = `${firstName} ${lastName}`;
  return {
    id,
    name,
    home,
    address,
    browser,
    language,
    creationDate,
    interests: [...interests],
    friends: [],
  };
}

function makeFriends(tables: Tables, persons: readonly Person[], chance: Chance): void {
  const byCountry = grouped(persons, ({home}) => [home.countryId]);
  const byInterest = grouped(persons, ({interests}) => interests);
  const wanted = new Map(persons.map(({id}) => [id, chance.powerLaw(3, persons.length / 4)]));
  const mostTries = 8;
  for (const person of persons) {
    const wants = wanted.get(person.id) ?? 0;
    for (let tries = wants * mostTries; tries > 0 && person.friends.length < wants; tries -= 1) {
      const kind = chance.below(100);
      const circle =
        kind < 45
          ? byCountry.get(person.home.countryId)
          : kind < 90 && person.interests.length > 0
            ? byInterest.get(chance.pick(person.interests))
            : persons;
      const other = chance.pick(circle ?? persons);
      // Whoever knows enough people is seldom known by one more.
      const isFull = other.friends.length >= (wanted.get(other.id) ?? 0) && !chance.in100(10);
      if (other === person || isFull || knows(person, other)) continue;
      const met = Math.max(person.creationDate, other.creationDate);
      const since = chance.soonAfter(met, ending);
      person.friends.push({person: other, since});
      other.friends.push({person, since});
      const [first, second] = person.id < other.id ? [person, other] : [other, person];
      tables.add('dynamic/person_knows_person', first.id, second.id, since);
    }
  }
}

function knows(one: Person, other: Person): boolean {
  return one.friends.some(({person}) => person === other);
}

function grouped(
  persons: readonly Person[],
  keysOf: (person: Person) => readonly number[],
): ReadonlyMap<number, readonly Person[]> {
  const groups = new Map<number, Person[]>();
  for (const person of persons) {
    for (const key of keysOf(person)) groups.set(key, [...(groups.get(key) ?? []), person]);
  }
  return groups;
}
