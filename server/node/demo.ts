/**
 * The `demo` database of the first start: an invented music scene, as the statements that make it.
 *
 * Thirty vertices (cities, genres, artists, albums), 56 edges between them, and reviews as
 * documents with embedded values. Pure data: whoever starts the server runs the statements in
 * order, once, in a database that is empty.
 */

/** A query to show, and the question it answers. Safe inside double quotes in `sh`. */
export interface DemoQuery {
  readonly asks: string;
  readonly statement: string;
}

/** The name of the database. */
export const demoDatabase = 'demo';

const schema = [
  'CREATE VERTEX TYPE City',
  'CREATE PROPERTY City.name STRING (mandatory true)',
  'CREATE PROPERTY City.population INTEGER',
  'CREATE VERTEX TYPE Genre',
  'CREATE PROPERTY Genre.name STRING (mandatory true)',
  'CREATE VERTEX TYPE Artist',
  'CREATE PROPERTY Artist.name STRING (mandatory true)',
  'CREATE PROPERTY Artist.founded INTEGER',
  'CREATE PROPERTY Artist.members LIST OF STRING',
  'CREATE VERTEX TYPE Album',
  'CREATE PROPERTY Album.title STRING (mandatory true)',
  'CREATE PROPERTY Album.released DATE',
  'CREATE PROPERTY Album.minutes INTEGER',
  'CREATE DOCUMENT TYPE Review',
  'CREATE PROPERTY Review.album STRING (mandatory true)',
  'CREATE PROPERTY Review.stars INTEGER (min 1, max 5)',
  'CREATE PROPERTY Review.written DATE',
  'CREATE EDGE TYPE BasedIn',
  'CREATE EDGE TYPE Plays',
  'CREATE EDGE TYPE Released',
  'CREATE EDGE TYPE InspiredBy',
  'CREATE PROPERTY InspiredBy.since INTEGER',
  'CREATE INDEX ON City (name) UNIQUE',
  'CREATE INDEX ON Genre (name) UNIQUE',
  'CREATE INDEX ON Artist (name) UNIQUE',
  'CREATE INDEX ON Album (title) UNIQUE',
  'CREATE INDEX ON Review (album) NOTUNIQUE',
];

// name, population
const cities = [
  ['Port Veliora', 412000],
  ['Grauwald', 88000],
  ['Santa Olmeda', 1250000],
  ['Kesterhaven', 236000],
] as const;

const genres = ['jazz', 'folk', 'electronic', 'rock', 'chamber'] as const;

// name, founded, city, members, genres
const artists = [
  ['The Lantern Keepers', 1998, 'Port Veliora', ['Ida Moran', 'Joss Pell'], ['folk', 'rock']],
  ['Mirelle Quade', 2006, 'Santa Olmeda', ['Mirelle Quade'], ['jazz']],
  ['Tidal Arithmetic', 2011, 'Kesterhaven', ['Bo Lind', 'Ana Ruiz', 'Sef Okoro'], ['electronic']],
  ['Grauwald Quartet', 1987, 'Grauwald', ['Ute', 'Karl', 'Milo', 'Hanne'], ['chamber']],
  ['Paper Meridian', 2015, 'Port Veliora', ['Nadia Frost', 'Leo Brandt'], ['rock', 'electronic']],
  ['Osvaldo Reyes Trio', 1994, 'Santa Olmeda', ['Osvaldo Reyes', 'Pia', 'Dan'], ['jazz']],
  ['Salt and Cedar', 2009, 'Kesterhaven', ['Runa Holm', 'Eskil Holm'], ['folk', 'chamber']],
  ['Night Ferry', 2018, 'Port Veliora', ['Tam Ikeda'], ['electronic', 'jazz']],
  ['The Quiet Engines', 2002, 'Grauwald', ['Max', 'Lotte', 'Finn'], ['rock']],
  ['Clara Venn', 2020, 'Kesterhaven', ['Clara Venn'], ['folk', 'jazz', 'chamber']],
] as const;

// title, released, minutes, artists
const albums = [
  ['Harbour Lights', '2001-05-14', 47, ['The Lantern Keepers']],
  ['A Room in Olmeda', '2008-09-01', 52, ['Mirelle Quade']],
  ['Prime Tides', '2013-03-22', 61, ['Tidal Arithmetic']],
  ['Winter Pieces', '1992-11-30', 73, ['Grauwald Quartet']],
  ['Compressed Maps', '2017-06-09', 39, ['Paper Meridian']],
  ['Three at Midnight', '1999-02-19', 58, ['Osvaldo Reyes Trio']],
  ['Resin', '2012-10-05', 44, ['Salt and Cedar']],
  ['Last Boat Home', '2021-01-15', 50, ['Night Ferry']],
  ['Idle Speed', '2005-08-12', 41, ['The Quiet Engines']],
  ['Small Hours, Long Roads', '2022-04-29', 36, ['Clara Venn', 'Salt and Cedar']],
  ['Crossings', '2023-09-08', 66, ['Night Ferry', 'Mirelle Quade', 'Osvaldo Reyes Trio']],
] as const;

