/** The names of one MATCH: each keeps its meaning, as they are written. */
import type {Pattern} from './ast.ts';
import type {BindContext, Scope} from './bind-context.ts';
import {innerNamesOf, namesOf} from './pattern-shape.ts';
import type {Kind} from './value-kind.ts';

export class PatternNames {
  readonly #context: BindContext;
  /** What the names of this MATCH itself stand for. */
  readonly #kinds = new Map<string, Kind>();

  constructor(context: BindContext) {
    this.#context = context;
  }

  /**
   * Takes up the names of a pattern: a node is no relationship, a path is new.
   *
   * @throws {Refusal} at the name.
   */
  check(pattern: Pattern, {variables}: Scope): void {
    for (const {name, kind} of namesOf(pattern)) {
      const {text, at} = name;
      const known = this.#kinds.get(text) ?? variables.get(text)?.kind;
      if (text === pattern.name?.text) this.#context.alreadyBound(at, text);
      if (known !== undefined && known !== kind && known !== 'any' && known !== 'null') {
        if (!(kind === 'relationships' && known === 'list')) this.#conflict(at, text);
      }
      const isEdge = kind === 'relationship' || kind === 'relationships';
      if (isEdge && this.#kinds.has(text)) {
        this.#context.refuse(
          at,
          'RelationshipUniquenessViolation',
          `the relationship '${text}' stands twice in one pattern`,
        );
      }
      this.#kinds.set(text, kind);
    }
    for (const {text, at} of innerNamesOf(pattern)) {
      if (this.#kinds.has(text) || variables.has(text)) this.#context.alreadyBound(at, text);
      this.#kinds.set(text, 'list');
    }
    const {name} = pattern;
    if (name === undefined) return;
    if (this.#kinds.has(name.text) || variables.has(name.text)) {
      this.#context.alreadyBound(name.at, name.text);
    }
    this.#kinds.set(name.text, 'path');
  }

  #conflict(at: number, name: string): never {
    return this.#context.refuse(
      at,
      'VariableTypeConflict',
      `'${name}' stands for another kind of value already`,
    );
  }
}
