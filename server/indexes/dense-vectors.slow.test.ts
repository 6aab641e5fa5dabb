/** Recall of graphs over vectors as they are. */
import {holdsRecall} from './vector/testing-recall.ts';

holdsRecall({similarity: 'COSINE', quantization: 'NONE'});
holdsRecall({similarity: 'DOT_PRODUCT', quantization: 'NONE'});
