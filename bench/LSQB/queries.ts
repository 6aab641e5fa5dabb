/**
 * The nine patterns of the Labelled Subgraph Query Benchmark (LSQB) on the social network of LDBC,
 * in Cypher: all of them only count, so what is measured is how a pattern is matched.
 */

export interface LsqbQuery {
  readonly name: string;
  readonly text: string;
}

export const lsqbQueries: readonly LsqbQuery[] = [
  {
    name: 'q1 chain of nine',
    text: `MATCH (:Country)<-[:isPartOf]-(:City)<-[:isLocatedIn]-(:Person)<-[:hasMember]-(:Forum)
      -[:containerOf]->(:Post)<-[:replyOf]-(:Comment)-[:hasTag]->(:Tag)-[:hasType]->(:TagClass)
      RETURN count(*) AS n`,
  },
  {
    name: 'q2 friends in conversation',
    text: `MATCH (p1:Person)-[:knows]-(p2:Person),
      (p1)<-[:hasCreator]-(:Comment)-[:replyOf]->(:Post)-[:hasCreator]->(p2)
      RETURN count(*) AS n`,
  },
  {
    name: 'q3 triangles in a country',
    // Three ways to the country that may share an edge: each is a MATCH of its own.
    text: `MATCH (c:Country)
      MATCH (c)<-[:isPartOf]-(:City)<-[:isLocatedIn]-(p1:Person)
      MATCH (c)<-[:isPartOf]-(:City)<-[:isLocatedIn]-(p2:Person)
      MATCH (c)<-[:isPartOf]-(:City)<-[:isLocatedIn]-(p3:Person)
      MATCH (p1)-[:knows]-(p2)-[:knows]-(p3)-[:knows]-(p1)
      RETURN count(*) AS n`,
  },
  {
    name: 'q4 star around a message',
    text: `MATCH (:Tag)<-[:hasTag]-(m:Message)-[:hasCreator]->(:Person),
      (m)<-[:likes]-(:Person), (m)<-[:replyOf]-(:Comment)
      RETURN count(*) AS n`,
  },
  {
    name: 'q5 tags of a reply',
    text: `MATCH (t1:Tag)<-[:hasTag]-(:Message)<-[:replyOf]-(:Comment)-[:hasTag]->(t2:Tag)
      WHERE t1 <> t2 RETURN count(*) AS n`,
  },
  {
    name: 'q6 interests of friends of friends',
    text: `MATCH (p1:Person)-[:knows]-(:Person)-[:knows]-(p3:Person)-[:hasInterest]->(:Tag)
      WHERE p1 <> p3 RETURN count(*) AS n`,
  },
  {
    name: 'q7 star with optional rays',
    text: `MATCH (:Tag)<-[:hasTag]-(m:Message)-[:hasCreator]->(:Person)
      OPTIONAL MATCH (m)<-[:likes]-(l:Person)
      OPTIONAL MATCH (m)<-[:replyOf]-(r:Comment)
      RETURN count(*) AS n`,
  },
  {
    name: 'q8 new tags of a reply',
    text: `MATCH (t1:Tag)<-[:hasTag]-(:Message)<-[:replyOf]-(r:Comment)-[:hasTag]->(t2:Tag)
      WHERE NOT (r)-[:hasTag]->(t1) AND t1 <> t2 RETURN count(*) AS n`,
  },
  {
    name: 'q9 interests of those not yet friends',
    text: `MATCH (p1:Person)-[:knows]-(:Person)-[:knows]-(p3:Person)-[:hasInterest]->(:Tag)
      WHERE NOT (p1)-[:knows]-(p3) AND p1 <> p3 RETURN count(*) AS n`,
  },
];
