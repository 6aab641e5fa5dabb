/** Signatures of the procedures that CALL knows, beside the tables of the schema. */
import type {FunctionSignature} from '../functions.ts';
import {tableRow} from '../signature.ts';

const view = {needs: 'database', cost: 10_000} as const;
const graph = {needs: 'graph', deterministic: false} as const;
const writing = {...graph, writes: true} as const;

export const procedureFunctions: readonly FunctionSignature[] = [
  tableRow('db.labels()', 'The labels: types of vertices, each by itself.', view),
  tableRow('db.relationshipTypes()', 'The types of edges.', view),
  tableRow('db.propertyKeys()', 'The names of the declared properties.', view),
  tableRow('show.indexes()', 'The indexes.', view),
  tableRow('show.constraints()', 'The constraints that have names.', view),
  tableRow('show.users()', 'The users, as far as whoever asks may see them.', view),
  tableRow('show.currentUser()', 'Whoever asks.', view),
  tableRow('show.transactions()', 'Statements that run and transactions that are open.', view),
  tableRow(
    'load.csv(source, hasHeader, separator)',
    'The rows of a CSV: its source, whether it has a header, separator.',
    {
      needs: 'database',
      deterministic: false,
    },
  ),
  tableRow(
    'db.index.vector.queryNodes(index, count, vector)',
    'The nearest nodes of a dense vector index, with scores of 0 to 1.',
    graph,
  ),
  tableRow(
    'db.index.fulltext.queryNodes(index, query, options?)',
    'The nodes that a full-text index finds, with their scores: {limit, skip}.',
    graph,
  ),
  tableRow(
    'db.index.fulltext.queryRelationships(index, query, options?)',
    'The relationships that a full-text index finds, with their scores: {limit, skip}.',
    graph,
  ),
  tableRow(
    'vector.neighborNodes(index, vectorOrKey, count, options?)',
    'As the function vector.neighbors, a node and its distance in each row.',
    graph,
  ),
  tableRow('db.schema()', 'Labels and types of relationships with their properties.', view),
  tableRow('db.schema.visualization()', 'As db.schema.', view),
  tableRow('meta.graph()', 'The schema as nodes and relationships, with counts.', view),
  tableRow('meta.schema()', 'Labels and types with their declared properties.', view),
  tableRow('meta.stats()', 'How many labels, types, nodes and relationships there are.', view),
  tableRow('meta.nodeTypeProperties()', 'The declared properties of labels.', view),
  tableRow('meta.relTypeProperties()', 'The declared properties of relationships.', view),
  tableRow(
    'path.expand(node, relationships, labels, least, most)',
    'Paths from a node: filters of relationships and labels, least and greatest level.',
    graph,
  ),
  tableRow('path.expandConfig(node, options)', 'As path.expand, by a map of options.', graph),
  tableRow(
    'path.spanningTree(node, options)',
    'One shortest path to each node within reach.',
    graph,
  ),
  tableRow('path.subgraphNodes(node, options)', 'The nodes within reach.', graph),
  tableRow('path.subgraphAll(node, options)', 'The nodes within reach and what joins them.', graph),
  tableRow(
    'merge.node(labels, identity, onCreate?, onMatch?)',
    'A node by labels and properties, found or else made.',
    writing,
  ),
  tableRow(
    'merge.relationship(start, type, identity, onCreate, end, onMatch?)',
    'A relationship between two nodes by type and properties, found or else made.',
    writing,
  ),
  tableRow(
    'refactor.mergeNodes(nodes, options?)',
    'Several nodes made into the first of them.',
    writing,
  ),
  tableRow(
    'refactor.cloneNodesWithRelationships(nodes, options?)',
    'Copies of nodes, with copies of their relationships.',
    writing,
  ),
  tableRow(
    'do.when(condition, then, otherwise, parameters?)',
    'One of two queries, by a condition.',
    writing,
  ),
];
