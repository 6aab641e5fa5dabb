/** The fourteen complex reads of LDBC SNB Interactive, in Cypher. */
import type {Read} from './read.ts';

/** Friends, and friends of theirs, without the person: each once. */
const circle = `
      MATCH (me:Person {id: $personId})-[:knows*1..2]-(friend:Person)
      WHERE friend <> me
      WITH DISTINCT me, friend`;

export const complexReads: readonly Read[] = [
  {
    name: 'IC1',
    asks: 'Persons of a first name within three steps, where they live, studied and work?',
    params: ['personId', 'firstName'],
    statement: `
      MATCH (me:Person {id: $personId})
      MATCH path = ANY SHORTEST (me)-[:knows]-{1,3}(friend:Person)
      WHERE friend.firstName = $firstName
      WITH friend, length(path) AS distance
      ORDER BY distance, friend.lastName, friend.id LIMIT 20
      MATCH (friend)-[:isLocatedIn]->(city:City)
      RETURN friend.id AS id, friend.lastName AS lastName, distance,
        toString(friend.birthday) AS birthday, friend.creationDate AS creationDate,
        friend.gender AS gender, friend.browserUsed AS browserUsed,
        friend.locationIP AS locationIP, friend.emails AS emails, friend.languages AS languages,
        city.name AS cityName,
        COLLECT {
          MATCH (friend)-[s:studyAt]->(u:University)-[:isLocatedIn]->(c:City)
          RETURN [u.name, s.classYear, c.name] ORDER BY s.classYear, u.name
        } AS universities,
        COLLECT {
          MATCH (friend)-[w:workAt]->(o:Company)-[:isLocatedIn]->(c:Country)
          RETURN [o.name, w.workFrom, c.name] ORDER BY w.workFrom, o.name
        } AS companies
      ORDER BY distance, lastName, id`,
  },
  {
    name: 'IC2',
    asks: 'The newest messages of friends up to a day?',
    params: ['personId', 'maxDate'],
    statement: `
      MATCH (:Person {id: $personId})-[:knows]-(friend:Person)<-[:hasCreator]-(m:Message)
      WHERE m.creationDate <= $maxDate
      RETURN friend.id AS personId, friend.firstName AS firstName, friend.lastName AS lastName,
        m.id AS messageId, coalesce(m.content, m.imageFile) AS content,
        m.creationDate AS creationDate
      ORDER BY creationDate DESC, messageId LIMIT 20`,
  },
  {
    name: 'IC3',
    asks: 'Friends and their friends who wrote from two countries that are not their own?',
    params: ['personId', 'startDate', 'durationDays', 'countryXName', 'countryYName'],
    statement: `${circle}
      MATCH (friend)-[:isLocatedIn]->(:City)-[:isPartOf]->(home:Country)
      WHERE home.name <> $countryXName AND home.name <> $countryYName
      MATCH (friend)<-[:hasCreator]-(m:Message)-[:isLocatedIn]->(country:Country)
      WHERE country.name IN [$countryXName, $countryYName]
        AND m.creationDate >= $startDate
        AND m.creationDate < $startDate + $durationDays * 86400000
      WITH friend, count(CASE WHEN country.name = $countryXName THEN 1 END) AS xCount,
        count(CASE WHEN country.name = $countryYName THEN 1 END) AS yCount
      WHERE xCount > 0 AND yCount > 0
      RETURN friend.id AS personId, friend.firstName AS firstName, friend.lastName AS lastName,
        xCount, yCount, xCount + yCount AS count
      ORDER BY xCount DESC, personId LIMIT 20`,
  },
  {
    name: 'IC4',
    asks: 'Tags that friends put on posts in a time and never before?',
    params: ['personId', 'startDate', 'durationDays'],
    statement: `
      MATCH (:Person {id: $personId})-[:knows]-(:Person)<-[:hasCreator]-(post:Post)
        -[:hasTag]->(tag:Tag)
      WHERE post.creationDate < $startDate + $durationDays * 86400000
      WITH DISTINCT tag, post
      WITH tag, count(CASE WHEN post.creationDate >= $startDate THEN 1 END) AS postCount,
        count(CASE WHEN post.creationDate < $startDate THEN 1 END) AS before
      WHERE before = 0
      RETURN tag.name AS tagName, postCount
      ORDER BY postCount DESC, tagName LIMIT 10`,
  },
  {
    name: 'IC5',
    asks: 'Forums that friends and their friends joined after a day, and their posts there?',
    params: ['personId', 'minDate'],
    statement: `${circle}
      MATCH (friend)<-[membership:hasMember]-(forum:Forum)
      WHERE membership.joinDate > $minDate
      WITH DISTINCT forum, friend
      OPTIONAL MATCH (friend)<-[:hasCreator]-(post:Post)<-[:containerOf]-(forum)
      WITH forum, count(post) AS postCount
      RETURN forum.title AS title, postCount
      ORDER BY postCount DESC, forum.id LIMIT 20`,
  },
  {
    name: 'IC6',
    asks: 'Other tags on the posts of friends and their friends that carry a tag?',
    params: ['personId', 'tagName'],
    statement: `${circle}
      MATCH (friend)<-[:hasCreator]-(post:Post)-[:hasTag]->(:Tag {name: $tagName})
      MATCH (post)-[:hasTag]->(other:Tag)
      WHERE other.name <> $tagName
      RETURN other.name AS tagName, count(DISTINCT post) AS postCount
      ORDER BY postCount DESC, tagName LIMIT 10`,
  },
  {
    name: 'IC7',
    asks: 'Who liked the messages of a person last, how soon, and are they friends?',
    params: ['personId'],
    statement: `
      MATCH (me:Person {id: $personId})<-[:hasCreator]-(m:Message)<-[like:likes]-(liker:Person)
      WITH me, liker, like, m ORDER BY like.creationDate DESC, m.id
      WITH me, liker, head(collect({at: like.creationDate, message: m})) AS last
      WITH me, liker, last.at AS likedAt, last.message AS m
      RETURN liker.id AS personId, liker.firstName AS firstName, liker.lastName AS lastName,
        likedAt, m.id AS messageId, coalesce(m.content, m.imageFile) AS content,
        (likedAt - m.creationDate) / 60000 AS minutesLatency,
        NOT EXISTS { (me)-[:knows]-(liker) } AS isNew
      ORDER BY likedAt DESC, personId LIMIT 20`,
  },
  {
    name: 'IC8',
    asks: 'The newest answers to the messages of a person?',
    params: ['personId'],
    statement: `
      MATCH (:Person {id: $personId})<-[:hasCreator]-(:Message)<-[:replyOf]-(c:Comment)
        -[:hasCreator]->(author:Person)
      RETURN author.id AS personId, author.firstName AS firstName, author.lastName AS lastName,
        c.creationDate AS creationDate, c.id AS commentId, c.content AS content
      ORDER BY creationDate DESC, commentId LIMIT 20`,
  },
  {
    name: 'IC9',
    asks: 'The newest messages of friends and their friends before a day?',
    params: ['personId', 'maxDate'],
    statement: `${circle}
      MATCH (friend)<-[:hasCreator]-(m:Message)
      WHERE m.creationDate < $maxDate
      RETURN friend.id AS personId, friend.firstName AS firstName, friend.lastName AS lastName,
        m.id AS messageId, coalesce(m.content, m.imageFile) AS content,
        m.creationDate AS creationDate
      ORDER BY creationDate DESC, messageId LIMIT 20`,
  },
  {
    name: 'IC10',
    asks: 'Friends of friends born about a month who post about what a person likes?',
    params: ['personId', 'month'],
    statement: `
      MATCH (me:Person {id: $personId})-[:knows*2..2]-(friend:Person)-[:isLocatedIn]->(city:City)
      WHERE friend <> me AND NOT (me)-[:knows]-(friend)
        AND ((friend.birthday.month = $month AND friend.birthday.day >= 21)
          OR (friend.birthday.month = $month % 12 + 1 AND friend.birthday.day < 22))
      WITH DISTINCT me, friend, city
      LET posts = COLLECT { MATCH (friend)<-[:hasCreator]-(post:Post) RETURN post }
      LET common = size([p IN posts WHERE EXISTS { (p)-[:hasTag]->(:Tag)<-[:hasInterest]-(me) }])
      RETURN friend.id AS personId, friend.firstName AS firstName, friend.lastName AS lastName,
        common - (size(posts) - common) AS score, friend.gender AS gender, city.name AS cityName
      ORDER BY score DESC, personId LIMIT 10`,
  },
  {
    name: 'IC11',
    asks: 'Friends and their friends who began to work in a country before a year?',
    params: ['personId', 'countryName', 'workFromYear'],
    statement: `${circle}
      MATCH (friend)-[w:workAt]->(company:Company)-[:isLocatedIn]->(:Country {name: $countryName})
      WHERE w.workFrom < $workFromYear
      RETURN friend.id AS personId, friend.firstName AS firstName, friend.lastName AS lastName,
        company.name AS companyName, w.workFrom AS workFrom
      ORDER BY workFrom, personId, companyName DESC LIMIT 10`,
  },
  {
    name: 'IC12',
    asks: 'Friends who answered posts about a class of tags or one below it?',
    params: ['personId', 'tagClassName'],
    statement: `
      MATCH (:TagClass {name: $tagClassName})<-[:isSubclassOf*0..]-(:TagClass)<-[:hasType]-(tag:Tag)
      WITH collect(DISTINCT tag) AS tags
      MATCH (:Person {id: $personId})-[:knows]-(friend:Person)<-[:hasCreator]-(c:Comment)
        -[:replyOf]->(:Post)-[:hasTag]->(tag:Tag)
      WHERE tag IN tags
      WITH friend, tag, c ORDER BY tag.name
      RETURN friend.id AS personId, friend.firstName AS firstName, friend.lastName AS lastName,
        collect(DISTINCT tag.name) AS tagNames, count(DISTINCT c) AS replyCount
      ORDER BY replyCount DESC, personId LIMIT 20`,
  },
  {
    name: 'IC13',
    asks: 'How many steps of acquaintance lie between two persons? -1 for none.',
    params: ['person1Id', 'person2Id'],
    statement: `
      MATCH (a:Person {id: $person1Id}), (b:Person {id: $person2Id})
      OPTIONAL MATCH path = shortestPath((a)-[:knows*]-(b))
      RETURN coalesce(length(path), -1) AS length`,
  },
  {
    name: 'IC14',
    asks: 'All shortest ways between two persons, by how much those on them answered one another?',
    params: ['person1Id', 'person2Id'],
    statement: `
      MATCH (a:Person {id: $person1Id}), (b:Person {id: $person2Id})
      MATCH path = allShortestPaths((a)-[:knows*]-(b))
      WITH nodes(path) AS persons
      LET weight = reduce(sum = 0.0, at IN range(0, size(persons) - 2) | sum
        + COUNT {
            WITH persons[at] AS one, persons[at + 1] AS other
            MATCH (one)<-[:hasCreator]-(:Comment)-[:replyOf]->(:Post)-[:hasCreator]->(other)
          }
        + COUNT {
            WITH persons[at] AS one, persons[at + 1] AS other
            MATCH (other)<-[:hasCreator]-(:Comment)-[:replyOf]->(:Post)-[:hasCreator]->(one)
          }
        + 0.5 * COUNT {
            WITH persons[at] AS one, persons[at + 1] AS other
            MATCH (one)<-[:hasCreator]-(:Comment)-[:replyOf]->(:Comment)-[:hasCreator]->(other)
          }
        + 0.5 * COUNT {
            WITH persons[at] AS one, persons[at + 1] AS other
            MATCH (other)<-[:hasCreator]-(:Comment)-[:replyOf]->(:Comment)-[:hasCreator]->(one)
          })
      RETURN [p IN persons | p.id] AS personIds, weight
      ORDER BY weight DESC, personIds`,
  },
];
