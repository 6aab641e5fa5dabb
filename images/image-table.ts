/**
 * The images of this release, a row each. A new one is a row here and a file that says what it
 * holds; how it is packed, named, labelled and listed is the same for all (build-image.ts).
 */
import {operatorImage} from './operator-image.ts';
import {serverImage} from './server-image.ts';
import type {ImageRow} from './image-row.ts';

export const imageTable: readonly ImageRow[] = [serverImage, operatorImage];
