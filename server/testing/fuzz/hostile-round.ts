/**
 * What holds whatever is sent to a server, in each file of bad input: an ordinary client is at work
 * beside it all the time and served in time, nothing is stored that was not acknowledged (counted
 * at the end and again after `kill -9`), nothing is written outside the root, the process is alive,
 * and its memory comes back to where it was.
 */
import assert from 'node:assert/strict';
import {existsSync, readdirSync} from 'node:fs';
import {join} from 'node:path';
import {eventually} from '../time/eventually.ts';
import {schema} from './bad-statements.ts';
import {type Answer, answerMillisMax, hangMillis, HostileWorld} from './fuzz-world.ts';
import {PoliteClient} from './polite-client.ts';

/** What others may be kept waiting by one request: the longest stall of the event loop. */
const stallMillisMax = 6_000;
/**
 * Threads that an insert goes through: the client's, the network's, the log's and back. On a busy
 * machine each of them is as late as a timer of this process is, whatever the server does.
 */
const switches = 5;
const memoryBytesMax = 64 * 1024 * 1024;
/** Rows of `Many`, for products and sorts that need much. */
const manyRows = 3_000;

/** Records that are there from the beginning; who adds others removes them again. */
const counts: Readonly<Record<string, number>> = {D: 0, V: 1, E: 0, Many: manyRows};

export class HostileRound {
  readonly world: HostileWorld;
  readonly polite: PoliteClient;
  readonly #quietBytes: number;
  readonly #outside: readonly string[];

  private constructor(world: HostileWorld, polite: PoliteClient) {
    this.world = world;
    this.polite = polite;
    this.#quietBytes = world.residentBytes;
    this.#outside = besideRoot(world);
  }

  /** A server with the schema and a polite client. The caller disposes of it. */
  static async start(
    settings: Readonly<Record<string, string | number>> = {},
  ): Promise<HostileRound> {
    const world = await HostileWorld.start(settings);
    const polite = new PoliteClient(world.port, () => world.queuedMillis);
    try {
      assert.equal((await world.administer('create database hostile')).status, 200);
      const values = Array.from({length: manyRows}, (_, at) => `(${at}, 'text ${at}')`).join(',');
      const fill = `INSERT INTO Many (n, t) VALUES ${values}`;
      for (const statement of [...PoliteClient.schema, ...schema, fill]) {
        const {status, text} = await world.command(statement);
        assert.equal(status, 200, `${statement.slice(0, 60)}: ${text}`);
      }
      polite.start();
      await eventually('the polite client is served', () => polite.acknowledged >= 50);
      return new HostileRound(world, polite);
    } catch (error) {
      await polite.stop();
      await world.dispose();
      throw error;
    }
  }

  async dispose(): Promise<void> {
    await this.polite.stop();
    await this.world.dispose();
  }

  /** The others were served all the time, and rightly. */
  checkOthers(what: string, millisMax = stallMillisMax): void {
    const {world, polite} = this;
    assert.ok(world.isAlive, `${what}: ${world.server.log}`);
    assert.deepEqual(polite.complaints, [], what);
    const {wait, late} = polite.takeLongest();
    const most = millisMax + switches * late;
    const said = `${Math.round(wait)} ms, timers here were up to ${Math.round(late)} ms late`;
    assert.ok(wait < most, `${what}: another client waited ${said}`);
  }

  /** Nothing is left of what was sent: not in memory, in the database or beside the root. */
  async checkNothingLeft(): Promise<void> {
    const {world} = this;
    const grownBytes = (): number => world.residentBytes - this.#quietBytes;
    await eventually('memory is back', () => grownBytes() < memoryBytesMax, {
      millisMax: hangMillis,
      pollMillis: 500,
      told: () => `${Math.round(grownBytes() / 1024 / 1024)} MB more than before`,
    });
    await this.#checkCounts();
    const news = besideRoot(world).filter(name => !this.#outside.includes(name));
    assert.deepEqual(
      news.filter(name => /evil|^\.hidden$|^x$/.test(name)),
      [],
    );
    assert.ok(!existsSync('/tmp/evil'));
    assert.doesNotMatch(world.server.log, /"request failed"/);
    this.checkOthers('the end');
  }

  /** The last check: the server is killed, and what was acknowledged is there and nothing else. */
  async checkAfterKill(): Promise<void> {
    await this.polite.stop();
    await this.world.restart();
    const stored = await this.world.value('SELECT count(*) FROM Polite');
    assert.equal(stored, this.polite.acknowledged);
    await this.#checkCounts();
  }

  async #checkCounts(): Promise<void> {
    for (const [type, count] of Object.entries(counts)) {
      assert.equal(await this.world.value(`SELECT count(*) FROM ${type}`), count, type);
    }
  }
}

/** An answer has the status and says what it should, within 20 s of the server's own time. */
export function check(answer: Answer, wanted: {status: number; says: RegExp}, what: string): void {
  assert.equal(answer.status, wanted.status, `${what}: ${answer.text.slice(0, 400)}`);
  assert.match(answer.text, wanted.says, what);
  assert.ok(answer.millis < answerMillisMax, `${what} took ${answer.millis} ms`);
}

function besideRoot(world: HostileWorld): readonly string[] {
  return readdirSync(join(world.server.root, '..'));
}
