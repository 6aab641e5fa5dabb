/** Terms of texts in several scripts, by Unicode's rules and by each analyzer's. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {type AnalyzerName, parseAnalyzerName} from '#server/catalog/text-options.ts';
import {analyzerOf} from './analyzer.ts';

const cases: readonly (readonly [AnalyzerName, string, string, string])[] = [
  ['standard', "The quick-brown fox, isn't it?", "the quick brown fox isn't it", 'ASCII'],
  ['standard', '3.14 1,000 2.0.1 a.b x_1 _ __', '3.14 1,000 2.0.1 a.b x_1', 'numbers, underscores'],
  ['standard', 'wi-fi U.S.A. C++ foo:bar', 'wi fi u.s.a c foo:bar', 'marks between letters'],
  ['standard', 'Käse Straße ÉCOLE', 'käse straße école', 'Latin beyond ASCII'],
  ['standard', 'e\u0301cole', 'école', 'composed form'],
  ['standard', 'ΟΔΟΣ οδος', 'οδοσ οδοσ', 'a final sigma'],
  ['standard', 'Привет, мир!', 'привет мир', 'Cyrillic'],
  ['standard', '我是中国人', '我 是 中 国 人', 'ideographs are words'],
  ['standard', 'カタカナ ひら', 'カタカナ ひ ら', 'Katakana runs, Hiragana does not'],
  ['standard', '한국어 텍스트', '한국어 텍스트', 'Hangul'],
  ['standard', 'İSTANBUL Istanbul', 'istanbul istanbul', 'a capital i with a dot'],
  ['standard', '東京タワーへ2人で', '東 京 タワー へ 2 人 で', 'scripts of Japanese side by side'],
  ['standard', 'ປະເທດລາວ ဗမာ', 'ປະເທດລາວ ဗမာ', 'Lao and Burmese'],
  ['standard', 'کتاب‌ها', 'کتاب‌ها', 'a joiner within a Persian word'],
  ['standard', '𠀋𠂊 🇩🇪', '𠀋 𠂊', 'ideographs beyond the basic plane'],
  ['standard', 'ภาษาไทย', 'ภาษาไทย', 'Thai stays together'],
  ['standard', 'שלום עולם צה"ל', 'שלום עולם צה"ל', 'Hebrew with its quote'],
  ['standard', 'مرحبا بالعالم', 'مرحبا بالعالم', 'Arabic'],
  ['standard', 'नमस्ते दुनिया', 'नमस्ते दुनिया', 'Devanagari with marks'],
  ['standard', 'I ❤️ you', 'i ❤️ you', 'emoji'],
  ['simple', "don't stop2go", 'don t stop go', 'runs of letters'],
  ['whitespace', 'A b-C  d', 'A b-C d', 'case stays'],
  ['keyword', 'New York', 'New York', 'the whole text'],
  ['stop', 'the cat and the dog', 'cat dog', 'stop words'],
  ['english', "The foxes' dog's jumped lazily", 'fox dog jump lazili', 'stems, possessives'],
  ['french', 'continuellement', 'continuel', 'French stems'],
  ['german', 'Häuser', 'haus', 'German stems'],
  ['german', 'Straße STRASSE Strasse', 'strass strass strass', 'a sharp s'],
  ['turkish', 'IŞIK ışık İzmir', 'ışık ışık izmir', 'an i without a dot'],
  ['arabic', 'الكتاب', 'كتاب', 'an Arabic article'],
  ['russian', 'книги книга', 'книг книг', 'Russian stems'],
];

for (const [name, text, expected, because] of cases) {
  test(`${name} makes of '${text}' '${expected}': ${because}`, () => {
    const terms: string[] = [];
    analyzerOf(name).analyze(text, term => terms.push(term));
    assert.equal(terms.join(' '), expected);
  });
}

test('a piece of a word is folded as terms are written', () => {
  assert.equal(analyzerOf('german').fold('Straß'), 'strass');
  assert.equal(analyzerOf('german').fold('HÄUS'), 'haus');
  assert.equal(analyzerOf('turkish').fold('IŞ'), 'ış');
  assert.equal(analyzerOf('standard').fold('Straß'), 'straß');
});

test('a dropped word leaves its position empty, and places are places of the text', () => {
  const seen: unknown[] = [];
  analyzerOf('english').analyze('Cats and the dogs', (...term) => seen.push(term));
  assert.deepEqual(seen, [
    ['cat', 0, 0, 4],
    ['dog', 3, 13, 17],
  ]);
});

test('a word of any length is cut, and no pair of surrogates is torn', () => {
  const lengths: number[] = [];
  analyzerOf('standard').analyze(`${'a'.repeat(600)} ${'𝒜'.repeat(200)}`, term => {
    assert.ok(term.isWellFormed());
    lengths.push(term.length);
  });
  assert.deepEqual(lengths, [255, 255, 90, 254, 146]);
});

test("Lucene's class names are spellings of the analyzers", () => {
  assert.equal(parseAnalyzerName('org.apache.lucene.analysis.en.EnglishAnalyzer'), 'english');
  assert.equal(
    parseAnalyzerName('org.apache.lucene.analysis.standard.StandardAnalyzer'),
    'standard',
  );
  assert.equal(parseAnalyzerName('Whitespace'), 'whitespace');
  assert.equal(parseAnalyzerName('org.example.NoSuchAnalyzer'), undefined);
});
