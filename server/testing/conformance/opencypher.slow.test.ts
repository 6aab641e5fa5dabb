/** The recorded suite `opencypher` at its recorded level. */
import {holdsBaseline} from './holds-baseline.ts';

holdsBaseline('opencypher');
