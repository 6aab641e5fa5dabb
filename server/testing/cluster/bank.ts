/**
 * A bank: tellers move money between accounts at any member, and look at all accounts at once, in
 * every mode of reading. However many of them are cut off in the middle of whatever, no member may
 * ever show another sum than that of the beginning: a transfer is seen wholly or not at all.
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

/** Opens the accounts in the database of the ledger, which exists. */
export async function openBank(client: Client): Promise<void> {
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
}

/** One at the counter of the bank. */
export class Teller {
  /** Done, as far as this one was told. */
  transfers = 0;
  looks = 0;
  readonly findings: Finding[] = [];
  readonly surprises: string[] = [];
  readonly #random: (below: number) => number;

  constructor(random: (below: number) => number) {
    this.#random = random;
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
    const answer = await client.send({
      method: 'POST',
      path: `/api/v1/query/${database}`,
      headers: {'Content-Type': 'application/json', 'X-Svc-Read-Consistency': mode},
      body: JSON.stringify({language: 'sql', command: look}),
      again: true,
    });
    // A linearizable read without a majority, or a member that does not know the accounts yet.
    if (answer.status !== 200) return;
    const [row] = (JSON.parse(answer.text) as {result: Record<string, number>[]}).result;
    this.#saw(row ?? {}, mode);
  }

  #saw({accounts: seen, total}: Record<string, number>, mode: string): void {
    this.looks += 1;
    // A member far behind may be from before the accounts were opened, all in one commit, and
    // tellers name no bookmark that it would have to wait for.
    if (mode !== 'linearizable' && seen === 0) return;
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
