/**
 * What one statement may read from outside: files and addresses, by the settings of
 * `svc.opencypher.loadCsv` and by who asks.
 *
 * Files are for users who may change security, as an import is; an address is fetched once a
 * statement, before the run that reads it.
 */
import type {KeptHolder} from './kept-memory.ts';
import type {Settings} from '#server/base/setting-values.ts';
import {shownAddress} from '#server/base/addresses.ts';
import {Refusal} from '#server/base/errors.ts';
import {MissingSource} from '#server/execution/missing-prerequisites.ts';
import type {Sources} from '#server/execution/external-access.ts';
import type {SourceReader} from '#server/platform/source-reader.ts';

const addressesMax = 64;
const timeoutMs = 30_000;

/** Whoever a statement reads for. */
export interface Asker {
  readonly mayReadFiles: boolean;
  readonly isRoot: boolean;
  /** All files and networks are open to it, whatever the rules of LOAD CSV are. */
  readonly readsEverywhere?: boolean;
  /** Begins to count what is fetched; absent: that is not kept for a statement. */
  readonly keep?: () => KeptHolder;
}

export class RequestSources implements Sources {
  readonly #reader: SourceReader;
  readonly #settings: () => Settings;
  readonly #asker: Asker;
  /**
   * What was fetched, keyed by address; made for the first one, since hardly a statement has any.
   */
  #fetched: Map<string, Uint8Array> | undefined;
  #kept: KeptHolder | undefined;

  constructor(reader: SourceReader, settings: () => Settings, asker: Asker) {
    this.#reader = reader;
    this.#settings = settings;
    this.#asker = asker;
  }

  /** Lets go of what was fetched. Idempotent. */
  close(): void {
    this.#fetched = undefined;
    this.#kept?.close();
  }

  open(source: string): Iterable<Uint8Array> {
    if (!/^https?:/i.test(source)) return this.#file(source);
    const bytes = this.#fetched?.get(source);
    if (bytes === undefined) throw new MissingSource(source);
    return [bytes];
  }

  #file(source: string): Iterable<Uint8Array> {
    const path = pathOf(source);
    const settings = this.#settings();
    if (this.#asker.readsEverywhere === true) return this.#reader.file(pathOf(source), undefined);
    if (!settings.get('svc.opencypher.loadCsv.allowFileUrls')) {
      throw new Refusal(
        'source.refused',
        'files are not read: svc.opencypher.loadCsv.allowFileUrls is off',
      );
    }
    if (!this.#asker.mayReadFiles) {
      throw new Refusal('security.denied', 'files are read for users who may change security only');
    }
    const root = settings.get('svc.opencypher.loadCsv.importDirectory');
    if (root === '' && !this.#asker.isRoot) {
      throw new Refusal(
        'security.denied',
        'files are read for root only as long as no folder is set for them ' +
          '(svc.opencypher.loadCsv.importDirectory)',
      );
    }
    return this.#reader.file(path, root === '' ? undefined : root);
  }

  /** Fetches what a run has asked for. @throws {Refusal} `source.refused`, `source.unreadable`. */
  async fetch(address: string): Promise<void> {
    const settings = this.#settings();
    if (!settings.get('svc.opencypher.loadCsv.allowRemoteUrls')) {
      throw new Refusal(
        'source.refused',
        'addresses are not read: svc.opencypher.loadCsv.allowRemoteUrls is off',
      );
    }
    if (!URL.canParse(address))
      throw new Refusal('argument', `'${shownAddress(address)}' is no address`);
    this.#fetched ??= new Map();
    if (this.#fetched.size >= addressesMax) {
      throw new Refusal('source.refused', `a statement reads at most ${addressesMax} addresses`);
    }
    const isOpen = this.#asker.readsEverywhere === true;
    const ranges = isOpen ? [] : settings.get('svc.opencypher.loadCsv.blockedIpRanges').split(',');
    const bytes = await this.#reader.fetch(new URL(address), {
      blocked: ranges.map(range => range.trim()).filter(range => range !== ''),
      bytesMax: settings.get('svc.opencypher.loadCsv.maxRemoteSize'),
      timeoutMs,
    });
    this.#kept ??= this.#asker.keep?.();
    this.#kept?.resize(this.#kept.bytes + bytes.length);
    this.#fetched.set(address, bytes);
  }
}

/**
 * `file:///a/b.csv` and `/a/b.csv` name the same file; other schemes none. `classpath:` is what
 * lies in the libraries of a server in Java; ours has none, and carries no data along.
 */
function pathOf(source: string): string {
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(source)?.[1];
  if (scheme === undefined) return source;
  const url = URL.canParse(source) ? new URL(source) : undefined;
  if (url?.protocol === 'file:' && url.host === '') return decodeURIComponent(url.pathname);
  if (scheme.toLowerCase() === 'classpath') {
    throw new Refusal(
      'argument',
      `'${source}' names a class path, which this server has none of: ` +
        'name a file by file:// or an address of http or https',
    );
  }
  const shown = shownAddress(source);
  throw new Refusal('argument', `'${shown}' is no file and no address of http or https`);
}
