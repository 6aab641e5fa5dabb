/**
 * Signatures of the functions that walk the graph, and of those about nodes, relationships and
 * paths that SQL shares with other languages.
 *
 * The hops (`out`, `inE`, ...) are methods: called as functions they are asked of the current
 * record. A hop takes a record, an id, or a list of them, and names of edge types; a name that no
 * type has finds nothing.
 */
import type {FunctionSignature} from '../functions.ts';
import {handled, methodRow, scalarRow} from '../signature.ts';

const hop = {needs: 'graph', cost: 20_000} as const;
const search = {needs: 'graph', cost: 1_000_000, nulls: 'handled'} as const;
const view = {needs: 'graph', cost: 2_000} as const;

export const graphFunctions: readonly FunctionSignature[] = [
  methodRow(
    'out(edgeTypes...)',
    'The vertices that outgoing edges lead to.',
    ["out('Knows').name", '["Bob"]'],
    hop,
  ),
  methodRow(
    'in(edgeTypes...)',
    'The vertices that incoming edges come from.',
    ["in('Knows').name", '[]'],
    hop,
  ),
  methodRow(
    'both(edgeTypes...)',
    'The vertices at the other ends of all edges.',
    ['both().name', '["Bob"]'],
    hop,
  ),
  methodRow('outE(edgeTypes...)', 'The outgoing edges.', ["outE('Knows').since", '[2001]'], hop),
  methodRow('inE(edgeTypes...)', 'The incoming edges.', ["inE('Knows').since", '[]'], hop),
  methodRow(
    'bothE(edgeTypes...)',
    'The edges of both directions.',
    ["bothE('Knows').since", '[2001]'],
    hop,
  ),
  methodRow('outV()', 'The vertex where an edge starts.', ['outE()[0].outV().name', '"Ada"'], hop),
  methodRow('inV()', 'The vertex where an edge ends.', ['outE()[0].inV().name', '"Bob"'], hop),
  methodRow('bothV()', 'Both ends of an edge.', ['outE()[0].bothV().name', '["Ada","Bob"]'], hop),
  scalarRow(
    'shortestPath(source, target, direction?, edgeTypes?, options?)',
    'Vertices of a shortest path: source, target, direction, edge types, {maxDepth, edge}.',
    ["shortestPath(@rid, (SELECT FROM Person WHERE name = 'Cy')).name", '["Ada","Bob","Cy"]'],
    search,
  ),
  scalarRow(
    'dijkstra(source, target, weight, options?)',
    'Vertices of the path with the least sum of a property of its edges, none negative.',
    ["dijkstra(@rid, (SELECT FROM Person WHERE name = 'Cy'), 'w').name", '["Ada","Bob","Cy"]'],
    search,
  ),
  scalarRow(
    'duanSSSP(source, target, weight?, direction?)',
    'As dijkstra, by the property weight unless another is named.',
    ["duanSSSP(@rid, (SELECT FROM Person WHERE name = 'Cy'), 'w').name", '["Ada","Bob","Cy"]'],
    search,
  ),
  scalarRow(
    'astar(source, target, weight, options?)',
    'As dijkstra, guided by coordinates of the vertices: source, target, weight, options.',
    ["astar(@rid, (SELECT FROM Person WHERE name = 'Cy'), 'w').name", '["Ada","Bob","Cy"]'],
    search,
  ),
  scalarRow(
    'bellmanFord(source, target, weight, options?)',
    'Vertices of the path with the least sum of weights, which may be negative.',
    ["bellmanFord(@rid, (SELECT FROM Person WHERE name = 'Cy'), 'w').name", '["Ada","Bob","Cy"]'],
    search,
  ),
  scalarRow(
    'node.degree(vertex, edgeTypes?)',
    'How many edges a vertex has, of all or the named types.',
    ['node.degree(@this)', '1'],
    view,
  ),
  scalarRow(
    'node.degree.in(vertex, edgeTypes?)',
    'How many incoming edges a vertex has.',
    ["node.degree.in(@this, 'Knows')", '0'],
    view,
  ),
  scalarRow(
    'node.degree.out(vertex, edgeTypes?)',
    'How many outgoing edges a vertex has.',
    ["node.degree.out(@this, 'Knows')", '1'],
    view,
  ),
  scalarRow('node.id(vertex)', 'The id of a vertex.', ['node.id(@this) = @rid', 'true']),
  scalarRow(
    'node.labels(vertex)',
    'The name of the type of a vertex and those above it.',
    ['node.labels(@this)', '["Person"]'],
    view,
  ),
  scalarRow(
    'node.relationship.exists(vertex, edgeTypes?)',
    'Whether a vertex has such an edge.',
    ["node.relationship.exists(@this, 'Knows')", 'true'],
    view,
  ),
  scalarRow(
    'node.relationship.types(vertex, edgeTypes?)',
    'The types of the edges of a vertex.',
    ['node.relationship.types(@this)', '["Knows"]'],
    view,
  ),
  scalarRow('rel.id(edge)', 'The id of an edge.', ['rel.id(outE()[0]) = outE()[0].@rid', 'true']),
  scalarRow(
    'rel.type(edge)',
    'The name of the type of an edge.',
    ['rel.type(outE()[0])', '"Knows"'],
    view,
  ),
  scalarRow(
    'rel.startNode(edge)',
    'The vertex where an edge starts.',
    ['rel.startNode(outE()[0]).name', '"Ada"'],
    view,
  ),
  scalarRow(
    'rel.endNode(edge)',
    'The vertex where an edge ends.',
    ['rel.endNode(outE()[0]).name', '"Bob"'],
    view,
  ),
  scalarRow(
    'path.create(start, edges?)',
    'A path from a vertex along a list of edges.',
    ['path.elements(path.create(@this, outE())).size()', '3'],
    view,
  ),
  scalarRow(
    'path.combine(first, second)',
    'One path of two, the second beginning where the first ends.',
    [
      'std.length(path.combine(path.create(@this, outE()), path.create(out()[0], out().outE())))',
      '2',
    ],
  ),
  scalarRow('path.elements(path)', 'The vertices and edges of a path in turn.', [
    'path.elements(path.create(@this, outE()))[0].name',
    '"Ada"',
  ]),
  scalarRow(
    'path.slice(path, from, count?)',
    'A part of a path: first vertex by position, number of edges.',
    ['path.elements(path.slice(path.create(@this, outE()), 1))[0].name', '"Bob"'],
  ),
  scalarRow('create.uuid()', 'A random UUID.', ['create.uuid().length()', '36'], {
    needs: 'random',
    deterministic: false,
  }),
  scalarRow(
    'create.uuidBase64()',
    'A random UUID of 22 characters of base64.',
    ['create.uuidBase64().length()', '22'],
    {
      needs: 'random',
      deterministic: false,
    },
  ),
  scalarRow(
    'create.vNode(labels, properties?)',
    'A vertex that is stored nowhere: label, properties.',
    ["create.vNode('Ghost', {'a': 1}).a", '1'],
    handled,
  ),
  scalarRow(
    'create.vRelationship(start, type, properties?, end?)',
    'An edge that is stored nowhere: start, type, properties, end.',
    ["create.vRelationship(@this, 'Sees', {'a': 1}, @this).a", '1'],
    handled,
  ),
];
