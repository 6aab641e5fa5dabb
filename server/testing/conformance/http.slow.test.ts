/** The recorded suite `http` at its recorded level. */
import {holdsBaseline} from './holds-baseline.ts';

holdsBaseline('http');
