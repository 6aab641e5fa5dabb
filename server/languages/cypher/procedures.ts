/**
 * The procedures that CALL knows: table functions, with the types of what goes in and the names of
 * what comes out.
 *
 * A server has the ones below; whoever makes a session service may bring more.
 */
import type {Kind} from './bind-context.ts';

export interface ProcedureInput {
  readonly name: string;
  /** Kinds that an argument may have; `any` takes everything. */
  readonly kinds: readonly Kind[];
}

export interface Procedure {
  /** Of the table function. */
  readonly name: string;
  readonly inputs: readonly ProcedureInput[];
  readonly outputs: readonly string[];
}

/** By name, ignoring case. */
export type Procedures = ReadonlyMap<string, Procedure>;

const own: readonly Procedure[] = [
  {name: 'db.labels', inputs: [], outputs: ['label']},
  {name: 'db.relationshipTypes', inputs: [], outputs: ['relationshipType']},
  {name: 'db.propertyKeys', inputs: [], outputs: ['propertyKey']},
  ...shows(),
];

/** What SHOW stands for, as procedures of execution/functions/show-tables.ts. */
function shows(): readonly Procedure[] {
  const of = (name: string, outputs: string): Procedure => ({
    name: `show.${name}`,
    inputs: [],
    outputs: outputs.split(' '),
  });
  return [
    of(
      'indexes',
      'id name state populationPercent type entityType labelsOrTypes properties indexProvider ' +
        'owningConstraint lastRead readCount',
    ),
    of('constraints', 'id name type entityType labelsOrTypes properties ownedIndex propertyType'),
    of('users', 'user databases'),
    of('currentUser', 'user databases'),
    of(
      'transactions',
      'database transactionId currentQueryId username currentQuery startTime status elapsedTime',
    ),
  ];
}

/** The server's own procedures and `more`. */
export function proceduresWith(more: readonly Procedure[]): Procedures {
  return new Map([...own, ...more].map(procedure => [procedure.name.toLowerCase(), procedure]));
}
