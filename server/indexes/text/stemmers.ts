/**
 * Stemmers by language: the Snowball algorithms of `@orama/stemmers`, for English the original one
 * of Porter, which Lucene's English analyzer uses too.
 *
 * A stemmer gets a word in lower case and answers what is indexed in its place.
 */
import {stemmer as arabic} from '@orama/stemmers/arabic';
import {stemmer as armenian} from '@orama/stemmers/armenian';
import {stemmer as bulgarian} from '@orama/stemmers/bulgarian';
import {stemmer as danish} from '@orama/stemmers/danish';
import {stemmer as dutch} from '@orama/stemmers/dutch';
import {stemmer as english} from '@orama/stemmers/english';
import {stemmer as finnish} from '@orama/stemmers/finnish';
import {stemmer as french} from '@orama/stemmers/french';
import {stemmer as german} from '@orama/stemmers/german';
import {stemmer as greek} from '@orama/stemmers/greek';
import {stemmer as hungarian} from '@orama/stemmers/hungarian';
import {stemmer as indonesian} from '@orama/stemmers/indonesian';
import {stemmer as irish} from '@orama/stemmers/irish';
import {stemmer as italian} from '@orama/stemmers/italian';
import {stemmer as lithuanian} from '@orama/stemmers/lithuanian';
import {stemmer as nepali} from '@orama/stemmers/nepali';
import {stemmer as norwegian} from '@orama/stemmers/norwegian';
import {stemmer as portuguese} from '@orama/stemmers/portuguese';
import {stemmer as romanian} from '@orama/stemmers/romanian';
import {stemmer as russian} from '@orama/stemmers/russian';
import {stemmer as serbian} from '@orama/stemmers/serbian';
import {stemmer as spanish} from '@orama/stemmers/spanish';
import {stemmer as swedish} from '@orama/stemmers/swedish';
import {stemmer as tamil} from '@orama/stemmers/tamil';
import {stemmer as turkish} from '@orama/stemmers/turkish';

import type {AnalyzerName, Language} from '#server/catalog/text-options.ts';

export type Stemmer = (word: string) => string;

const stemmers: Readonly<Record<Language, Stemmer>> = {
  arabic,
  armenian,
  bulgarian,
  danish,
  dutch,
  english,
  finnish,
  french,
  german,
  greek,
  hungarian,
  indonesian,
  irish,
  italian,
  lithuanian,
  nepali,
  norwegian,
  portuguese,
  romanian,
  russian,
  serbian,
  spanish,
  swedish,
  tamil,
  turkish,
};

/** Undefined: words of this analyzer are indexed as they are. */
export function stemmerOf(name: AnalyzerName): Stemmer | undefined {
  return Object.hasOwn(stemmers, name) ? stemmers[name as Language] : undefined;
}
