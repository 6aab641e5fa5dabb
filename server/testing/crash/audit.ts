/**
 * What is stored of the ledger, by scan and by index, held against the books, and the check that
 * the database makes of itself.
 */
import type {Client} from '#server/client/client.ts';
import type {Finding, Ledger} from './ledger.ts';
import {ledgerDatabase as database} from './writer.ts';

/** Makes the database and its types. */
export async function createLedger(client: Client): Promise<void> {
  await client.createDatabase(database);
  const types = ['CREATE DOCUMENT TYPE Keyed', 'CREATE DOCUMENT TYPE Plain'];
  const properties = ['Keyed', 'Plain', 'Loaded'].map(type => `CREATE PROPERTY ${type}.id STRING`);
  for (const statement of [
    ...types,
    'CREATE VERTEX TYPE Loaded',
    ...properties,
    'CREATE INDEX ON Keyed (id) UNIQUE',
  ]) {
    await client.command(database, statement);
  }
}

/** Reads everything by scan, and what the index knows besides, and asks the ledger. */
export async function auditLedger(client: Client, ledger: Ledger): Promise<Finding[]> {
  const stored = new Map<string, number[]>();
  let rows = 0;
  for (const type of ['Keyed', 'Plain', 'Loaded']) {
    const statement = `SELECT id, value FROM ${type}`;
    for await (const row of client.queryStream(database, statement, {limit: -1})) {
      const key = String(row['id']);
      const values = stored.get(key) ?? [];
      values.push(Number(row['value']));
      stored.set(key, values);
      rows += 1;
    }
  }
  const findings = ledger.audit(stored);
  if (findings.length === 0 && rows !== ledger.liveKeys) {
    const says = `${rows} records are stored, ${ledger.liveKeys} are in the books`;
    findings.push({kind: 'lost', key: 'count', says});
  }
  findings.push(...(await auditIndex(client, stored)), ...(await auditIntegrity(client)));
  return findings;
}

/** Looks up some keys by the index: what a scan finds, the index must find, once. */
async function auditIndex(
  client: Client,
  stored: ReadonlyMap<string, number[]>,
): Promise<Finding[]> {
  const findings: Finding[] = [];
  const keyed = [...stored.keys()].filter(key => key.startsWith('k-'));
  const step = Math.max(1, Math.floor(keyed.length / 100));
  for (let at = keyed.length - 1; at >= 0; at -= step) {
    const key = keyed[at] ?? '';
    const statement = 'SELECT id, value FROM Keyed WHERE id = :id';
    const {result} = await client.query(database, statement, {params: {id: key}});
    const values = result.map(row => Number(row['value']));
    if (values.length === 1 && values[0] === stored.get(key)?.[0]) continue;
    const says = `a scan finds ${stored.get(key)?.join()}, the index finds ${values.join()}`;
    findings.push({kind: 'lost', key, says});
  }
  return findings;
}

/** What a crash left behind that does not agree with the rest: CHECK DATABASE looks at all. */
async function auditIntegrity(client: Client): Promise<Finding[]> {
  const {result} = await client.command(database, 'CHECK DATABASE');
  const found = result.flatMap(row => (row['findings'] ?? []) as Record<string, unknown>[]);
  return found.map(({kind, place, says}) => ({
    kind: 'torn',
    key: String(place),
    says: `${String(kind)}: ${String(says)}`,
  }));
}
