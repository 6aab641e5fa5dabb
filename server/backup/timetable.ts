/**
 * Which databases are to be backed up when: a value that is told what there is and what time it is,
 * and answers what has come due. It has no timer of its own, so that years pass in a test.
 *
 * A database that appears is planned from that moment on; one that is closed or dropped is not
 * planned any more; one whose schedule changes begins anew, and one whose schedule stays as it was
 * keeps its next moment, whatever else of the document changes.
 */
import {type BackupDocument, type BackupPlan, planFor} from './backup-document.ts';
import {nextRun} from './next-run.ts';

export interface DueBackup {
  readonly database: string;
  readonly plan: BackupPlan;
  /** When it came due, in milliseconds since 1970. */
  readonly at: number;
}

interface Planned {
  readonly plan: BackupPlan;
  /** Undefined: the expression never falls into its window. */
  readonly due: number | undefined;
}

export class Timetable {
  readonly #timeZone: () => string;
  readonly #planned = new Map<string, Planned>();
  #document: BackupDocument | undefined;

  /** `timeZone`: asked for each plan. */
  constructor(timeZone: () => string) {
    this.#timeZone = timeZone;
  }

  /** Undefined: nothing is scheduled. */
  get document(): BackupDocument | undefined {
    return this.#document;
  }

  /** Databases whose expression never falls into its window. */
  get never(): readonly string[] {
    return [...this.#planned].filter(([, {due}]) => due === undefined).map(([name]) => name);
  }

  /** When something comes due next; undefined: nothing ever does. */
  get next(): number | undefined {
    const times = [...this.#planned.values()].flatMap(({due}) => (due === undefined ? [] : [due]));
    return times.length === 0 ? undefined : Math.min(...times);
  }

  use(document: BackupDocument | undefined): void {
    this.#document = document?.enabled === true ? document : undefined;
  }

  /** What there is now, of databases that are open. To be called before `due`. */
  look(databases: readonly string[], now: number): void {
    const document = this.#document;
    for (const name of this.#planned.keys()) {
      if (document === undefined || !databases.includes(name)) this.#planned.delete(name);
    }
    if (document === undefined) return;
    for (const name of databases) this.#plan(name, planFor(document, name), now);
  }

  /** What has come due, the longest overdue first; each is planned anew from `now` on. */
  due(now: number): readonly DueBackup[] {
    const found: DueBackup[] = [];
    for (const [database, {plan, due}] of this.#planned) {
      if (due === undefined || due > now) continue;
      found.push({database, plan, at: due});
      this.#planned.set(database, {plan, due: this.#next(plan, due, now)});
    }
    return found.sort((left, right) => left.at - right.at);
  }

  #plan(name: string, plan: BackupPlan, now: number): void {
    if (!plan.enabled) {
      this.#planned.delete(name);
      return;
    }
    const known = this.#planned.get(name);
    // The usual case: the same document as at the look before.
    if (known?.plan === plan) return;
    const isSame = JSON.stringify(known?.plan.schedule) === JSON.stringify(plan.schedule);
    const due = known !== undefined && isSame ? known.due : this.#next(plan, now, now);
    this.#planned.set(name, {plan, due});
  }

  #next({schedule}: BackupPlan, before: number, now: number): number | undefined {
    return nextRun(schedule, {before, now, timeZone: this.#timeZone()});
  }
}
