/**
 * What the functions and triggers of one catalog do, found out from their bodies when somebody
 * asks: whether a statement that only reads by itself writes through them.
 *
 * Functions call each other in circles as they like, so this is a question of what can be reached.
 * What JavaScript does is known beforehand: a function has no database, and a trigger on READ may
 * not write where nothing else does.
 */
import {Refusal} from '#server/base/errors.ts';
import type {Catalog} from '#server/catalog/catalog.ts';
import type {TriggerDefinition} from '#server/catalog/definition.ts';
import {labelsOf} from '#server/model/labels.ts';
import type {PlanNode} from '#server/plan/node.ts';
import {type Effects, effectsOf, isReadOnly, routinesOf} from '#server/plan/properties.ts';
import type {Statement} from '#server/plan/statement.ts';

/** A body bound to the catalog; undefined when it is no query or makes types first. */
export type BindBody = (language: string, text: string) => Statement | undefined;

interface Body {
  readonly writes: boolean;
  readonly calls: ReadonlySet<string>;
  /** `anything`: what it does to records is known only when it runs. */
  readonly plan: PlanNode | 'anything' | undefined;
}

/** What happens to records. */
export interface Writes {
  readonly creates: boolean;
  readonly changes: boolean;
  readonly deletes: boolean;
}

const harmless: Body = {writes: false, calls: new Set(), plan: undefined};

export class Routines {
  readonly #catalog: Catalog;
  readonly #bind: BindBody;
  readonly #bodies = new Map<string, Body>();

  constructor(catalog: Catalog, bind: BindBody) {
    this.#catalog = catalog;
    this.#bind = bind;
  }

  /** Whether functions that the plan calls, or triggers that its reads fire, may write. */
  mayWrite(plan: PlanNode): boolean {
    const {functions, triggers} = this.#catalog;
    if (functions.length === 0 && triggers.length === 0) return false;
    if ([...routinesOf(plan)].some(name => this.writes(name))) return true;
    const readers = triggers.filter(({event, language}) => event === 'read' && language === 'sql');
    if (readers.length === 0) return false;
    const effects = effectsOf(plan);
    return readers.some(
      trigger => reads(effects, trigger, this.#catalog) && this.#triggerWrites(trigger),
    );
  }

  /**
   * All that a run of the plan may write: by itself, by functions that it calls, and by triggers
   * that any of these fires.
   */
  writesOf(plan: PlanNode): Writes {
    const reached = new Reached(this.#catalog);
    const pending: Body['plan'][] = [plan];
    const called = new Set<string>();
    const fired = new Set<TriggerDefinition>();
    for (;;) {
      const next = pending.pop();
      if (next === 'anything') return {creates: true, changes: true, deletes: true};
      if (next !== undefined) {
        reached.add(effectsOf(next));
        for (const name of routinesOf(next)) {
          if (!called.has(name)) pending.push(this.#planOf(name));
          called.add(name);
        }
      }
      if (pending.length > 0) continue;
      const trigger = this.#catalog.triggers.find(one => !fired.has(one) && reached.fires(one));
      if (trigger === undefined) return reached;
      fired.add(trigger);
      pending.push(trigger.language === 'js' ? 'anything' : this.#body('sql', trigger.code).plan);
    }
  }

  #planOf(name: string): Body['plan'] {
    const definition = this.#catalog.functionNamed(name);
    // JavaScript has no database there.
    if (definition === undefined || definition.language === 'js') return undefined;
    return this.#body(definition.language, definition.code).plan;
  }

  /** Whether a call of the function may write. */
  writes(name: string, seen = new Set<string>()): boolean {
    if (seen.has(name)) return false;
    seen.add(name);
    const definition = this.#catalog.functionNamed(name);
    if (definition === undefined || definition.language === 'js') return false;
    return this.#bodyWrites(this.#body(definition.language, definition.code), seen);
  }

  #triggerWrites({code}: TriggerDefinition): boolean {
    return this.#bodyWrites(this.#body('sql', code), new Set());
  }

  #bodyWrites({writes, calls}: Body, seen: Set<string>): boolean {
    return writes || [...calls].some(name => this.writes(name, seen));
  }

  #body(language: string, text: string): Body {
    const key = `${language} ${text}`;
    const known = this.#bodies.get(key) ?? this.#read(language, text);
    this.#bodies.set(key, known);
    return known;
  }

  /** A body that cannot be bound is refused when it is called, with its reason. */
  #read(language: string, text: string): Body {
    try {
      const statement = this.#bind(language, text);
      if (statement?.kind !== 'query') return {...harmless, writes: true, plan: 'anything'};
      const {plan} = statement;
      return {writes: !isReadOnly(plan), calls: routinesOf(plan), plan};
    } catch (error) {
      if (error instanceof Refusal) return harmless;
      throw error;
    }
  }
}

/** Whether a plan with these effects may read records that the trigger watches. */
function reads(
  {reads: names, readsAny}: Pick<Effects, 'reads' | 'readsAny'>,
  {typeId}: TriggerDefinition,
  catalog: Catalog,
): boolean {
  if (readsAny) return true;
  const watched = catalog.typeById(typeId);
  return [...names].some(name => {
    const type = catalog.type(name);
    return type?.familyIds.has(typeId) === true || watched?.familyIds.has(type?.id ?? 0) === true;
  });
}

/** The effects of several plans. */
class Reached implements Writes {
  readonly #catalog: Catalog;
  readonly #reads = new Set<string>();
  readonly #creates = new Set<string>();
  #readsAny = false;
  #createsAny = false;
  changes = false;
  deletes = false;

  constructor(catalog: Catalog) {
    this.#catalog = catalog;
  }

  get creates(): boolean {
    return this.#createsAny || this.#creates.size > 0;
  }

  add(effects: Effects): void {
    for (const name of effects.reads) this.#reads.add(name);
    for (const name of effects.creates) this.#creates.add(name);
    this.#readsAny ||= effects.readsAny;
    this.#createsAny ||= effects.createsAny;
    this.changes ||= effects.changesAny;
    this.deletes ||= effects.deletesAny;
  }

  fires(trigger: TriggerDefinition): boolean {
    switch (trigger.event) {
      case 'create':
        return this.#createsAny || [...this.#creates].some(name => this.#isWatched(name, trigger));
      case 'update':
        return this.changes;
      case 'delete':
        return this.deletes;
      case 'read': {
        const isIdle = trigger.language === 'js' && !this.creates && !this.changes && !this.deletes;
        const reading = {reads: this.#reads, readsAny: this.#readsAny};
        return !isIdle && reads(reading, trigger, this.#catalog);
      }
    }
  }

  /** A type of several labels that is yet to be made extends theirs. */
  #isWatched(name: string, {typeId}: TriggerDefinition): boolean {
    const watched = this.#catalog.typeById(typeId);
    return [name, ...labelsOf(name)].some(
      one => watched?.familyIds.has(this.#catalog.type(one)?.id ?? 0) === true,
    );
  }
}
