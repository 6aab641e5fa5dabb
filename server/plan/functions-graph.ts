/**
 * Signatures of the functions that walk the graph, and of those about nodes, relationships and
 * paths that SQL shares with other languages.
 *
 * The hops (`out`, `inE`, ...) are methods: called as functions they are asked of the current
 * record. A hop takes a record, an id, or a list of them, and names of edge types; a name that no
 * type has finds nothing.
 */
import type {FunctionSignature} from './functions.ts';
import {handled, methodRow, scalarRow, unlimited} from './signature.ts';

const hop = {needs: 'graph', cost: 20_000} as const;
const search = {needs: 'graph', cost: 1_000_000, nulls: 'handled'} as const;
const view = {needs: 'graph', cost: 2_000} as const;

export const graphFunctions: readonly FunctionSignature[] = [
  methodRow('out', [0, unlimited], 'The vertices that outgoing edges lead to.', hop),
  methodRow('in', [0, unlimited], 'The vertices that incoming edges come from.', hop),
  methodRow('both', [0, unlimited], 'The vertices at the other ends of all edges.', hop),
  methodRow('outE', [0, unlimited], 'The outgoing edges.', hop),
  methodRow('inE', [0, unlimited], 'The incoming edges.', hop),
  methodRow('bothE', [0, unlimited], 'The edges of both directions.', hop),
  methodRow('outV', [0, 0], 'The vertex where an edge starts.', hop),
  methodRow('inV', [0, 0], 'The vertex where an edge ends.', hop),
  methodRow('bothV', [0, 0], 'Both ends of an edge.', hop),
  scalarRow(
    'shortestPath',
    [2, 5],
    'Vertices of a shortest path: source, target, direction, edge types, {maxDepth, edge}.',
    search,
  ),
  scalarRow(
    'dijkstra',
    [3, 4],
    'Vertices of the path with the least sum of a property of its edges, none negative.',
    search,
  ),
  scalarRow(
    'astar',
    [3, 4],
    'As dijkstra, guided by coordinates of the vertices: source, target, weight, options.',
    search,
  ),
  scalarRow(
    'bellmanFord',
    [3, 4],
    'Vertices of the path with the least sum of weights, which may be negative.',
    search,
  ),
  scalarRow('node.degree', [1, 2], 'How many edges a vertex has, of all or the named types.', view),
  scalarRow('node.degree.in', [1, 2], 'How many incoming edges a vertex has.', view),
  scalarRow('node.degree.out', [1, 2], 'How many outgoing edges a vertex has.', view),
  scalarRow('node.id', [1, 1], 'The id of a vertex.'),
  scalarRow('node.labels', [1, 1], 'The name of the type of a vertex and those above it.', view),
  scalarRow('node.relationship.exists', [1, 2], 'Whether a vertex has such an edge.', view),
  scalarRow('node.relationship.types', [1, 2], 'The types of the edges of a vertex.', view),
  scalarRow('rel.id', [1, 1], 'The id of an edge.'),
  scalarRow('rel.type', [1, 1], 'The name of the type of an edge.', view),
  scalarRow('rel.startNode', [1, 1], 'The vertex where an edge starts.', view),
  scalarRow('rel.endNode', [1, 1], 'The vertex where an edge ends.', view),
  scalarRow('path.create', [1, 2], 'A path from a vertex along a list of edges.', view),
  scalarRow('path.combine', [2, 2], 'One path of two, the second beginning where the first ends.'),
  scalarRow('path.elements', [1, 1], 'The vertices and edges of a path in turn.'),
  scalarRow('path.slice', [2, 3], 'A part of a path: first vertex by position, number of edges.'),
  scalarRow('create.uuid', [0, 0], 'A random UUID.', {needs: 'random', deterministic: false}),
  scalarRow('create.uuidBase64', [0, 0], 'A random UUID of 22 characters of base64.', {
    needs: 'random',
    deterministic: false,
  }),
  scalarRow('create.vNode', [1, 2], 'A vertex that is stored nowhere: label, properties.', handled),
  scalarRow(
    'create.vRelationship',
    [2, 4],
    'An edge that is stored nowhere: start, type, properties, end.',
    handled,
  ),
];
