/** Raises the format level of a server or cluster, by an entry of the log. */
import type {Formats} from './levels.ts';
import {isUnknown, type ServerEntries} from '../served/server-entries.ts';

interface FormatRaiseOptions {
  readonly entries: ServerEntries;
  /** What this build reads and writes. */
  readonly formats: Formats;
  /** The level that is written at present. */
  readonly present: () => number;
}

export class FormatRaise {
  readonly #options: FormatRaiseOptions;
  /** What an entry of this leader that is under way raises the level to. */
  #to: number | undefined;

  constructor(options: FormatRaiseOptions) {
    this.#options = options;
  }

  /** The level of what is committed from now on. */
  get level(): number {
    return this.#to ?? this.#options.present();
  }

  /** What was under way is executed or void; answers whether something was. */
  settle(): boolean {
    const was = this.#to !== undefined;
    this.#to = undefined;
    return was;
  }

  /**
   * Raises the formats of a cluster to those of this build, and begins to bring the rows there.
   * For a leader, once every member reads them: one that does not stops at the entry. Commits that
   * meet the entry are conflicts, so that nothing of the old level comes behind it.
   *
   * @throws {Refusal} what refuses a commit.
   */
  async raise(): Promise<void> {
    const {formats, present} = this.#options;
    if (this.#to !== undefined || present() >= formats.level) return;
    await this.#raiseTo(formats.level);
  }

  /** A database of an earlier level was attached: its rows are brought to that of the others. */
  async raiseRows(): Promise<void> {
    if (this.#to === undefined) await this.#raiseTo(this.#options.present());
  }

  async #raiseTo(level: number): Promise<void> {
    this.#to = level;
    try {
      await this.#options.entries.propose('format-level', {head: {level}});
    } catch (error) {
      // One whose outcome is not known may be executed yet.
      if (!isUnknown(error)) this.#to = undefined;
      throw error;
    }
  }
}
