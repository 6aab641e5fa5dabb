/** What a row of the table of images says. */
import type {ImageConfig} from './archive.ts';
import type {Part} from './runtime-files.ts';

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
  readonly config: Omit<ImageConfig, 'user' | 'labels' | 'stopSignal'>;
}
