/** The recorded suite `sql-families` at its recorded level. */
import {holdsBaseline} from './holds-baseline.ts';

holdsBaseline('sql-families');
