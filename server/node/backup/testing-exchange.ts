/** A real server that imports and exports, and the steps of tests of it. */
import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import {mkdtempSync, readdirSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import type {Client, Row} from '#server/client/client.ts';
import {ServerError} from '#server/client/server-error.ts';
import {freePort} from '#server/testing/worlds/free-port.ts';
import {
  type ServerProcess,
  startServer,
  temporaryRoot,
} from '#server/testing/worlds/server-process.ts';

export class ExchangeWorld {
  readonly client: Client;
  readonly root: string;
  readonly #server: ServerProcess;

  constructor(server: ServerProcess) {
    this.#server = server;
    this.root = server.root;
    this.client = server.client();
  }

  async close(): Promise<void> {
    this.client.close();
    await this.#server.dispose();
  }

  /** Sends a file; into a new database unless `new` is false. */
  send(
    database: string,
    content: string | Buffer,
    options: Readonly<Record<string, string>> = {},
  ): Promise<Row> {
    return this.client.importFile(database, bytesOf(content), {new: 'true', ...options}, () => {});
  }

  async rows(database: string, text: string, language = 'sql'): Promise<readonly Row[]> {
    return (await this.client.query(database, text, {language})).result;
  }

  /** The one file in the archive of an export. */
  async exported(database: string, format = 'jsonl'): Promise<string> {
    const parts: Buffer[] = [];
    for await (const piece of this.client.exportFile(database, format)) parts.push(piece);
    const folder = mkdtempSync(join(this.root, 'unpacked-'));
    execFileSync('tar', ['xzf', '-', '-C', folder], {input: Buffer.concat(parts)});
    assert.deepEqual(readdirSync(folder), [`${database}.${format}`]);
    return readFileSync(join(folder, `${database}.${format}`), 'utf8');
  }

  /**
   * What an import that was refused may not leave: the database, a hidden one, files of it.
   *
   * @throws when there is something.
   */
  async assertNothingLeft(database: string): Promise<void> {
    assert.ok(!(await this.client.databases()).includes(database));
    const hidden = readdirSync(join(this.root, 'databases')).filter(name => name.startsWith('.'));
    assert.deepEqual(hidden, []);
    assert.deepEqual(readdirSync(join(this.root, 'temporary')), []);
  }
}

export async function startExchangeWorld(name: string): Promise<ExchangeWorld> {
  const server = await startServer({
    root: temporaryRoot(name),
    port: await freePort(),
    settings: {'svc.opencypher.loadCsv.allowFileUrls': true},
  });
  return new ExchangeWorld(server);
}

/** Fails unless `work` is refused by the server in words that match. */
export async function assertRefused(work: Promise<unknown>, expected: RegExp): Promise<void> {
  await assert.rejects(work, error => {
    assert.ok(error instanceof ServerError, String(error));
    assert.match(error.message, expected);
    return true;
  });
}

async function* bytesOf(content: string | Buffer): AsyncGenerator<Buffer> {
  yield Buffer.from(content);
}
