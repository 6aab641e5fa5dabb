/**
 * A server that backs up, restores, imports and is written to is killed with `kill -9`, again and
 * again. After each start every database is whole, what was acknowledged is there, nothing is left
 * of what was under way, and archives restore.
 *
 * Each database has a counter that every transaction raises with the record it makes, so half a
 * database shows in a sum. `make crash PROFILE=backup CYCLES=100 SEED=1`.
 */
import {existsSync, readdirSync, statSync} from 'node:fs';
import {join} from 'node:path';
import type {Client, Row} from '#server/client/client.ts';
import {ServerError} from '#server/client/server-error.ts';
import {SeededRandom} from '../property/seeded-random.ts';
import {freePort} from '../worlds/free-port.ts';
import {type ServerProcess, startServer, temporaryRoot} from '../worlds/server-process.ts';

const killAfterMillis = {least: 100, most: 4_000} as const;
const importedRows = 300;
const archivesMax = 6;

export interface BackupCrashReport {
  readonly cycles: number;
  readonly backups: number;
  readonly restores: number;
  readonly imports: number;
  /** Acknowledged records of the database that is written to. */
  readonly acknowledged: number;
  readonly findings: readonly string[];
  readonly root: string;
}

export async function runBackupCrashes(options: {
  readonly cycles: number;
  readonly seed: number;
  readonly onCycle?: (line: string) => void;
}): Promise<BackupCrashReport> {
  const root = temporaryRoot('backup-crash');
  const port = await freePort();
  const random = new SeededRandom(options.seed);
  const work = new BackupWork(root, random);
  let server = await startServer({root, port});
  try {
    await server.asRoot(client => work.prepare(client));
    for (let cycle = 1; cycle <= options.cycles && work.findings.length === 0; cycle += 1) {
      await killedAtWork(server, work, random);
      server = await startServer({root, port});
      await server.asRoot(client => work.audit(client));
      options.onCycle?.(`cycle ${cycle} of ${options.cycles}: ${work.summary}`);
    }
  } finally {
    await server.kill();
  }
  if (work.findings.length === 0) await server.dispose();
  const {backups, restores, imports, acknowledged, findings} = work;
  return {cycles: options.cycles, backups, restores, imports, acknowledged, findings, root};
}

async function killedAtWork(
  server: ServerProcess,
  work: BackupWork,
  random: SeededRandom,
): Promise<void> {
  const client = server.client();
  const {least, most} = killAfterMillis;
  const moment = least + random.below(most - least);
  work.isOver = false;
  const running = Promise.allSettled([work.write(client), work.move(client)]);
  await new Promise(resolve => setTimeout(resolve, moment));
  work.isOver = true;
  await server.kill();
  const broken = (await running).find(outcome => outcome.status === 'rejected');
  client.close();
  if (broken !== undefined) throw broken.reason;
}

class BackupWork {
  backups = 0;
  restores = 0;
  imports = 0;
  acknowledged = 0;
  isOver = false;
  readonly findings: string[] = [];
  readonly #root: string;
  readonly #random: SeededRandom;

  constructor(root: string, random: SeededRandom) {
    this.#root = root;
    this.#random = random;
  }

  get summary(): string {
    return (
      `backups ${this.backups}, restores ${this.restores}, imports ${this.imports}, ` +
      `acknowledged ${this.acknowledged}`
    );
  }

  async prepare(client: Client): Promise<void> {
    await client.createDatabase('main');
    await client.command('main', 'CREATE DOCUMENT TYPE Item');
    await client.command('main', 'CREATE DOCUMENT TYPE Counter');
    await client.command('main', 'INSERT INTO Counter SET n = 0');
    await client.serverCommand('trigger backup main');
  }

