/**
 * Twelve queries of the kind of the LDBC interactive workload, in SQL, with their parameters.
 *
 * Each orders its rows completely, so its answer is one list and can be compared with the
 * independent computation of the same name in `answers.ts`. Together they use chains of
 * `out`/`in`/`both`, MATCH of several steps with `while` and conditions on edges, TRAVERSE,
 * `shortestPath`, LET, subqueries, UNWIND and grouping.
 */

import type {Params} from './data-set.ts';
import type {Values} from './values.ts';

/** A statement with the parameters it is asked with. */
export interface Query {
  readonly name: string;
  /** What it answers, in a sentence. */
  readonly asks: string;
  readonly statement: string;
  /** The values of its parameters, chosen from the network. */
  readonly params: (values: Values) => Params;
}

export const queries: readonly Query[] = [
  {
    name: 'friends-by-first-name',
    asks: 'Who within three steps has this first name, and how many steps away?',
    statement: `
      SELECT id, lastName, min(distance) AS distance FROM (
        MATCH {type: Person, where: (id = :person)}
          .both('knows'){as: friend, while: ($depth < 3), depthAlias: distance,
                         where: (firstName = :firstName AND id <> :person)}
        RETURN friend.id AS id, friend.lastName AS lastName, distance
      )
      GROUP BY id, lastName ORDER BY distance, lastName, id`,
    params: ({person, firstName}) => ({person, firstName}),
  },
  {
    name: 'recent-messages-of-friends',
    asks: 'The twenty newest messages that friends wrote before a day?',
    statement: `
      SELECT id, creationDate, ifnull(content, imageFile) AS text,
             out('hasCreator')[0].firstName AS author
      FROM (SELECT expand(both('knows').in('hasCreator')) FROM Person WHERE id = :person)
      WHERE creationDate < :maxDate
      ORDER BY creationDate DESC, id LIMIT 20`,
    params: ({person, middleDate}) => ({person, maxDate: middleDate}),
  },
  {
    name: 'where-friends-studied',
    asks: 'Where did the friends of friends study, since when, and how many of them?',
    statement: `
      SELECT university, country, count(*) AS students, min(year) AS firstYear FROM (
        SELECT DISTINCT student, school, university, country, year FROM (
          MATCH {type: Person, as: me, where: (id = :person)}
            .both('knows').both('knows'){as: friend, where: (id <> :person)}
            .outE('studyAt'){as: studies}.inV(){as: place}
            .out('isLocatedIn').out('isPartOf'){type: Country, as: home}
          RETURN friend.id AS student, place.id AS school, place.name AS university,
                 home.name AS country, studies.classYear AS year
        )
      )
      GROUP BY school, university, country ORDER BY students DESC, university LIMIT 15`,
    params: ({person}) => ({person}),
  },
  {
    name: 'new-topics',
    asks: 'Which tags did friends put on posts in a month that they had never used before?',
    statement: `
      SELECT name, count(*) AS posts FROM (
        SELECT expand(out('hasTag')) FROM (
          SELECT expand(both('knows').in('hasCreator')) FROM Person WHERE id = :person
        )
        WHERE @type = 'Post' AND creationDate >= :startDate AND creationDate < :endDate
      )
      LET $old = (
        SELECT out('hasTag').name AS name FROM (
          SELECT expand(both('knows').in('hasCreator')) FROM Person WHERE id = :person
        )
        WHERE @type = 'Post' AND creationDate < :startDate UNWIND name
      )
      WHERE NOT ($old.name CONTAINS name)
      GROUP BY name ORDER BY posts DESC, name LIMIT 10`,
    params: ({person, topicsFrom, topicsDays}) => ({
      person,
      startDate: topicsFrom,
      endDate: topicsFrom + topicsDays * 86_400_000,
    }),
  },
  {
    name: 'new-forums',
    asks: 'Which forums did friends join after a day, and how many of them, how big is it?',
    statement: `
      SELECT title, joined, members, posts FROM (
        SELECT forum.title AS title, forum.id AS id, count(*) AS joined,
               first(forum.out('hasMember').size()) AS members,
               first(forum.out('containerOf').size()) AS posts
        FROM (
          MATCH {type: Person, where: (id = :person)}
            .both('knows'){as: friend}
            .inE('hasMember'){where: (joinDate > :minDate)}.outV(){as: forum}
          RETURN forum, friend
        )
        GROUP BY forum
      )
      ORDER BY joined DESC, posts DESC, id LIMIT 20`,
    params: ({person, joinDate}) => ({person, minDate: joinDate}),
  },
  {
    name: 'tag-co-occurrence',
    asks: 'Which other tags appear on messages that carry a given tag?',
    statement: `
      MATCH {type: Tag, where: (name = :tag)}
        .in('hasTag'){type: Message, as: message}
        .out('hasTag'){as: other, where: (name <> :tag)}
      RETURN other.name AS name, count(*) AS messages
      GROUP BY other.name ORDER BY messages DESC, name LIMIT 10`,
    params: ({tag}) => ({tag}),
  },
  {
    name: 'recent-likers',
    asks: 'Who liked the messages of a person most recently, and is that one a friend?',
    statement: `
      SELECT person, max(likedAt) AS likedAt, count(*) AS likes, first(friend) AS friend FROM (
        SELECT @out.id AS person, creationDate AS likedAt,
               (@out.both('knows').id CONTAINS :person) AS friend
        FROM (SELECT expand(in('hasCreator').inE('likes')) FROM Person WHERE id = :person)
      )
      GROUP BY person ORDER BY likedAt DESC, person LIMIT 20`,
    params: ({likedPerson}) => ({person: likedPerson}),
  },
  {
    name: 'conversation',
    asks: 'The whole conversation under a post, by depth?',
    statement: `
      SELECT id, $depth AS depth, out('hasCreator')[0].lastName AS author, length
      FROM (TRAVERSE in('replyOf') FROM (SELECT FROM Post WHERE id = :post) MAXDEPTH 6)
      ORDER BY depth, id`,
    params: ({post}) => ({post}),
  },
  {
    name: 'job-referral',
    asks: 'Which friends have worked in a country since before a year, and where?',
    statement: `
      MATCH {type: Person, as: me, where: (id = :person)}
        .both('knows'){as: friend}
        .outE('workAt'){as: job, where: (workFrom < :year)}
        .inV(){as: company}
        .out('isLocatedIn'){where: (name = :country)}
      RETURN friend.firstName AS firstName, friend.id AS id, company.name AS company,
             job.workFrom AS since
      ORDER BY since, id, company LIMIT 10`,
    params: ({person, jobCountry, jobYear}) => ({person, country: jobCountry, year: jobYear}),
  },
  {
    name: 'experts',
    asks: 'Which friends answered posts about a class of tags or any class below it?',
    statement: `
      SELECT expert, count(*) AS replies FROM (
        SELECT DISTINCT expert, reply FROM (
          MATCH {type: TagClass, where: (name = :tagClass)}
              .in('isSubclassOf'){as: class, while: ($depth < 10)}
              .in('hasType').in('hasTag'){type: Post, as: post}
              .in('replyOf'){type: Comment, as: comment}
              .out('hasCreator'){as: friend}
              .both('knows'){where: (id = :person)}
          RETURN friend.id AS expert, comment.id AS reply
        )
      )
      GROUP BY expert ORDER BY replies DESC, expert LIMIT 20`,
    params: ({person, tagClass}) => ({person, tagClass}),
  },
  {
    name: 'shortest-path',
    asks: 'How many persons stand on a shortest chain of acquaintance between two persons?',
    statement: `
      SELECT shortestPath($from, $to, 'BOTH', 'knows').size() AS persons
      LET $from = (SELECT FROM Person WHERE id = :from),
          $to = (SELECT FROM Person WHERE id = :to)`,
    params: ({person, farPerson}) => ({from: person, to: farPerson}),
  },
  {
    name: 'languages-of-friends',
    asks: 'Which languages do the younger friends of friends speak, and how many of them each?',
    statement: `
      SELECT language, count(*) AS speakers FROM (
        SELECT languages AS language FROM (
          SELECT DISTINCT id, languages FROM (
            SELECT expand(both('knows').both('knows')) FROM Person WHERE id = :person
          )
          WHERE id <> :person AND birthday >= '1980-01-01'
        )
        UNWIND language
      )
      GROUP BY language ORDER BY speakers DESC, language`,
    params: ({person}) => ({person}),
  },
];
