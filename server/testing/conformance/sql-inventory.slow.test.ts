/** The recorded suite `sql-inventory` at its recorded level. */
import {holdsBaseline} from './holds-baseline.ts';

holdsBaseline('sql-inventory');
