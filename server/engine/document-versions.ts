/**
 * The versions that a server's documents will have: each change is one further than those under
 * way, and than those of which nobody knows what became of them.
 */

export class DocumentVersions {
  /** Newer than the stored one, by document. */
  readonly #taken = new Map<string, readonly number[]>();

  /** The newest version that the document has or may get yet; `stored`: the one it has. */
  newest(name: string, stored: number): number {
    const open = (this.#taken.get(name) ?? []).filter(version => version > stored);
    this.#taken.set(name, open);
    return Math.max(stored, ...open);
  }

  /** Returns what to call when the version came to nothing. */
  take(name: string, version: number): () => void {
    this.#taken.set(name, [...(this.#taken.get(name) ?? []), version]);
    return () => {
      const others = this.#taken.get(name)?.filter(other => other !== version);
      this.#taken.set(name, others ?? []);
    };
  }

  /** What was under way is decided. */
  clear(): void {
    this.#taken.clear();
  }
}
