/**
 * What was set while the server ran, kept for its next start: `config/changed-settings.json`, of
 * the form of the configuration file, replaced as a whole.
 *
 * It counts more than the configuration file and less than the command line and the environment.
 * With `--config` somebody else keeps the configuration, such as the operator on Kubernetes, and
 * nothing is kept here: a value that he takes back must not come again.
 */
import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  writeSync,
} from 'node:fs';
import {dirname, join} from 'node:path';
import {reasonOf, Refusal} from '#server/base/errors.ts';
import type {RawSetting} from '#server/base/setting-values.ts';

const fileName = 'changed-settings.json';
const ownerOnly = 0o600;

export class KeptSettings {
  readonly path: string;

  /** @param directory - Of the configuration; need not exist yet. */
  constructor(directory: string) {
    this.path = join(directory, fileName);
  }

  /** The text of the file; undefined when there is none. */
  read(): string | undefined {
    return existsSync(this.path) ? readFileSync(this.path, 'utf8') : undefined;
  }

  /**
   * Keeps one value; resolves nothing of it, and is durable when it returns.
   *
   * @throws {Refusal} `storage.full` when it cannot be written.
   */
  keep(key: string, value: RawSetting): void {
    const before = this.read();
    const values = before === undefined ? {} : (JSON.parse(before) as Record<string, RawSetting>);
    const text = `${JSON.stringify({...values, [key]: value}, null, 2)}\n`;
    try {
      replaceFile(this.path, text);
    } catch (error) {
      const reason = reasonOf(error);
      const message = `${key} was not changed, since it cannot be kept in ${this.path}: ${reason}`;
      throw new Refusal('storage.full', message, {cause: error});
    }
  }
}

function replaceFile(path: string, text: string): void {
  const next = `${path}.next`;
  const file = openSync(next, 'w', ownerOnly);
  try {
    writeSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(next, path);
  const folder = openSync(dirname(path), 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}
