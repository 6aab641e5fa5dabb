/**
 * What the functions and triggers of one catalog do, found out from their bodies when somebody
 * asks: whether a statement that only reads by itself writes through them.
 *
 * Functions call each other in circles as they like, so this is a question of what can be reached.
 * Of JavaScript it is known beforehand: a function has no database, and a trigger on READ may not
 * write where nothing else does.
 */
import {Refusal} from '#server/base/errors.ts';
import type {Catalog} from '#server/catalog/catalog.ts';
import type {TriggerDefinition} from '#server/catalog/definition.ts';
import type {PlanNode} from '#server/plan/node.ts';
import {type Effects, effectsOf, isReadOnly, routinesOf} from '#server/plan/properties.ts';
import type {Statement} from '#server/plan/statement.ts';

/** A body bound to the catalog; undefined when it is no query or makes types first. */
export type BindBody = (language: string, text: string) => Statement | undefined;

interface Body {
  readonly writes: boolean;
  readonly calls: ReadonlySet<string>;
}

const harmless: Body = {writes: false, calls: new Set()};

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
    return readers.some(trigger => this.#meets(effects, trigger) && this.#triggerWrites(trigger));
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
      if (statement?.kind !== 'query') return {...harmless, writes: true};
      return {writes: !isReadOnly(statement.plan), calls: routinesOf(statement.plan)};
    } catch (error) {
      if (error instanceof Refusal) return harmless;
      throw error;
    }
  }

  #meets({reads, readsAny}: Effects, {typeId}: TriggerDefinition): boolean {
    if (readsAny) return true;
    const watched = this.#catalog.typeById(typeId);
    return [...reads].some(name => {
      const type = this.#catalog.type(name);
      return type?.familyIds.has(typeId) === true || watched?.familyIds.has(type?.id ?? 0) === true;
    });
  }
}
