/**
 * The images of this release, a row each. A new one is a row here and a file that says what it
 * holds; how it is packed, named, labelled and listed is the same for all (build-image.ts).
 */
import type {ImageConfig} from './archive.ts';
import {operatorImage} from './operator-image.ts';
import type {Part} from './runtime-files.ts';
import {serverImage} from './server-image.ts';

export interface ImageRow {
  /** Names the archive `dist/images/NAME.tar` and the image `svc/NAME`. */
  readonly name: string;
  readonly title: string;
  readonly description: string;
  /** Files of the checkout without which there is nothing to build. */
  readonly sources: readonly string[];
  /** Native code in the image, from the root of the checkout. */
  readonly native: readonly string[];
  readonly application: (root: string) => Part | Promise<Part>;
  readonly config: (root: string) => Omit<ImageConfig, 'user' | 'labels' | 'stopSignal'>;
}

export const imageTable: readonly ImageRow[] = [serverImage, operatorImage];
