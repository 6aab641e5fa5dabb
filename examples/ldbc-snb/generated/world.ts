/**
 * The part of the generated network that is there before its people: places, organisations, and
 * tags in their classes. The rows have the columns of LDBC's files in `static/`.
 */
import type {Chance} from './chance.ts';
import type {Tables} from './tables.ts';
import {type Country, countries, qualities, tagClasses, things} from './words.ts';

export interface City {
  readonly id: number;
  readonly name: string;
  readonly country: Country;
  readonly countryId: number;
  readonly universities: readonly number[];
}

export interface World {
  /** The most populous countries' first. */
  readonly cities: readonly City[];
  /** The companies of each country, keyed by the country's id. */
  readonly companies: ReadonlyMap<number, readonly number[]>;
  /** The most popular first. */
  readonly tags: readonly {readonly id: number; readonly name: string}[];
}

const tagsOfClass = 14;
const companiesOfCountry = 8;

export function makeWorld(tables: Tables, chance: Chance): World {
  return {...makePlaces(tables), tags: makeTags(tables, chance)};
}

function makePlaces(tables: Tables): Pick<World, 'cities' | 'companies'> {
  const place = (name: string, kind: string): number => {
    const id = tables.count('static/place');
    tables.add('static/place', id, name, `http://example.org/place/${name}`, kind);
    return id;
  };
  const organisation = (name: string, kind: string, where: number): number => {
    const id = tables.count('static/organisation');
    tables.add('static/organisation', id, kind, name, `http://example.org/organisation/${name}`);
    tables.add('static/organisation_isLocatedIn_place', id, where);
    return id;
  };
  const continents = new Map<string, number>();
  const cities: City[] = [];
  const companies = new Map<number, number[]>();
  for (const country of countries) {
    const continent = continents.get(country.continent) ?? place(country.continent, 'continent');
    continents.set(country.continent, continent);
    const countryId = place(country.name, 'country');
    tables.add('static/place_isPartOf_place', countryId, continent);
    const kinds = ['Air', 'Airlines', 'Express', 'Cargo', 'Works', 'Bank', 'Steel', 'Press'];
    companies.set(
      countryId,
      kinds.slice(0, companiesOfCountry).map(kind => {
        return organisation(`${country.name}_${kind}`, 'company', countryId);
      }),
    );
    for (const name of country.cities) {
      const id = place(name, 'city');
      tables.add('static/place_isPartOf_place', id, countryId);
      const universities = [`University_of_${name}`, `${name}_Institute_of_Technology`].map(
        university => organisation(university, 'university', id),
      );
      cities.push({id, name, country, countryId, universities});
    }
  }
  return {cities, companies};
}

function makeTags(tables: Tables, chance: Chance): World['tags'] {
  const classes = new Map<string, number>();
  const above = new Set(tagClasses.map(([, over]) => over));
  const taken = new Set<string>();
  const tags: {id: number; name: string}[] = [];
  for (const [className, over] of tagClasses) {
    const classId = classes.size;
    classes.set(className, classId);
    tables.add('static/tagclass', classId, className, `http://example.org/class/${className}`);
    const overId = over === undefined ? undefined : classes.get(over);
    if (overId !== undefined) tables.add('static/tagclass_isSubclassOf_tagclass', classId, overId);
    // Tags stand in classes of every depth, most of them in those with none below.
    const count = above.has(className) ? Math.floor(tagsOfClass / 4) : tagsOfClass;
    for (let made = 0; made < count; ) {
      const name = tagName(className, chance);
      if (taken.has(name)) continue;
      taken.add(name);
      const id = tags.length;
      tables.add('static/tag', id, name, `http://example.org/tag/${name}`);
      tables.add('static/tag_hasType_tagclass', id, classId);
      tags.push({id, name});
      made += 1;
    }
  }
  return chance.some(tags, tags.length);
}

function tagName(className: string, chance: Chance): string {
  const isPerson = /ist$|er$|ete$|ian$|ent$|^Person$/.test(className);
  if (!isPerson) return `${chance.pick(qualities)}_${chance.pick(things)}_(${className})`;
  const {firstNames, lastNames} = chance.pick(countries);
  return `${chance.pick(firstNames)}_${chance.pick(lastNames)}`;
}
