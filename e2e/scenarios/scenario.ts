/** What a scenario is, and what it is given. */
import type {Lab} from '../lab/lab.ts';

/** What scenarios share: the operator of the lab, and its nodes. */
export const sharedThings = ['operator', 'nodes'] as const;
export type SharedThing = (typeof sharedThings)[number];

export interface Scenario {
  /** The name that ONLY= takes: S01 for servers alone, E01 for those under the operator. */
  readonly id: string;
  /** A sentence about what holds when it passes. */
  readonly title: string;
  /** What has to be in the checkout: else it is skipped, and the line says so. */
  readonly needs?: readonly string[];
  /** What it changes or measures for itself: nobody who uses it too runs at the same time. */
  readonly alone?: readonly SharedThing[];
  readonly run: (world: World) => Promise<void>;
}

export interface World {
  readonly lab: Lab;
  /** A new one for each scenario; it goes with all that is in it. */
  readonly namespace: string;
  /** The version of this checkout, which is the tag of the images. */
  readonly version: string;
  /** Shown beneath the line of the scenario: figures that a reader wants to see. */
  readonly note: (figure: string) => void;
}
