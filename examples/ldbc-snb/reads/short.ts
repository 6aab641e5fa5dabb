/** The seven short reads of LDBC SNB Interactive, in Cypher. */
import type {Read} from './read.ts';

export const shortReads: readonly Read[] = [
  {
    name: 'IS1',
    asks: 'Who is this person, and in which city?',
    params: ['personId'],
    statement: `
      MATCH (p:Person {id: $personId})-[:isLocatedIn]->(city:City)
      RETURN p.firstName AS firstName, p.lastName AS lastName, toString(p.birthday) AS birthday,
        p.locationIP AS locationIP, p.browserUsed AS browserUsed, city.id AS cityId,
        p.gender AS gender, p.creationDate AS creationDate`,
  },
  {
    name: 'IS2',
    asks: 'The ten newest messages of a person, and the posts that their threads began with?',
    params: ['personId'],
    statement: `
      MATCH (:Person {id: $personId})<-[:hasCreator]-(message:Message)
      WITH message ORDER BY message.creationDate DESC, message.id DESC LIMIT 10
      MATCH (message)-[:replyOf*0..]->(post:Post)-[:hasCreator]->(author:Person)
      RETURN message.id AS messageId, coalesce(message.content, message.imageFile) AS content,
        message.creationDate AS creationDate, post.id AS postId, author.id AS authorId,
        author.firstName AS firstName, author.lastName AS lastName
      ORDER BY creationDate DESC, messageId DESC`,
  },
  {
    name: 'IS3',
    asks: 'The friends of a person, and since when?',
    params: ['personId'],
    statement: `
      MATCH (:Person {id: $personId})-[k:knows]-(friend:Person)
      RETURN friend.id AS personId, friend.firstName AS firstName, friend.lastName AS lastName,
        k.creationDate AS since
      ORDER BY since DESC, personId`,
  },
  {
    name: 'IS4',
    asks: 'What does a message say, and when was it written?',
    params: ['messageId'],
    statement: `
      MATCH (m:Message {id: $messageId})
      RETURN m.creationDate AS creationDate, coalesce(m.content, m.imageFile) AS content`,
  },
  {
    name: 'IS5',
    asks: 'Who wrote a message?',
    params: ['messageId'],
    statement: `
      MATCH (:Message {id: $messageId})-[:hasCreator]->(p:Person)
      RETURN p.id AS personId, p.firstName AS firstName, p.lastName AS lastName`,
  },
  {
    name: 'IS6',
    asks: 'In which forum does the thread of a message stand, and who moderates it?',
    params: ['messageId'],
    statement: `
      MATCH (:Message {id: $messageId})-[:replyOf*0..]->(:Post)<-[:containerOf]-(forum:Forum)
        -[:hasModerator]->(moderator:Person)
      RETURN forum.id AS forumId, forum.title AS title, moderator.id AS moderatorId,
        moderator.firstName AS firstName, moderator.lastName AS lastName`,
  },
  {
    name: 'IS7',
    asks: 'Who answered a message, and does its author know them?',
    params: ['messageId'],
    statement: `
      MATCH (m:Message {id: $messageId})<-[:replyOf]-(c:Comment)-[:hasCreator]->(replier:Person)
      MATCH (m)-[:hasCreator]->(author:Person)
      RETURN c.id AS commentId, c.content AS content, c.creationDate AS creationDate,
        replier.id AS personId, replier.firstName AS firstName, replier.lastName AS lastName,
        EXISTS { (author)-[:knows]-(replier) } AS knows
      ORDER BY creationDate DESC, personId, commentId`,
  },
];
