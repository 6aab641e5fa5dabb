/** Recall of graphs over vectors that are kept smaller than they are. */
import {holdsRecall} from './vector/testing-recall.ts';

holdsRecall({similarity: 'EUCLIDEAN', quantization: 'INT8'});
holdsRecall({similarity: 'COSINE', quantization: 'PRODUCT'});