  /** One record and the counter in each transaction. */
  async write(client: Client): Promise<void> {
    while (!this.isOver) {
      const done = await this.#tried(() =>
        client.command(
          'main',
          "BEGIN; INSERT INTO Item SET text = 'x'; UPDATE Counter SET n = n + 1; COMMIT",
          {language: 'sqlscript'},
        ),
      );
      if (done !== undefined) this.acknowledged += 1;
    }
  }

  async move(client: Client): Promise<void> {
    while (!this.isOver) {
      const choice = this.#random.below(3);
      if (choice === 0) await this.#backUp(client);
      else if (choice === 1) await this.#restore(client);
      else await this.#import(client);
    }
  }

  async #backUp(client: Client): Promise<void> {
    const compressionLevel = this.#random.below(2);
    const made = await this.#tried(() =>
      client.serverCommand('trigger backup main', {compressionLevel}),
    );
    if (made !== undefined) this.backups += 1;
    const list = await this.#tried(() => client.serverCommand('list backups main'));
    const archives = (list?.['backups'] as readonly Row[] | undefined) ?? [];
    const oldest = archives.at(-1);
    if (archives.length <= archivesMax || oldest === undefined) return;
    await this.#tried(() =>
      client.serverCommand(`delete backup main ${String(oldest['fileName'])}`),
    );
  }

  async #restore(client: Client): Promise<void> {
    const list = await this.#tried(() => client.serverCommand('list backups main'));
    const archives = (list?.['backups'] as readonly Row[] | undefined) ?? [];
    const archive = archives[this.#random.below(Math.max(1, archives.length))];
    if (archive === undefined) return;
    const command = `restore backup main ${String(archive['fileName'])} as copy`;
    const done = await this.#tried(() => client.serverCommand(command, {overwrite: true}));
    if (done !== undefined) this.restores += 1;
  }

  async #import(client: Client): Promise<void> {
    const name = `imported-${this.#random.below(3)}`;
    await this.#tried(() => client.dropDatabase(name));
    const lines = Array.from({length: importedRows}, (_, n) => `{"n":${n}}\n`).join('');
    const body = async function* (): AsyncGenerator<Buffer> {
      yield Buffer.from(lines);
    };
    const query = {new: 'true', documentType: 'Item', commitEvery: '20'};
    const done = await this.#tried(() => client.importFile(name, body(), query, () => {}));
    if (done !== undefined) this.imports += 1;
  }

  /** What every start has to find. */
  async audit(client: Client): Promise<void> {
    for (const name of await client.databases()) {
      const items = await this.#count(client, name, 'SELECT count(*) AS n FROM Item');
      if (name.startsWith('imported-')) {
        if (items !== importedRows) this.findings.push(`${name} has ${items} of ${importedRows}`);
        continue;
      }
      const counted = await this.#count(client, name, 'SELECT n FROM Counter');
      if (items !== counted) this.findings.push(`${name} has ${items} items and counts ${counted}`);
      if (name === 'main' && items < this.acknowledged) {
        this.findings.push(`main has ${items} items, ${this.acknowledged} were acknowledged`);
      }
    }
    this.#lookForLitter();
    await this.#checkNewest(client);
  }

  async #checkNewest(client: Client): Promise<void> {
    const {backups} = await client.serverCommand('list backups main');
    const [newest] = backups as readonly Row[];
    if (newest === undefined) this.findings.push('no archive is left');
    else {
      const command = `restore backup main ${String(newest['fileName'])}`;
      await client.serverCommand(command, {verify: true});
    }
  }

  #lookForLitter(): void {
    for (const directory of ['databases', 'backups/main', 'temporary', 'exports']) {
      const path = join(this.#root, directory);
      if (!existsSync(path)) continue;
      const litter = readdirSync(path).filter(name => /^\.|^import-|^ids-/.test(name));
      for (const name of litter) {
        this.findings.push(
          `${directory}/${name} is left, ${statSync(join(path, name)).size} bytes`,
        );
      }
    }
  }

  async #count(client: Client, database: string, statement: string): Promise<number> {
    const {result} = await client.query(database, statement);
    return Number(result[0]?.['n'] ?? 0);
  }

  /** Undefined when it was refused or its outcome is not known. */
  async #tried<T>(action: () => Promise<T>): Promise<T | undefined> {
    try {
      return await action();
    } catch (error) {
      if (this.isOver || error instanceof ServerError) return undefined;
      // The connection ends with the process.
      await new Promise(resolve => setTimeout(resolve, 10));
      return undefined;
    }
  }
}

/** What `make crash PROFILE=backup` does. */
export async function reportBackupCrashes(cycles: number, seed: number): Promise<void> {
  const onCycle = (line: string): boolean => process.stdout.write(`${line}\n`);
  const report = await runBackupCrashes({cycles, seed, onCycle});
  for (const finding of report.findings) process.stdout.write(`found: ${finding}\n`);
  const {backups, restores, imports, acknowledged, findings, root} = report;
  if (findings.length > 0) {
    process.stdout.write(`the files are kept in ${root}\n`);
    process.exitCode = 1;
  }
  process.stdout.write(
    `cycles ${cycles} backups ${backups} restores ${restores} imports ${imports} ` +
      `acknowledged ${acknowledged} wrong ${findings.length}\n`,
  );
}
