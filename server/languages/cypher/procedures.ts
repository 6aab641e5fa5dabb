/**
 * The procedures that CALL knows: table functions, with the types of what goes in and the names of
 * what comes out.
 *
 * A server has the ones below; whoever makes a session service may bring more.
 */
import type {Kind} from './value-kind.ts';

export interface ProcedureInput {
  readonly name: string;
  /** Kinds that an argument may have; `any` takes everything. */
  readonly kinds: readonly Kind[];
  /** May be left out, with those behind it. */
  readonly optional?: true;
}

export interface Procedure {
  /** The name of the table function. */
  readonly name: string;
  readonly inputs: readonly ProcedureInput[];
  readonly outputs: readonly string[];
}

/** The procedures keyed by their name, ignoring case. */
export type Procedures = ReadonlyMap<string, Procedure>;

/** Inputs as `name:kind`, with a question mark where they may be left out; outputs as names. */
function procedure(name: string, inputs: string, outputs: string): Procedure {
  const words = (text: string): readonly string[] => text.split(' ').filter(word => word !== '');
  return {
    name,
    inputs: words(inputs).map(input => {
      const [label = '', kind = 'any'] = input.replace('?', '').split(':');
      const wanted = {name: label, kinds: [kind as Kind]};
      return input.endsWith('?') ? {...wanted, optional: true} : wanted;
    }),
    outputs: words(outputs),
  };
}

const walked = 'start:node config:map';

const own: readonly Procedure[] = [
  procedure('db.labels', '', 'label'),
  procedure('db.relationshipTypes', '', 'relationshipType'),
  procedure('db.propertyKeys', '', 'propertyKey'),
  procedure(
    'db.index.vector.queryNodes',
    'indexName:string numberOfNearestNeighbours:integer query:any',
    'node score',
  ),
  procedure(
    'db.index.fulltext.queryNodes',
    'indexName:string queryString:string options:map?',
    'node score',
  ),
  procedure(
    'db.index.fulltext.queryRelationships',
    'indexName:string queryString:string options:map?',
    'relationship score',
  ),
  procedure('db.schema', '', 'name type properties'),
  procedure('db.schema.visualization', '', 'name type properties'),
  procedure('meta.graph', '', 'nodes relationships'),
  procedure('meta.schema', '', 'value'),
  procedure('meta.stats', '', 'value'),
  procedure('meta.nodeTypeProperties', '', 'nodeType propertyName propertyTypes mandatory'),
  procedure('meta.relTypeProperties', '', 'relType propertyName propertyTypes mandatory'),
  procedure(
    'path.expand',
    'start:node relationshipFilter:string labelFilter:string minLevel:integer maxLevel:integer',
    'path',
  ),
  procedure('path.expandConfig', walked, 'path'),
  procedure('path.spanningTree', walked, 'path'),
  procedure('path.subgraphNodes', walked, 'node'),
  procedure('path.subgraphAll', walked, 'nodes relationships'),
  procedure('merge.node', 'labels:any identProps:map onCreateProps:map? onMatchProps:map?', 'node'),
  procedure(
    'merge.relationship',
    'start:node type:string identProps:map onCreateProps:map end:node onMatchProps:map?',
    'rel',
  ),
  procedure('refactor.mergeNodes', 'nodes:list config:map?', 'node'),
  procedure('refactor.cloneNodesWithRelationships', 'nodes:list config:map?', 'input output error'),
  procedure('do.when', 'condition:boolean ifQuery:string elseQuery:string params:map?', 'value'),
  // What SHOW stands for.
  procedure(
    'show.indexes',
    '',
    'id name state populationPercent type entityType labelsOrTypes properties indexProvider ' +
      'owningConstraint lastRead readCount',
  ),
  procedure(
    'show.constraints',
    '',
    'id name type entityType labelsOrTypes properties ownedIndex propertyType',
  ),
  procedure('show.users', '', 'user databases'),
  procedure('show.currentUser', '', 'user databases'),
  procedure(
    'show.transactions',
    '',
    'database transactionId currentQueryId username currentQuery startTime status elapsedTime',
  ),
];

/** Called as the function of that name, which answers one list instead. */
const neighborNodes = procedure(
  'vector.neighborNodes',
  'indexName:string vectorOrKey:any numberOfNeighbours:integer options:any?',
  'node distance',
);

/** The server's own procedures and `more`. */
export function proceduresWith(more: readonly Procedure[]): Procedures {
  const named = [...own, neighborNodes, ...more].map(one => [one.name.toLowerCase(), one] as const);
  return new Map([...named, ['vector.neighbors', neighborNodes]]);
}
