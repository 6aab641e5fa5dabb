/** Signatures of the procedures that CALL knows, beside the tables of the schema. */
import type {FunctionSignature} from './functions.ts';
import {tableRow} from './signature.ts';

const none = [0, 0] as const;
const view = {needs: 'database', cost: 10_000} as const;
const graph = {needs: 'graph', deterministic: false} as const;
const writing = {...graph, writes: true} as const;

export const procedureFunctions: readonly FunctionSignature[] = [
  tableRow('db.labels', none, 'The labels: types of vertices, each by itself.', view),
  tableRow('db.relationshipTypes', none, 'The types of edges.', view),
  tableRow('db.propertyKeys', none, 'The names of the declared properties.', view),
  tableRow('show.indexes', none, 'The indexes.', view),
  tableRow('show.constraints', none, 'The constraints that have names.', view),
  tableRow('show.users', none, 'The users, as far as whoever asks may see them.', view),
  tableRow('show.currentUser', none, 'Whoever asks.', view),
  tableRow('show.transactions', none, 'Statements that run and transactions that are open.', view),
  tableRow(
    'load.csv',
    [3, 3],
    'The rows of a CSV: its source, whether it has a header, separator.',
    {
      needs: 'database',
      deterministic: false,
    },
  ),
  tableRow('db.schema', none, 'Labels and types of relationships with their properties.', view),
  tableRow('db.schema.visualization', none, 'As db.schema.', view),
  tableRow('meta.graph', none, 'The schema as nodes and relationships, with counts.', view),
  tableRow('meta.schema', none, 'Labels and types with their declared properties.', view),
  tableRow('meta.stats', none, 'How many labels, types, nodes and relationships there are.', view),
  tableRow('meta.nodeTypeProperties', none, 'The declared properties of labels.', view),
  tableRow('meta.relTypeProperties', none, 'The declared properties of relationships.', view),
  tableRow(
    'path.expand',
    [5, 5],
    'Paths from a node: filters of relationships and labels, least and greatest level.',
    graph,
  ),
  tableRow('path.expandConfig', [2, 2], 'As path.expand, by a map of options.', graph),
  tableRow('path.spanningTree', [2, 2], 'One shortest path to each node within reach.', graph),
  tableRow('path.subgraphNodes', [2, 2], 'The nodes within reach.', graph),
  tableRow('path.subgraphAll', [2, 2], 'The nodes within reach and what joins them.', graph),
  tableRow('merge.node', [2, 4], 'A node by labels and properties, found or else made.', writing),
  tableRow(
    'merge.relationship',
    [5, 6],
    'A relationship between two nodes by type and properties, found or else made.',
    writing,
  ),
  tableRow('refactor.mergeNodes', [1, 2], 'Several nodes made into the first of them.', writing),
  tableRow(
    'refactor.cloneNodesWithRelationships',
    [1, 2],
    'Copies of nodes, with copies of their relationships.',
    writing,
  ),
  tableRow('do.when', [3, 4], 'One of two queries, by a condition.', writing),
];
