/**
 * What the operator tells of itself, as an interface: metrics.ts makes it Prometheus' text, and
 * the simulation counts.
 */

export interface Figures {
  /** @param outcome - `done`, `gone` or `failed`. */
  reconciled(work: string, outcome: string, ms: number): void;
}

export const noFigures: Figures = {reconciled: () => {}};
