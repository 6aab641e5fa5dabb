/**
 * A bank workload: transfer clients move money between accounts at any member, and look at all
 * accounts at once, in every mode of reading. However many of them are cut off in the middle of
 * whatever, no member may ever show another sum than that of the beginning: a transfer is seen
 * wholly or not at all.
 *
 * What became of a transfer does not matter to the sum, so nothing is booked but what was seen.
 */
import type {Client} from '#server/client/client.ts';
import {NotConnected, ServerError, UnknownOutcome} from '#server/client/server-error.ts';
import type {Finding} from '../crash/ledger.ts';
import {ledgerDatabase as database} from '../crash/writer.ts';
import {readModes} from './history.ts';

const accounts = 24;
const balance = 1_000;
const amountMax = 50;
const script =
  'BEGIN; UPDATE Account SET balance = balance - :amount WHERE id = :from; ' +
  'UPDATE Account SET balance = balance + :amount WHERE id = :to; COMMIT;';
const look = 'SELECT count(*) AS accounts, sum(balance) AS total FROM Account';

/**
 * Opens the accounts in the database of the ledger, which exists; a bookmark behind that, for
 * `X-Svc-Read-After`.
 */
export async function openAccounts(client: Client): Promise<number> {
  for (const statement of [
    'CREATE DOCUMENT TYPE Account',
    'CREATE PROPERTY Account.id LONG',
    'CREATE INDEX ON Account (id) UNIQUE',
    `INSERT INTO Account (id, balance) VALUES ${Array.from(
      {length: accounts},
      (_, id) => `(${id}, ${balance})`,
    ).join()}`,
  ]) {
    await client.command(database, statement);
  }
  return (await lookAt(client, {'X-Svc-Read-Consistency': 'linearizable'})).readableIndex;
}

/** What a member shows, and how far it was when it answered. */
async function lookAt(
  client: Client,
  headers: Readonly<Record<string, string>>,
): Promise<{readonly row: Record<string, number> | undefined; readonly readableIndex: number}> {
  const {
    status,
    text,
    headers: told,
  } = await client.send({
    method: 'POST',
    path: `/api/v1/query/${database}`,
    headers: {'Content-Type': 'application/json', ...headers},
    body: JSON.stringify({language: 'sql', command: look}),
    again: true,
  });
  const readableIndex = Number(told['x-svc-commit-index']);
  // A linearizable read without a majority, or a member that does not know the accounts yet.
  if (status !== 200) return {row: undefined, readableIndex};
  const {result} = JSON.parse(text) as {result: Record<string, number>[]};
  return {row: result[0] ?? {}, readableIndex};
}

/** One client of the bank workload. */
export class TransferClient {
  /** Done, as far as this one was told. */
  transfers = 0;
  looks = 0;
  readonly findings: Finding[] = [];
  readonly surprises: string[] = [];
  readonly #random: (below: number) => number;
  readonly #openedAt: number;

  /** The accounts were opened before the bookmark `openedAt`. */
  constructor(random: (below: number) => number, openedAt: number) {
    this.#random = random;
    this.#openedAt = openedAt;
  }

  /** Works until its connection is cut, or until it has been told that it is over. */
  async work(client: Client, isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      try {
        if (this.#random(3) > 0) await this.#look(client);
        else await this.#transfer(client);
      } catch (error) {
        if (error instanceof NotConnected || error instanceof UnknownOutcome) return;
        if (!(error instanceof ServerError)) throw error;
        if (error.status === 500) this.surprises.push(error.message);
      }
    }
  }

  /** All accounts, as this member shows them in one of the modes. */
  async #look(client: Client): Promise<void> {
    const mode = readModes[this.#random(readModes.length)] ?? 'eventual';
    const {row, readableIndex} = await lookAt(client, {
      'X-Svc-Read-Consistency': mode,
      'X-Svc-Read-After': String(this.#openedAt),
    });
    if (row === undefined) return;
    // One that did not come so far in time answers from what it has, and says so.
    const isLate = mode === 'read_your_writes' && readableIndex < this.#openedAt;
    this.#saw(row, mode, mode === 'eventual' || isLate);
  }

  /** `mayBeEmpty`: from before the accounts were opened, all in one commit. */
  #saw({accounts: seen, total}: Record<string, number>, mode: string, mayBeEmpty: boolean): void {
    this.looks += 1;
    if (mayBeEmpty && seen === 0) return;
    if (seen === accounts && total === accounts * balance) return;
    const says = `a read of mode ${mode} shows ${seen} accounts with ${total} together`;
    this.findings.push({kind: 'torn', key: 'bank', says});
  }

  async #transfer(client: Client): Promise<void> {
    const from = this.#random(accounts);
    const to = (from + 1 + this.#random(accounts - 1)) % accounts;
    const params = {from, to, amount: 1 + this.#random(amountMax)};
    if (this.#random(2) === 0)
      await client.command(database, script, {language: 'sqlscript', params});
    else await this.#transferInSession(client, params);
    this.transfers += 1;
  }

  async #transferInSession(
    client: Client,
    {from, to, amount}: {readonly from: number; readonly to: number; readonly amount: number},
  ): Promise<void> {
    const session = await client.begin(database);
    for (const [id, by] of [
      [from, -amount],
      [to, amount],
    ]) {
      const statement = 'UPDATE Account SET balance = balance + :by WHERE id = :id';
      await session.command(database, statement, {params: {id, by}});
    }
    await session.commit();
  }
}
