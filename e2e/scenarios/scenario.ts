/** What a scenario is, and what it is given. */
import type {Lab} from '../lab/lab.ts';

export interface Scenario {
  /** The name that ONLY= takes: S01 for servers alone, E01 for those under the operator. */
  readonly id: string;
  /** A sentence about what holds when it passes. */
  readonly title: string;
  /**
   * Who looks after its clusters: the operator of all namespaces (`shared`), one in the namespace
   * of the scenario for that alone (`own`), or one that no other scenario may meet (`sole`).
   * Absent: nobody, or there are none.
   */
  readonly operator?: 'shared' | 'own' | 'sole';
  /** Nobody runs beside it: it takes nodes away, or measures what others would take from it. */
  readonly isAlone?: boolean;
  /** Not among those that `make e2e` runs when it is told nothing: ONLY=further has them. */
  readonly isFurther?: boolean;
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