// artist, artists they were inspired by, since
const inspirations = [
  ['Mirelle Quade', ['Osvaldo Reyes Trio'], 2006],
  ['Paper Meridian', ['The Lantern Keepers', 'Tidal Arithmetic'], 2015],
  ['Salt and Cedar', ['The Lantern Keepers', 'Grauwald Quartet'], 2009],
  ['Night Ferry', ['Tidal Arithmetic', 'Mirelle Quade', 'Paper Meridian'], 2018],
  ['Tidal Arithmetic', ['The Quiet Engines', 'Grauwald Quartet'], 2011],
  ['Clara Venn', ['Salt and Cedar', 'Mirelle Quade', 'The Lantern Keepers', 'Night Ferry'], 2020],
  ['The Quiet Engines', ['The Lantern Keepers', 'Osvaldo Reyes Trio'], 2002],
] as const;

// album, stars, written, reviewer, tags
const reviews = [
  ['Harbour Lights', 5, '2001-06-02', {name: 'O. Brandvold', paper: 'The Mole'}, ['debut', 'sea']],
  ['Prime Tides', 4, '2013-04-01', {name: 'S. Achterberg', paper: 'Signal'}, ['long', 'dance']],
  ['Compressed Maps', 3, '2017-07-11', {name: 'O. Brandvold', paper: 'The Mole'}, ['uneven']],
  [
    'Last Boat Home',
    5,
    '2021-02-03',
    {name: 'I. Castellane', paper: 'Olmeda Hoy'},
    ['night', 'sea'],
  ],
  ['Crossings', 5, '2023-10-01', {name: 'S. Achterberg', paper: 'Signal'}, ['live', 'night']],
  ['Crossings', 4, '2023-11-20', {name: 'O. Brandvold', paper: 'The Mole'}, ['live']],
] as const;

/** The statements, in the order they must run. */
export const demoStatements: readonly string[] = [
  ...schema,
  ...cities.map(
    ([name, population]) => `CREATE VERTEX City SET name = '${name}', population = ${population}`,
  ),
  ...genres.map(name => `CREATE VERTEX Genre SET name = '${name}'`),
  ...artists.map(
    ([name, founded, , members]) =>
      `CREATE VERTEX Artist SET name = '${name}', founded = ${founded}, members = ${list(members)}`,
  ),
  ...albums.map(
    ([title, released, minutes]) =>
      `CREATE VERTEX Album SET title = '${title}', released = '${released}', minutes = ${minutes}`,
  ),
  ...artists.map(
    ([name, , city]) => `CREATE EDGE BasedIn FROM ${artist(name)} TO ${named('City', [city])}`,
  ),
  ...artists.map(
    ([name, , , , played]) => `CREATE EDGE Plays FROM ${artist(name)} TO ${named('Genre', played)}`,
  ),
  ...albums.map(
    ([title, , , by]) =>
      `CREATE EDGE Released FROM ${named('Artist', by)} TO ` +
      `(SELECT FROM Album WHERE title = '${title}')`,
  ),
  ...inspirations.map(
    ([name, by, since]) =>
      `CREATE EDGE InspiredBy FROM ${artist(name)} TO ${named('Artist', by)} SET since = ${since}`,
  ),
  ...reviews.map(
    ([album, stars, written, reviewer, tags]) =>
      `INSERT INTO Review SET album = '${album}', stars = ${stars}, written = '${written}', ` +
      `reviewer = {"name": "${reviewer.name}", "paper": "${reviewer.paper}"}, tags = ${list(tags)}`,
  ),
];

/** Three questions for the first minute. */
export const demoQueries: readonly DemoQuery[] = [
  {
    asks: 'which artists come from Port Veliora?',
    statement:
      "SELECT name, founded FROM Artist WHERE out('BasedIn').name CONTAINS 'Port Veliora' " +
      'ORDER BY founded',
  },
  {
    asks: 'who inspired those who inspired Clara Venn?',
    statement:
      "MATCH {type: Artist, where: (name = 'Clara Venn')}.out('InspiredBy'){as: one}" +
      ".out('InspiredBy'){as: two} RETURN one.name AS inspiration, two.name AS earlier " +
      'ORDER BY inspiration, earlier',
  },
  {
    asks: 'how were the albums received?',
    statement:
      'SELECT album, avg(stars) AS stars, count(*) AS reviews FROM Review ' +
      'GROUP BY album ORDER BY stars DESC, album',
  },
];

function list(words: readonly string[]): string {
  return `[${words.map(word => `'${word}'`).join(', ')}]`;
}

function artist(name: string): string {
  return named('Artist', [name]);
}

function named(type: string, names: readonly string[]): string {
  return `(SELECT FROM ${type} WHERE name IN ${list(names)})`;
}
